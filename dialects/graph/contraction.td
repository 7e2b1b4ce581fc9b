// SPDX-License-Identifier: Apache-2.0
// Every matrix product, forward and backward.
include "dialects/graph/graph_base.td"

def Graph_EinsumOp : Graph_PureOp<"einsum", "", 2,
                                  [DeclareOpInterfaceMethods<KernelOpInterface, ["getDenseOrders"]>,
                                   AllElementTypesMatch<["lhs", "rhs"]>],
                                  ["getIterationSpace", "buildLocal"]> {
  let summary = "Contraction of two tensors over named dims";
  let description = [{
    `graph.einsum "b m k, k n -> b m n" %a, %b`: equal names are equal dims, names missing from the result are summed.
    Every name stands in at least two of the three tensors.
  }];
  let arguments = (ins StrAttr:$spec, Graph_Float:$lhs, Graph_Float:$rhs);
  let results = (outs Graph_Float:$result);
  let assemblyFormat = "$spec $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

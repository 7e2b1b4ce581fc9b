// SPDX-License-Identifier: Apache-2.0
// Reductions over dims, which disappear from the result.
include "dialects/graph/graph_base.td"

def Graph_ReduceKind : I32EnumAttr<"ReduceKind", "reduction", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Mean", 1, "mean">, I32EnumAttrCase<"Max", 2, "max">]> {
  let cppNamespace = "::echelon::graph";
  let genSpecializedAttr = 0;
}
def Graph_ReduceKindAttr : EnumAttr<Graph_Dialect, Graph_ReduceKind, "reduce_kind">;

def Graph_ReduceOp : Graph_PureOp<"reduce", "", 1, [AllElementTypesMatch<["input", "result"]>], ["getIterationSpace"]> {
  let summary = "Sum, mean or maximum over `dims` (sorted, distinct), which are dropped";
  let description = [{ The gradient of `max` goes in equal parts to all elements that attain it. }];
  let arguments = (ins Graph_ReduceKindAttr:$kind, DenseI64ArrayAttr:$dims, Graph_Float:$input);
  let results = (outs Graph_Float:$result);
  let assemblyFormat = "$kind $input `over` $dims attr-dict `:` functional-type(operands, results)";
}

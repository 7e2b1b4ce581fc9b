// SPDX-License-Identifier: Apache-2.0
// A group of ops that becomes one generated kernel.
include "dialects/graph/graph_base.td"

def Graph_FusedOp : Graph_Op<"fused", "", 0, [NonDifferentiable, IsolatedFromAbove,
                             MemoryEffects<[]>], ["getIterationSpace", "getFlops", "buildLocal"]> {
  let summary = "Elementwise, broadcast and reduction ops computed in one pass over rows";
  let description = [{
    The region's arguments are the operands; it yields the results. Rows are the first `outer` dims of the group's
    domain; a reduction inside is over exactly the other dims (a row, which the group may read), or over row dims, with or
    without the others (sums over rows, which only leave the group).
  }];
  let arguments = (ins Variadic<Graph_Any>:$inputs, DenseI64ArrayAttr:$domain, I64Attr:$outer);
  let results = (outs Variadic<Graph_Any>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` operands `)` `over` $domain `rows` $outer attr-dict `:` functional-type(operands, results) $body";
}

def Graph_YieldOp : Op<Graph_Dialect, "yield", [Pure, Terminator, HasParent<"FusedOp">]> {
  let summary = "The results of a fused group";
  let arguments = (ins Variadic<Graph_Any>:$values);
  let assemblyFormat = "operands attr-dict `:` type(operands)";
}

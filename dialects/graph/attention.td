// SPDX-License-Identifier: Apache-2.0
// Attention as one op, forward and backward.
include "dialects/graph/graph_base.td"

def Graph_AttentionOp : Graph_PureOp<"attention", "", 0,
                                     [HasKernel, AllElementTypesMatch<["query", "key", "value", "result"]>],
                                     ["getIterationSpace", "getFlops"]> {
  let summary = "softmax(scale q k^T + mask) v per head";
  let description = [{
    q [batch, queries, heads, d], k [batch, keys, kv_heads, d], v [batch, keys, kv_heads, dv]; heads is a multiple of
    kv_heads (grouped-query attention shares key head h / (heads / kv_heads)). `causal`: query i sees key j iff
    j <= i + keys - queries; `window` > 0 also asks j > i + keys - queries - window. `mask`: additive, each of
    [batch or 1, heads or 1, queries, keys]. Second result: log-sum-exp of each row [batch, heads, queries], -inf for
    a row that sees nothing; such a row's result and gradients are 0.
  }];
  let arguments = (ins Graph_Float:$query, Graph_Float:$key, Graph_Float:$value, Optional<Graph_Float>:$mask,
                       F64Attr:$scale, BoolAttr:$causal, DefaultValuedAttr<I64Attr, "0">:$window);
  let results = (outs Graph_Float:$result, Graph_Float:$lse);
}

def Graph_AttentionGradOp : Graph_GradOp<"attention_grad", "", 0,
                                         [HasKernel, AllElementTypesMatch<["query", "key", "value", "result", "resultGradient", "queryGradient", "keyGradient", "valueGradient"]>],
                                         ["getIterationSpace", "getFlops"]> {
  let summary = "Gradients of attention for query, key and value; scores are recomputed from lse";
  let arguments = (ins Graph_Float:$query, Graph_Float:$key, Graph_Float:$value, Optional<Graph_Float>:$mask,
                       Graph_Float:$result, Graph_Float:$lse, Graph_Float:$resultGradient,
                       F64Attr:$scale, BoolAttr:$causal, DefaultValuedAttr<I64Attr, "0">:$window);
  let results = (outs Graph_Float:$queryGradient, Graph_Float:$keyGradient, Graph_Float:$valueGradient);
}

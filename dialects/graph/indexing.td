// SPDX-License-Identifier: Apache-2.0
// Rows of a table by index.
include "dialects/graph/graph_base.td"

def Graph_EmbeddingOp : Graph_PureOp<"embedding", "v d, ... -> ... d : whole v", 0,
                                     [HasKernel, AllElementTypesMatch<["table", "result"]>], ["getIterationSpace"]> {
  let summary = "Rows of a table; a negative index counts from the end";
  let arguments = (ins Graph_Float:$table, Graph_Index:$indices);
  let results = (outs Graph_Float:$result);
}

def Graph_EmbeddingGradOp : Graph_GradOp<"embedding_grad", "..., ... d -> v d : whole v", 1,
                                         [HasKernel, AllElementTypesMatch<["resultGradient", "tableGradient"]>],
                                         ["getIterationSpace"]> {
  let summary = "Adds rows of the gradient into a zero table, in index order: deterministic";
  let arguments = (ins Graph_Index:$indices, Graph_Float:$resultGradient);
  let results = (outs Graph_Float:$tableGradient);
}

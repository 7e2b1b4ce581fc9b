// SPDX-License-Identifier: Apache-2.0
// Normalizations over the last dim. The fusion phase decomposes them inside one row kernel.
include "dialects/graph/graph_base.td"

def Graph_SoftmaxOp : Graph_PureOp<"softmax", "... d -> ... d : whole d", 5,
                                   [AllTypesMatch<["input", "result"]>]> {
  let summary = "Softmax over the last dim";
  let description = [{ exp(x - max) / sum: a row that is -inf everywhere gives NaN, as ONNX has it. }];
  let arguments = (ins Graph_Float:$input);
  let results = (outs Graph_Float:$result);
}

def Graph_LayerNormOp : Graph_PureOp<"layer_norm", "... d, d, d -> ... d : whole d", 8,
                                     [AllTypesMatch<["input", "result"]>]> {
  let summary = "Layer normalization of the last dim (Ba et al., arXiv 1607.06450); biased variance";
  let arguments = (ins Graph_Float:$input, Graph_Float:$scale, Graph_Float:$bias, F64Attr:$epsilon);
  let results = (outs Graph_Float:$result);
}

def Graph_RmsNormOp : Graph_PureOp<"rms_norm", "... d, d -> ... d : whole d", 5,
                                   [AllTypesMatch<["input", "result"]>]> {
  let summary = "Root-mean-square normalization of the last dim (Zhang and Sennrich, arXiv 1910.07467)";
  let arguments = (ins Graph_Float:$input, Graph_Float:$scale, F64Attr:$epsilon);
  let results = (outs Graph_Float:$result);
}

// SPDX-License-Identifier: Apache-2.0
// Losses as (sum, count): the mean is taken once, over the whole global batch.
include "dialects/graph/graph_base.td"

def Graph_SoftmaxCrossEntropyOp : Graph_PureOp<"softmax_cross_entropy", "... v, ... -> , , ... : whole v", 6,
                                               [HasKernel], ["getIterationSpace"]> {
  let summary = "Sum over rows of the cross-entropy of softmax(logits), and the number of rows counted";
  let description = [{
    Rows whose label is `ignore_index` add nothing. Results: loss sum (scalar), count (scalar, a float), log-sum-exp of
    each row. Label smoothing s as PyTorch: (1 - s) nll + s mean over classes.
  }];
  let arguments = (ins Graph_Float:$logits, Graph_Index:$labels, I64Attr:$ignore_index, F64Attr:$label_smoothing);
  let results = (outs Graph_Float:$sum, Graph_Float:$count, Graph_Float:$lse);
}

def Graph_SoftmaxCrossEntropyGradOp
    : Graph_GradOp<"softmax_cross_entropy_grad", "... v, ..., ..., -> ... v : whole v", 4, [HasKernel],
                   ["getIterationSpace"]> {
  let summary = "Gradient of the loss sum for the logits, times a scalar";
  let arguments = (ins Graph_Float:$logits, Graph_Index:$labels, Graph_Float:$lse, Graph_Float:$sumGradient,
                       I64Attr:$ignore_index, F64Attr:$label_smoothing);
  let results = (outs Graph_Float:$logitsGradient);
}

// SPDX-License-Identifier: Apache-2.0
// What the update computes besides ordinary elementwise ops.
include "dialects/graph/graph_base.td"

def Graph_ScheduleKind : I32EnumAttr<"ScheduleKind", "learning-rate schedule", [
    I32EnumAttrCase<"Constant", 0, "constant">, I32EnumAttrCase<"Linear", 1, "linear">,
    I32EnumAttrCase<"Cosine", 2, "cosine">]> {
  let cppNamespace = "::echelon::graph";
  let genSpecializedAttr = 0;
}
def Graph_ScheduleKindAttr : EnumAttr<Graph_Dialect, Graph_ScheduleKind, "schedule_kind">;

def Graph_LearningRateOp : Graph_GradOp<"learning_rate", "->", 0, [HasKernel], ["getIterationSpace"]> {
  let summary = "The learning rate of the running step (runtime/abi/kernels.h has the formula)";
  let arguments = (ins Graph_ScheduleKindAttr:$schedule, F64Attr:$base, F64Attr:$min_lr, I64Attr:$warmup_steps,
                       I64Attr:$total_steps);
  let results = (outs Graph_Float:$result);
}

def Graph_AdamBiasOp : Graph_GradOp<"adam_bias", "->", 0, [HasKernel], ["getIterationSpace"]> {
  let summary = "Bias corrections of the running step: [1 / (1 - beta1^t), 1 / sqrt(1 - beta2^t)], t from 1";
  let arguments = (ins F64Attr:$beta1, F64Attr:$beta2);
  let results = (outs Graph_Float:$result);
}

def Graph_AdamWOp : Graph_GradOp<"adamw", "..., ..., ..., ..., , , 2 -> ..., ..., ...", 12, [],
                                 ["getIterationSpace"]> {
  let summary = "One AdamW step (Loshchilov and Hutter, arXiv 1711.05101) as PyTorch computes it";
  let description = [{
    g' = g * gradientScale; m' = b1 m + (1-b1) g'; v' = b2 v + (1-b2) g'^2;
    p' = p (1 - lr wd) - lr bias[0] m' / (sqrt(v') bias[1] + eps). Scalars: gradientScale (1 / count and clipping),
    learning rate, bias [2]. Results: p', m', v'.
  }];
  let arguments = (ins Graph_Float:$parameter, Graph_Float:$gradient, Graph_Float:$mean, Graph_Float:$variance,
                       Graph_Float:$gradientScale, Graph_Float:$learningRate, Graph_Float:$bias,
                       F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon, F64Attr:$weight_decay);
  let results = (outs Graph_Float:$newParameter, Graph_Float:$newMean, Graph_Float:$newVariance);
}

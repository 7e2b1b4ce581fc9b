// SPDX-License-Identifier: Apache-2.0
// Phase 1: an imported forward graph becomes one training step on one ideal device.
include "mlir/Pass/PassBase.td"

def CanonicalizeGraphPass : Pass<"canonicalize-graph", "::mlir::ModuleOp"> {
  let summary = "One spelling for each computation";
  let description = [{
    Folds views into contractions, recomposes layer_norm, rms_norm, gelu and silu from their pieces, and removes
    exporter leftovers. Before and after: test/passes/training/canonicalize-graph.mlir.
  }];
  let dependentDialects = ["::echelon::graph::GraphDialect"];
}

def RaiseAttentionPass : Pass<"raise-attention", "::mlir::ModuleOp"> {
  let summary = "softmax(scale q k^T + mask) v becomes one graph.attention";
  let description = [{
    Constant masks are classified by their values: causal, window, none; any other mask stays a dense operand. Repeated
    key and value heads become grouped-query attention. Before and after: test/passes/training/raise-attention.mlir.
  }];
  let dependentDialects = ["::echelon::graph::GraphDialect"];
  let options = [Option<"explain", "explain", "bool", "false", "print why a candidate was not raised">];
}

def RebatchPass : Pass<"rebatch", "::mlir::ModuleOp"> {
  let summary = "Rewrites a model with a baked batch for another number of rows";
  let description = [{
    Follows the batch as a named dim from dim 0 of every input through each op's iteration space and rebuilds each op
    with buildLocal. An op that cannot follow is an error at its ONNX node. Test: test/passes/training/rebatch.mlir.
  }];
  let dependentDialects = ["::echelon::graph::GraphDialect"];
  let options = [Option<"micro", "micro", "int64_t", "0", "rows of a microbatch; 0 keeps the model's">];
}

def AttachLossPass : Pass<"attach-loss", "::mlir::ModuleOp"> {
  let summary = "@forward returns the loss as (sum, count)";
  let description = [{
    Either takes the loss that the model computes (`from-output`) or adds softmax cross-entropy on the output `logits`
    against `labels`, an existing input or a new one. Test: test/passes/training/attach-loss.mlir.
  }];
  let dependentDialects = ["::echelon::graph::GraphDialect"];
  let options = [
    Option<"fromOutput", "from-output", "std::string", "", "output that is the loss">,
    Option<"logits", "logits", "std::string", "\"logits\"", "output that holds the logits">,
    Option<"labels", "labels", "std::string", "\"labels\"", "input that holds the labels">,
    Option<"ignoreIndex", "ignore-index", "int64_t", "-100", "label of rows that do not count">,
    Option<"labelSmoothing", "label-smoothing", "double", "0", "smoothing in [0, 1)">,
    Option<"shiftLabels", "shift-labels", "bool", "false", "position i predicts label i + 1">];
}

def DifferentiatePass : Pass<"differentiate", "::mlir::ModuleOp"> {
  let summary = "Reverse mode: @forward becomes @microbatch and @evaluate";
  let description = [{
    @microbatch adds the gradient of the loss sum for each trainable parameter into a gradient variable, and the loss
    sum and count into metrics; @evaluate only does the latter. All missing gradients are reported at once.
    Test: test/passes/training/differentiate.mlir.
  }];
  let dependentDialects = ["::echelon::graph::GraphDialect"];
}

def AttachOptimizerPass : Pass<"attach-optimizer", "::mlir::ModuleOp"> {
  let summary = "Builds @update: gradient norm, clipping, AdamW, cleared gradients";
  let description = [{
    Gradients are of the loss sum; the update divides by the count of the whole step. Test:
    test/passes/training/attach-optimizer.mlir.
  }];
  let dependentDialects = ["::echelon::graph::GraphDialect", "::mlir::func::FuncDialect"];
  let options = [
    Option<"lr", "lr", "double", "1e-3", "base learning rate">,
    Option<"beta1", "beta1", "double", "0.9", "decay of the first moment">,
    Option<"beta2", "beta2", "double", "0.999", "decay of the second moment">,
    Option<"epsilon", "eps", "double", "1e-8", "added outside the root">,
    Option<"weightDecay", "weight-decay", "double", "0.01", "decoupled decay">,
    Option<"clipNorm", "clip-norm", "double", "0", "global gradient norm limit; 0: none">,
    Option<"schedule", "schedule", "std::string", "\"constant\"", "constant, linear or cosine">,
    Option<"warmupSteps", "warmup-steps", "int64_t", "0", "steps of linear warmup">,
    Option<"totalSteps", "total-steps", "int64_t", "0", "step at which min-lr is reached">,
    Option<"minLr", "min-lr", "double", "0", "final learning rate">,
    ListOption<"noDecay", "no-decay", "std::string", "globs, or @1d @norm @bias @embedding: parameters without decay">];
}

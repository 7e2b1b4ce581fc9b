// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --split-input-file --attach-loss --verify-diagnostics
// RUN: sed "s/expected-error/skipped/; s/from-error/expected-error/" %s | echelon-opt --split-input-file --attach-loss=from-output=score --verify-diagnostics
// RUN: sed "s/expected-error/skipped/; s/shift-error/expected-error/" %s | echelon-opt --split-input-file --attach-loss=shift-labels=true --verify-diagnostics

// expected-error @+3 {{needs a function @forward}}
// from-error @+2 {{needs a function @forward}}
// shift-error @+1 {{needs a function @forward}}
module {
}

// -----

// An output that the model lacks: the message lists those it has.
// expected-error @+3 {{loss.logits names the output 'logits', but the model's outputs are 'scores', 'score'}}
// from-error @+2 {{loss.from_output: 'score' must be a float scalar, it is 'tensor<2x10xf32>'}}
// shift-error @+1 {{loss.logits names the output 'logits', but the model's outputs are 'scores', 'score'}}
func.func @forward(%x: tensor<2x10xf32> {graph.name = "x"}) -> (tensor<2x10xf32> {graph.name = "scores"}, tensor<2x10xf32> {graph.name = "score"}) {
  return %x, %x : tensor<2x10xf32>, tensor<2x10xf32>
}

// -----

// A vector has no rows of classes.
// expected-error @+3 {{loss.logits: 'logits' is 'tensor<10xf32>'; cross-entropy needs [batch, .., classes]}}
// from-error @+2 {{loss.from_output names the output 'score', but the model's outputs are 'logits'}}
// shift-error @+1 {{loss.logits: 'logits' is 'tensor<10xf32>'; cross-entropy needs [batch, .., classes]}}
func.func @forward(%x: tensor<10xf32> {graph.name = "x"}) -> (tensor<10xf32> {graph.name = "logits"}) {
  return %x : tensor<10xf32>
}

// -----

// expected-error @+3 {{loss.labels: 'labels' is 'tensor<2x10xi64>', but 'logits' is 'tensor<2x10xf32>': labels need its shape without the last dim}}
// from-error @+2 {{loss.from_output names the output 'score', but the model's outputs are 'logits'}}
// shift-error @+1 {{loss.labels: 'labels' is 'tensor<2x10xi64>', but 'logits' is 'tensor<2x10xf32>': labels need its shape without the last dim}}
func.func @forward(%x: tensor<2x10xf32> {graph.name = "x"}, %labels: tensor<2x10xi64> {graph.name = "labels"}) -> (tensor<2x10xf32> {graph.name = "logits"}) {
  return %x : tensor<2x10xf32>
}

// -----

// expected-error @+3 {{loss.labels: 'labels' is 'tensor<2xf32>'; cross-entropy needs integer labels}}
// from-error @+2 {{loss.from_output names the output 'score', but the model's outputs are 'logits'}}
// shift-error @+1 {{loss.labels: 'labels' is 'tensor<2xf32>'; cross-entropy needs integer labels}}
func.func @forward(%x: tensor<2x10xf32> {graph.name = "x"}, %labels: tensor<2xf32> {graph.name = "labels"}) -> (tensor<2x10xf32> {graph.name = "logits"}) {
  return %x : tensor<2x10xf32>
}

// -----

// Without a sequence there is no next label.
// from-error @+2 {{loss.from_output names the output 'score', but the model's outputs are 'logits'}}
// shift-error @+1 {{loss.shift_labels needs logits [batch, sequence, classes]}}
func.func @forward(%x: tensor<2x10xf32> {graph.name = "x"}) -> (tensor<2x10xf32> {graph.name = "logits"}) {
  return %x : tensor<2x10xf32>
}

// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --split-input-file --attach-loss=label-smoothing=0.5 | FileCheck %s --check-prefix=LOGITS
// RUN: echelon-opt %s --split-input-file --attach-loss="labels=targets ignore-index=-1 shift-labels=true" | FileCheck %s --check-prefix=SHIFT
// RUN: echelon-opt %s --split-input-file --attach-loss=from-output=loss | FileCheck %s --check-prefix=OUTPUT

module attributes {graph.batch = 2 : i64} {
  // Labels that the model lacks become an input; they have the logits' shape without the classes.
  // LOGITS-LABEL: func @forward
  // LOGITS-SAME: (%[[X:.*]]: tensor<2x5x10xf32> {graph.name = "x"}, %[[TARGETS:.*]]: tensor<2x5xi64> {graph.name = "targets"}, %[[LABELS:.*]]: tensor<2x5xi64> {graph.name = "labels"}) -> (tensor<f32>, tensor<f32>)
  // LOGITS: %[[SUM:.*]], %[[COUNT:.*]], %{{.*}} = graph.softmax_cross_entropy %[[X]], %[[LABELS]] {ignore_index = -100 : i64, label_smoothing = 5.000000e-01 : f64}
  // LOGITS: return %[[SUM]], %[[COUNT]] : tensor<f32>, tensor<f32>

  // An input of the name that the spec gives is taken; shifted, position i predicts label i + 1.
  // SHIFT-LABEL: func @forward
  // SHIFT-SAME: (%[[X:.*]]: tensor<2x5x10xf32> {graph.name = "x"}, %[[TARGETS:.*]]: tensor<2x5xi64> {graph.name = "targets"})
  // SHIFT: %[[SCORES:.*]] = graph.slice %[[X]] {offsets = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>} : (tensor<2x5x10xf32>) -> tensor<2x4x10xf32>
  // SHIFT: %[[NEXT:.*]] = graph.slice %[[TARGETS]] {offsets = array<i64: 0, 1>, strides = array<i64: 1, 1>} : (tensor<2x5xi64>) -> tensor<2x4xi64>
  // SHIFT: %[[SUM:.*]], %[[COUNT:.*]], %{{.*}} = graph.softmax_cross_entropy %[[SCORES]], %[[NEXT]] {ignore_index = -1 : i64, label_smoothing = 0.000000e+00 : f64}
  // SHIFT: return %[[SUM]], %[[COUNT]]

  // The loss of the model itself: a mean over 2 rows is a sum of 2 means and a count of 2.
  // OUTPUT-LABEL: func @forward
  // OUTPUT-SAME: -> (tensor<f32>, tensor<f32>)
  // OUTPUT: %[[LOSS:.*]] = graph.reduce mean
  // OUTPUT: %[[ROWS:.*]] = graph.constant dense<2.000000e+00> : tensor<f32>
  // OUTPUT: %[[SUM:.*]] = graph.binary mul %[[LOSS]], %[[ROWS]]
  // OUTPUT: %[[COUNT:.*]] = graph.constant dense<2.000000e+00> : tensor<f32>
  // OUTPUT: return %[[SUM]], %[[COUNT]]
  func.func @forward(%x: tensor<2x5x10xf32> {graph.name = "x"}, %targets: tensor<2x5xi64> {graph.name = "targets"}) -> (tensor<2x5x10xf32> {graph.name = "logits"}, tensor<f32> {graph.name = "loss"}) {
    %loss = graph.reduce mean %x over [0, 1, 2] : (tensor<2x5x10xf32>) -> tensor<f32>
    return %x, %loss : tensor<2x5x10xf32>, tensor<f32>
  }
}

// -----

module attributes {graph.batch = 2 : i64} {
  // A loss that is a cross-entropy's sum over its count is taken apart: the mean is over the whole global batch.
  // OUTPUT-LABEL: func @forward
  // OUTPUT: %[[SUM:.*]], %[[COUNT:.*]], %{{.*}} = graph.softmax_cross_entropy
  // OUTPUT: return %[[SUM]], %[[COUNT]]
  func.func @forward(%x: tensor<2x5x10xf32> {graph.name = "x"}, %labels: tensor<2x5xi64> {graph.name = "targets"}) -> (tensor<2x5x10xf32> {graph.name = "logits"}, tensor<f32> {graph.name = "loss"}) {
    %sum, %count, %lse = graph.softmax_cross_entropy %x, %labels {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<2x5x10xf32>, tensor<2x5xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x5xf32>)
    %loss = graph.binary div %sum, %count : tensor<f32>
    return %x, %loss : tensor<2x5x10xf32>, tensor<f32>
  }
}

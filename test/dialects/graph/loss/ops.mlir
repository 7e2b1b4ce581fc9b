// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s | echelon-opt | FileCheck %s

// Sum, count and the log-sum-exp of each row; the gradient reads the last.
// CHECK-LABEL: func @loss
// CHECK: %[[SUM:.*]], %[[COUNT:.*]], %[[LSE:.*]] = graph.softmax_cross_entropy %[[LOGITS:.*]], %[[LABELS:.*]] {ignore_index = -100 : i64, label_smoothing = 1.000000e-01 : f64} : (tensor<2x3x10xf32>, tensor<2x3xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x3xf32>)
// CHECK: graph.softmax_cross_entropy_grad %[[LOGITS]], %[[LABELS]], %[[LSE]], %[[SUM]] {ignore_index = -100 : i64, label_smoothing = 1.000000e-01 : f64} : (tensor<2x3x10xf32>, tensor<2x3xi64>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3x10xf32>
func.func @loss(%logits: tensor<2x3x10xf32>, %labels: tensor<2x3xi64>) {
  %sum, %count, %lse = graph.softmax_cross_entropy %logits, %labels {ignore_index = -100 : i64, label_smoothing = 0.1 : f64} : (tensor<2x3x10xf32>, tensor<2x3xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x3xf32>)
  %gradient = graph.softmax_cross_entropy_grad %logits, %labels, %lse, %sum {ignore_index = -100 : i64, label_smoothing = 0.1 : f64} : (tensor<2x3x10xf32>, tensor<2x3xi64>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3x10xf32>
  return
}

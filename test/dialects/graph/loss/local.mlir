// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-test-local %s | FileCheck %s

// Cut rows give partial sums and counts; the classes of a row stay together.
func.func @loss(%logits: tensor<8x3x10xf32>, %labels: tensor<8x3xi64>, %lse: tensor<8x3xf32>, %one: tensor<f32>) {
  // CHECK: space: i0 i1 v, i0 i1 -> , , i0 i1 : whole v
  // CHECK-NEXT: local: %sum, %count, %lse = graph.softmax_cross_entropy %0, %1 {ignore_index = -100 : i64, label_smoothing = 0.000000e+00 : f64} : (tensor<2x3x10xf32>, tensor<2x3xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x3xf32>)
  %0:3 = graph.softmax_cross_entropy %logits, %labels {ignore_index = -100 : i64, label_smoothing = 0.0 : f64, test.local = {i0 = 2 : i64}} : (tensor<8x3x10xf32>, tensor<8x3xi64>) -> (tensor<f32>, tensor<f32>, tensor<8x3xf32>)
  // CHECK: cannot be cut: its dim 'v' must stay whole
  %1:3 = graph.softmax_cross_entropy %logits, %labels {ignore_index = -100 : i64, label_smoothing = 0.0 : f64, test.local = {v = 5 : i64}} : (tensor<8x3x10xf32>, tensor<8x3xi64>) -> (tensor<f32>, tensor<f32>, tensor<8x3xf32>)
  // CHECK: space: i0 i1 v, i0 i1, i0 i1,{{ *}}-> i0 i1 v : whole v
  // CHECK-NEXT: local: %4 = graph.softmax_cross_entropy_grad %0, %1, %2, %3 {ignore_index = -100 : i64, label_smoothing = 0.000000e+00 : f64} : (tensor<2x3x10xf32>, tensor<2x3xi64>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3x10xf32>
  %2 = graph.softmax_cross_entropy_grad %logits, %labels, %lse, %one {ignore_index = -100 : i64, label_smoothing = 0.0 : f64, test.local = {i0 = 2 : i64}} : (tensor<8x3x10xf32>, tensor<8x3xi64>, tensor<8x3xf32>, tensor<f32>) -> tensor<8x3x10xf32>
  // CHECK: cannot be cut: its dim 'v' must stay whole
  %3 = graph.softmax_cross_entropy_grad %logits, %labels, %lse, %one {ignore_index = -100 : i64, label_smoothing = 0.0 : f64, test.local = {v = 5 : i64}} : (tensor<8x3x10xf32>, tensor<8x3xi64>, tensor<8x3xf32>, tensor<f32>) -> tensor<8x3x10xf32>
  return
}

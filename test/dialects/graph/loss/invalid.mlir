// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --split-input-file --verify-diagnostics

// Labels have the shape of the logits without the classes.
func.func @labels(%logits: tensor<2x3x10xf32>, %labels: tensor<2x10xi64>) {
  // expected-error @+1 {{'graph.softmax_cross_entropy' op operand and result shapes do not fit its iteration space}}
  %0:3 = graph.softmax_cross_entropy %logits, %labels {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<2x3x10xf32>, tensor<2x10xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x3xf32>)
  return
}

// -----

// A scalar has no classes.
func.func @scalar(%logits: tensor<f32>, %labels: tensor<i64>) {
  // expected-error @+1 {{'graph.softmax_cross_entropy' op operand and result shapes do not fit its iteration space}}
  %0:3 = graph.softmax_cross_entropy %logits, %labels {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<f32>, tensor<i64>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

// The gradient of the sum is a scalar.
func.func @sum_gradient(%logits: tensor<3x10xf32>, %labels: tensor<3xi64>, %lse: tensor<3xf32>) {
  // expected-error @+1 {{'graph.softmax_cross_entropy_grad' op operand and result shapes do not fit its iteration space}}
  %0 = graph.softmax_cross_entropy_grad %logits, %labels, %lse, %lse {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<3x10xf32>, tensor<3xi64>, tensor<3xf32>, tensor<3xf32>) -> tensor<3x10xf32>
  return
}

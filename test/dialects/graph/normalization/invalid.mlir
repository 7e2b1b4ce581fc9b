// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --split-input-file --verify-diagnostics

// There is no row in a scalar.
func.func @softmax_of_scalar(%x: tensor<f32>) {
  // expected-error @+1 {{'graph.softmax' op operand and result shapes do not fit its iteration space}}
  %0 = graph.softmax %x : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @softmax_changes_type(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'graph.softmax' op failed to verify that all of {input, result} have same type}}
  %0 = graph.softmax %x : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// Scale and bias are vectors of the last dim's size.
func.func @layer_norm_scale(%x: tensor<2x8xf32>, %scale: tensor<2xf32>, %bias: tensor<8xf32>) {
  // expected-error @+1 {{'graph.layer_norm' op operand and result shapes do not fit its iteration space}}
  %0 = graph.layer_norm %x, %scale, %bias {epsilon = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<2xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @rms_norm_scale(%x: tensor<2x8xf32>, %scale: tensor<1x8xf32>) {
  // expected-error @+1 {{'graph.rms_norm' op operand and result shapes do not fit its iteration space}}
  %0 = graph.rms_norm %x, %scale {epsilon = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<1x8xf32>) -> tensor<2x8xf32>
  return
}

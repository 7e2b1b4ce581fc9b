// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --split-input-file --verify-diagnostics

func.func @rate_is_scalar() {
  // expected-error @+1 {{'graph.learning_rate' op operand and result shapes do not fit its iteration space}}
  %rate = graph.learning_rate {schedule = #graph<schedule_kind constant>, base = 1.0e-3 : f64, min_lr = 0.0 : f64, warmup_steps = 0 : i64, total_steps = 0 : i64} : () -> tensor<1xf32>
  return
}

// -----

func.func @bias_is_a_pair() {
  // expected-error @+1 {{'graph.adam_bias' op operand and result shapes do not fit its iteration space}}
  %bias = graph.adam_bias {beta1 = 0.9 : f64, beta2 = 0.99 : f64} : () -> tensor<3xf32>
  return
}

// -----

// States have the parameter's shape.
func.func @state_shape(%p: tensor<2x3xf32>, %m: tensor<3x2xf32>, %s: tensor<f32>, %bias: tensor<2xf32>) {
  // expected-error @+1 {{'graph.adamw' op operand and result shapes do not fit its iteration space}}
  %0:3 = graph.adamw %p, %p, %m, %p, %s, %s, %bias {beta1 = 0.9 : f64, beta2 = 0.99 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.01 : f64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2xf32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

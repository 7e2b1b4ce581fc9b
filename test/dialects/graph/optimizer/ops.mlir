// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s | echelon-opt | FileCheck %s

// CHECK-LABEL: func @optimizer
// CHECK: %[[RATE:.*]] = graph.learning_rate {base = 1.000000e-03 : f64, min_lr = 0.000000e+00 : f64, schedule = #graph<schedule_kind cosine>, total_steps = 100 : i64, warmup_steps = 10 : i64} : () -> tensor<f32>
// CHECK: %[[BIAS:.*]] = graph.adam_bias {beta1 = 9.000000e-01 : f64, beta2 = 5.000000e-01 : f64} : () -> tensor<2xf32>
// CHECK: %{{.*}}, %{{.*}}, %{{.*}} = graph.adamw %[[P:.*]], %[[G:.*]], %[[M:.*]], %[[V:.*]], %[[S:.*]], %[[RATE]], %[[BIAS]] {beta1 = 9.000000e-01 : f64, beta2 = 5.000000e-01 : f64, epsilon = 1.000000e-08 : f64, weight_decay = 1.000000e-02 : f64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
func.func @optimizer(%p: tensor<2x3xf32>, %g: tensor<2x3xf32>, %m: tensor<2x3xf32>, %v: tensor<2x3xf32>, %s: tensor<f32>) {
  %rate = graph.learning_rate {schedule = #graph<schedule_kind cosine>, base = 1.0e-3 : f64, min_lr = 0.0 : f64, warmup_steps = 10 : i64, total_steps = 100 : i64} : () -> tensor<f32>
  %bias = graph.adam_bias {beta1 = 0.9 : f64, beta2 = 0.5 : f64} : () -> tensor<2xf32>
  %0:3 = graph.adamw %p, %g, %m, %v, %s, %rate, %bias {beta1 = 0.9 : f64, beta2 = 0.5 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.01 : f64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-test-local %s | FileCheck %s

// The update is pointwise in the parameter; the scalars are whole.
func.func @optimizer(%p: tensor<8x6xf32>, %s: tensor<f32>, %bias: tensor<2xf32>) {
  // CHECK: space: i0 i1, i0 i1, i0 i1, i0 i1, , , two -> i0 i1, i0 i1, i0 i1 : whole two
  // CHECK-NEXT: graph.adamw %0, %1, %2, %3, %4, %5, %6 {beta1 = {{.*}}} : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<f32>, tensor<f32>, tensor<2xf32>) -> (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>)
  %0:3 = graph.adamw %p, %p, %p, %p, %s, %s, %bias {beta1 = 0.9 : f64, beta2 = 0.99 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.01 : f64, test.local = {i0 = 2 : i64}} : (tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<f32>, tensor<f32>, tensor<2xf32>) -> (tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>)
  // CHECK: space: ->{{ *$}}
  // CHECK-NEXT: local: %0 = graph.learning_rate {{.*}} : () -> tensor<f32>
  %1 = graph.learning_rate {schedule = #graph<schedule_kind constant>, base = 1.0e-3 : f64, min_lr = 0.0 : f64, warmup_steps = 0 : i64, total_steps = 0 : i64, test.local = {}} : () -> tensor<f32>
  // CHECK: space: -> two : whole two
  // CHECK-NEXT: cannot be cut: its dim 'two' must stay whole
  %2 = graph.adam_bias {beta1 = 0.9 : f64, beta2 = 0.99 : f64, test.local = {two = 1 : i64}} : () -> tensor<2xf32>
  return
}

// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s | echelon-opt | FileCheck %s

// Grouped-query attention, causal in a window, and its gradient under a mask.
// CHECK-LABEL: func @attention
// CHECK: %[[OUT:.*]], %[[LSE:.*]] = graph.attention %[[Q:.*]], %[[K:.*]], %[[V:.*]] {causal = true, scale = 3.535{{.*}} : f64, window = 3 : i64} : (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>) -> (tensor<2x5x4x16xf32>, tensor<2x4x5xf32>)
// CHECK: %[[MASKED:.*]], %[[MASKED_LSE:.*]] = graph.attention %[[Q]], %[[K]], %[[V]], %[[MASK:.*]] {causal = false, scale = 1.000000e+00 : f64} : (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>, tensor<1x4x5x7xf32>) -> (tensor<2x5x4x16xf32>, tensor<2x4x5xf32>)
// CHECK: graph.attention_grad %[[Q]], %[[K]], %[[V]], %[[MASK]], %[[MASKED]], %[[MASKED_LSE]], %[[OUT]] {causal = false, scale = 1.000000e+00 : f64} : (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>, tensor<1x4x5x7xf32>, tensor<2x5x4x16xf32>, tensor<2x4x5xf32>, tensor<2x5x4x16xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>)
func.func @attention(%q: tensor<2x5x4x8xf32>, %k: tensor<2x7x2x8xf32>, %v: tensor<2x7x2x16xf32>, %mask: tensor<1x4x5x7xf32>) {
  %out, %lse = graph.attention %q, %k, %v {causal = true, scale = 0.3535 : f64, window = 3 : i64} : (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>) -> (tensor<2x5x4x16xf32>, tensor<2x4x5xf32>)
  %out1, %lse1 = graph.attention %q, %k, %v, %mask {causal = false, scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>, tensor<1x4x5x7xf32>) -> (tensor<2x5x4x16xf32>, tensor<2x4x5xf32>)
  %dq, %dk, %dv = graph.attention_grad %q, %k, %v, %mask, %out1, %lse1, %out {causal = false, scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>, tensor<1x4x5x7xf32>, tensor<2x5x4x16xf32>, tensor<2x4x5xf32>, tensor<2x5x4x16xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>)
  return
}

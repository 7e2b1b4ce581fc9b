// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-test-local %s | FileCheck %s

// Batch rows and key heads can be shared out, a key head with all its query heads; positions stay whole.
func.func @attention(%q: tensor<2x5x4x8xf32>, %k: tensor<2x7x2x8xf32>, %v: tensor<2x7x2x16xf32>, %mask: tensor<1x4x5x7xf32>) {
  // CHECK: space: b q (g r) d, b k g d, b k g v -> b q (g r) v, b (g r) q : whole r q k d v
  // CHECK-NEXT: local: %result, %lse = graph.attention %0, %1, %2 {causal = true, scale = 1.000000e+00 : f64} : (tensor<1x5x4x8xf32>, tensor<1x7x2x8xf32>, tensor<1x7x2x16xf32>) -> (tensor<1x5x4x16xf32>, tensor<1x4x5xf32>)
  %out, %lse = graph.attention %q, %k, %v {causal = true, scale = 1.0 : f64, test.local = {b = 1 : i64}} : (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>) -> (tensor<2x5x4x16xf32>, tensor<2x4x5xf32>)
  // CHECK: space: b q (g r) d, b k g d, b k g v, 1 (g r) q k -> b q (g r) v, b (g r) q : whole r q k d v
  // CHECK-NEXT: local: %result, %lse = graph.attention %0, %1, %2, %3 {causal = true, scale = 1.000000e+00 : f64} : (tensor<2x5x2x8xf32>, tensor<2x7x1x8xf32>, tensor<2x7x1x16xf32>, tensor<1x2x5x7xf32>) -> (tensor<2x5x2x16xf32>, tensor<2x2x5xf32>)
  %1:2 = graph.attention %q, %k, %v, %mask {causal = true, scale = 1.0 : f64, test.local = {g = 1 : i64}} : (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>, tensor<1x4x5x7xf32>) -> (tensor<2x5x4x16xf32>, tensor<2x4x5xf32>)
  // CHECK: cannot be cut: its dim 'k' must stay whole
  %2:2 = graph.attention %q, %k, %v {causal = true, scale = 1.0 : f64, test.local = {k = 1 : i64}} : (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>) -> (tensor<2x5x4x16xf32>, tensor<2x4x5xf32>)
  // CHECK: space: b q (g r) d, b k g d, b k g v, b q (g r) v, b (g r) q, b q (g r) v -> b q (g r) d, b k g d, b k g v : whole r q k d v
  // CHECK-NEXT: local: %queryGradient, %keyGradient, %valueGradient = graph.attention_grad %0, %1, %2, %3, %4, %5 {causal = true, scale = 1.000000e+00 : f64} : (tensor<1x5x2x8xf32>, tensor<1x7x1x8xf32>, tensor<1x7x1x16xf32>, tensor<1x5x2x16xf32>, tensor<1x2x5xf32>, tensor<1x5x2x16xf32>) -> (tensor<1x5x2x8xf32>, tensor<1x7x1x8xf32>, tensor<1x7x1x16xf32>)
  %3:3 = graph.attention_grad %q, %k, %v, %out, %lse, %out {causal = true, scale = 1.0 : f64, test.local = {b = 1 : i64, g = 1 : i64}} : (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>, tensor<2x5x4x16xf32>, tensor<2x4x5xf32>, tensor<2x5x4x16xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>)
  // CHECK: cannot be cut: its dim 'q' must stay whole
  %4:3 = graph.attention_grad %q, %k, %v, %out, %lse, %out {causal = true, scale = 1.0 : f64, test.local = {q = 1 : i64}} : (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>, tensor<2x5x4x16xf32>, tensor<2x4x5xf32>, tensor<2x5x4x16xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>)
  return
}

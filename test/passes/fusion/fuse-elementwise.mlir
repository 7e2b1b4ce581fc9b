// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --fuse-elementwise | FileCheck %s
// RUN: echelon-opt %s --fuse-elementwise=report=true -o /dev/null | FileCheck %s --check-prefix=REPORT

// Residual and normalization are one pass over rows; the sum is a second result.
// CHECK-LABEL: @residual_norm
// CHECK-NEXT: %[[R:.*]]:2 = graph.fused(%arg0, %arg1, %arg2, %arg3) over [4, 8, 16] rows 2
// CHECK-NEXT: ^bb0
// CHECK: graph.binary add
// CHECK: graph.reduce sum {{.*}} over [2]
// CHECK: graph.unary rsqrt {{.*}} : tensor<4x8xf32>
// CHECK: graph.yield
// CHECK-NOT: graph.fused
// CHECK: return %[[R]]#0, %[[R]]#1
// REPORT: group 0: {{[0-9]+}} ops over [4, 8, 16], 2 row dims, 4 operands, 2 results
// REPORT: @residual_norm: 1 groups save
func.func @residual_norm(%x: tensor<4x8x16xf32>, %h: tensor<4x8x16xf32>, %scale: tensor<16xf32>, %bias: tensor<16xf32>)
    -> (tensor<4x8x16xf32>, tensor<4x8x16xf32>) {
  %u = graph.binary add %x, %h : tensor<4x8x16xf32>
  %y = graph.layer_norm %u, %scale, %bias {epsilon = 1.0e-5 : f64}
    : (tensor<4x8x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<4x8x16xf32>
  return %u, %y : tensor<4x8x16xf32>, tensor<4x8x16xf32>
}

// A sum over rows leaves the group that makes its terms; a second reader of the same tensor joins.
// CHECK-LABEL: @column_sums
// CHECK: graph.fused(%arg0, %arg1) over [16, 8, 16] rows 2 {{.*}} -> (tensor<16x8x16xf32>, tensor<16xf32>, tensor<16xf32>)
// CHECK-NOT: graph.fused
func.func @column_sums(%x: tensor<16x8x16xf32>, %dy: tensor<16x8x16xf32>)
    -> (tensor<16x8x16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %p = graph.binary mul %x, %dy : tensor<16x8x16xf32>
  %s = graph.reduce sum %p over [0, 1] : (tensor<16x8x16xf32>) -> tensor<16xf32>
  %t = graph.reduce sum %dy over [0, 1] : (tensor<16x8x16xf32>) -> tensor<16xf32>
  return %p, %s, %t : tensor<16x8x16xf32>, tensor<16xf32>, tensor<16xf32>
}

// What reads a sum over rows is another group.
// CHECK-LABEL: @after_sum
// CHECK: graph.fused(%arg0) over [8, 16] rows 1 {{.*}} -> tensor<16xf32>
// CHECK: graph.fused(%{{.*}}) over [16] rows 0
func.func @after_sum(%x: tensor<8x16xf32>) -> tensor<16xf32> {
  %s = graph.reduce sum %x over [0] : (tensor<8x16xf32>) -> tensor<16xf32>
  %r = graph.unary rsqrt %s : tensor<16xf32>
  return %r : tensor<16xf32>
}

// A cheap value that only the other pass reads is computed again: bias + x is no result of the first group.
// CHECK-LABEL: @recompute
// CHECK: graph.fused(%{{.*}}, %arg2) over [64, 64] rows 1 : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
// CHECK: graph.einsum
// CHECK: graph.fused(%{{.*}}, %{{.*}}, %arg2) over [64, 64] rows 1
// CHECK: graph.binary add
// CHECK: graph.yield
func.func @recompute(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %b: tensor<64xf32>) -> tensor<64x64xf32> {
  %m = graph.einsum "i k, k j -> i j" %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %bs = graph.broadcast %b {dims = array<i64: 1>} : (tensor<64xf32>) -> tensor<64x64xf32>
  %u = graph.binary add %m, %bs : tensor<64x64xf32>
  %g = graph.unary relu %u : tensor<64x64xf32>
  %dg = graph.einsum "i k, j k -> i j" %g, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %du = graph.binary mul %dg, %u : tensor<64x64xf32>
  return %du : tensor<64x64xf32>
}

// The path through the contraction keeps the two halves apart.
// CHECK-LABEL: @no_cycle
// CHECK: %[[A:.*]] = graph.fused
// CHECK: %[[B:.*]] = graph.einsum {{.*}} %[[A]]
// CHECK: graph.fused({{.*}}%[[B]]
func.func @no_cycle(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %e = graph.unary exp %x : tensor<8x8xf32>
  %m = graph.einsum "i k, k j -> i j" %e, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = graph.binary add %e, %m : tensor<8x8xf32>
  return %s : tensor<8x8xf32>
}

// A whole AdamW update is one group; its scalars are operands.
// CHECK-LABEL: @adamw
// CHECK: graph.fused({{.*}}) over [32, 16] rows 1 {{.*}} -> (tensor<32x16xf32>, tensor<32x16xf32>, tensor<32x16xf32>)
// CHECK-NOT: graph.fused
func.func @adamw(%p: tensor<32x16xf32>, %g: tensor<32x16xf32>, %m: tensor<32x16xf32>, %v: tensor<32x16xf32>,
                 %s: tensor<f32>, %lr: tensor<f32>, %bias: tensor<2xf32>)
    -> (tensor<32x16xf32>, tensor<32x16xf32>, tensor<32x16xf32>) {
  %a:3 = graph.adamw %p, %g, %m, %v, %s, %lr, %bias
    {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64}
    : (tensor<32x16xf32>, tensor<32x16xf32>, tensor<32x16xf32>, tensor<32x16xf32>, tensor<f32>, tensor<f32>,
       tensor<2xf32>) -> (tensor<32x16xf32>, tensor<32x16xf32>, tensor<32x16xf32>)
  return %a#0, %a#1, %a#2 : tensor<32x16xf32>, tensor<32x16xf32>, tensor<32x16xf32>
}

// A broadcast that a contraction reads stays a view outside.
// CHECK-LABEL: @broadcast_view
// CHECK: %[[V:.*]] = graph.broadcast
// CHECK: graph.einsum {{.*}} %[[V]]
func.func @broadcast_view(%b: tensor<8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %s = graph.broadcast %b {dims = array<i64: 1>} : (tensor<8xf32>) -> tensor<4x8xf32>
  %m = graph.einsum "i k, k j -> i j" %s, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %m : tensor<4x8xf32>
}

graph.variable metric @total : tensor<f32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>

// Reads and writes of a variable keep their order.
// CHECK-LABEL: @state
// CHECK: %[[OLD:.*]] = graph.read @total
// CHECK: graph.fused(%[[OLD]])
// CHECK: graph.assign
// CHECK: %[[NEW:.*]] = graph.read @total
// CHECK: graph.fused(%[[NEW]])
func.func @state() -> tensor<f32> {
  %a = graph.read @total : tensor<f32>
  %b = graph.unary exp %a : tensor<f32>
  graph.assign %b to @total : tensor<f32>
  %c = graph.read @total : tensor<f32>
  %d = graph.unary sqrt %c : tensor<f32>
  return %d : tensor<f32>
}

// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --split-input-file --differentiate --canonicalize | FileCheck %s

// Each trainable parameter gets a gradient variable, the loss its sum and count; @microbatch has the backward part,
// @evaluate has not.
// CHECK: graph.variable parameter @w
// CHECK: graph.variable parameter @frozen
// CHECK: graph.variable gradient @grad.w : tensor<4x3xf32> = #graph.init<constant, 0.000000e+00 : f64, 0.000000e+00 : f64> {owner = @w}
// CHECK-NOT: @grad.frozen
// CHECK: graph.variable metric @echelon.loss_sum : tensor<f32>
// CHECK: graph.variable metric @echelon.loss_count : tensor<f32>
// CHECK-LABEL: func @evaluate
// CHECK-SAME: (%{{.*}}: tensor<2x4xf32> {graph.name = "x"}, %{{.*}}: tensor<2xi64>) {
// CHECK-NOT: @grad.w
// CHECK: %[[SUM:.*]], %[[COUNT:.*]], %{{.*}} = graph.softmax_cross_entropy
// CHECK-NEXT: graph.accumulate %[[SUM]] into @echelon.loss_sum
// CHECK-NEXT: graph.accumulate %[[COUNT]] into @echelon.loss_count
// CHECK-NEXT: return
// CHECK-LABEL: func @microbatch
// CHECK-SAME: (%[[X:.*]]: tensor<2x4xf32> {graph.name = "x"}, %[[LABELS:.*]]: tensor<2xi64>) {
// CHECK: %[[ONE:.*]] = graph.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[LOGITS:.*]] = graph.binary add
// CHECK: %[[SUM:.*]], %[[COUNT:.*]], %[[LSE:.*]] = graph.softmax_cross_entropy %[[LOGITS]], %[[LABELS]]
// CHECK: %[[SCORES_GRADIENT:.*]] = graph.softmax_cross_entropy_grad %[[LOGITS]], %[[LABELS]], %[[LSE]], %[[ONE]]
// CHECK: %[[GRADIENT:.*]] = graph.einsum "b k, b n -> k n" %[[X]], %[[SCORES_GRADIENT]]
// CHECK: graph.accumulate %[[GRADIENT]] into @grad.w
// CHECK-NOT: into @grad
// CHECK: graph.accumulate %[[SUM]] into @echelon.loss_sum
// CHECK: graph.accumulate %[[COUNT]] into @echelon.loss_count
// CHECK-NEXT: return
graph.variable parameter @w : tensor<4x3xf32> = #graph.init<normal, 0.0 : f64, 1.0 : f64> {trainable = true}
graph.variable parameter @frozen : tensor<2x3xf32> = #graph.init<normal, 0.0 : f64, 1.0 : f64>
func.func @forward(%x: tensor<2x4xf32> {graph.name = "x"}, %labels: tensor<2xi64>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<4x3xf32>
  %f = graph.read @frozen : tensor<2x3xf32>
  %0 = graph.einsum "b k, k n -> b n" %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %logits = graph.binary add %0, %f : tensor<2x3xf32>
  %sum, %count, %lse = graph.softmax_cross_entropy %logits, %labels {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<2x3xf32>, tensor<2xi64>) -> (tensor<f32>, tensor<f32>, tensor<2xf32>)
  return %sum, %count : tensor<f32>, tensor<f32>
}

// -----

// A value that is used twice sums its terms, and is differentiated once.
// CHECK-LABEL: func @microbatch
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %
// CHECK: %[[ONES:.*]] = graph.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK: %[[HIDDEN:.*]] = graph.unary exp
// CHECK: %[[TERMS:.*]] = graph.binary add %[[ONES]], %[[X]] : tensor<4xf32>
// CHECK: %[[THROUGH:.*]] = graph.binary mul %[[TERMS]], %[[HIDDEN]]
// CHECK: graph.accumulate %[[THROUGH]] into @grad.w
// CHECK-NOT: @grad.w
// CHECK: return
graph.variable parameter @w : tensor<4xf32> = #graph.init<normal, 0.0 : f64, 1.0 : f64> {trainable = true}
func.func @forward(%x: tensor<4xf32>, %one: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<4xf32>
  %h = graph.unary exp %w : tensor<4xf32>
  %a = graph.binary mul %h, %x : tensor<4xf32>
  %b = graph.binary add %a, %h : tensor<4xf32>
  %sum = graph.reduce sum %b over [0] : (tensor<4xf32>) -> tensor<f32>
  return %sum, %one : tensor<f32>, tensor<f32>
}

// -----

// The gradients of a split tile the whole: they are joined, not padded and added.
// CHECK-LABEL: func @microbatch
// CHECK-NOT: graph.pad
// CHECK: %[[JOINED:.*]] = graph.concat %{{.*}}, %{{.*}} {dim = 1 : i64} : (tensor<2x1xf32>, tensor<2x3xf32>) -> tensor<2x4xf32>
// CHECK: graph.binary mul %[[JOINED]]
// CHECK-NOT: graph.pad
// CHECK: return
graph.variable parameter @w : tensor<2x4xf32> = #graph.init<normal, 0.0 : f64, 1.0 : f64> {trainable = true}
func.func @forward(%one: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<2x4xf32>
  %h = graph.unary exp %w : tensor<2x4xf32>
  %right = graph.slice %h {offsets = array<i64: 0, 1>, strides = array<i64: 1, 1>} : (tensor<2x4xf32>) -> tensor<2x3xf32>
  %left = graph.slice %h {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %a = graph.reduce sum %right over [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
  %b = graph.reduce max %left over [0, 1] : (tensor<2x1xf32>) -> tensor<f32>
  %sum = graph.binary add %a, %b : tensor<f32>
  return %sum, %one : tensor<f32>, tensor<f32>
}

// -----

// Parts that overlap, or leave a gap, are padded and added.
// CHECK-LABEL: func @microbatch
// CHECK: %[[LEFT:.*]] = graph.pad %{{.*}} {offsets = array<i64: 0>, strides = array<i64: 1>} : (tensor<3xf32>) -> tensor<4xf32>
// CHECK: %[[RIGHT:.*]] = graph.pad %{{.*}} {offsets = array<i64: 2>, strides = array<i64: 1>} : (tensor<2xf32>) -> tensor<4xf32>
// CHECK: graph.binary add %{{.*}}, %{{.*}} : tensor<4xf32>
graph.variable parameter @w : tensor<4xf32> = #graph.init<normal, 0.0 : f64, 1.0 : f64> {trainable = true}
func.func @forward(%one: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<4xf32>
  %h = graph.unary exp %w : tensor<4xf32>
  %right = graph.slice %h {offsets = array<i64: 2>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<2xf32>
  %left = graph.slice %h {offsets = array<i64: 0>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<3xf32>
  %a = graph.reduce sum %right over [0] : (tensor<2xf32>) -> tensor<f32>
  %b = graph.reduce sum %left over [0] : (tensor<3xf32>) -> tensor<f32>
  %sum = graph.binary add %a, %b : tensor<f32>
  return %sum, %one : tensor<f32>, tensor<f32>
}

// -----

// A comparison, an index or the count carries no gradient: only the path through values does.
// CHECK-LABEL: func @microbatch
// CHECK: %[[POSITIVE:.*]] = graph.compare gt
// CHECK: %[[SUM:.*]] = graph.reduce sum
// CHECK: %[[GRADIENT:.*]] = graph.select %[[POSITIVE]], %{{.*}}, %{{.*}} : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: graph.accumulate %[[GRADIENT]] into @grad.w
// CHECK-NOT: @grad.w
// CHECK: return
graph.variable parameter @w : tensor<4xf32> = #graph.init<normal, 0.0 : f64, 1.0 : f64> {trainable = true}
func.func @forward(%x: tensor<4xf32>, %one: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<4xf32>
  %p = graph.compare gt %w, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %y = graph.select %p, %w, %x : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %sum = graph.reduce sum %y over [0] : (tensor<4xf32>) -> tensor<f32>
  return %sum, %one : tensor<f32>, tensor<f32>
}

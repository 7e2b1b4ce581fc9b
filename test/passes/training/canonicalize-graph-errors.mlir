// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --canonicalize-graph --split-input-file | FileCheck %s

// What looks like a pattern and is another computation stays as it is: the pass has no way to fail, only to be wrong.

// A dim split by the reshape moves through it: no transpose of the input does that.
// CHECK-LABEL: func @transpose_of_split
// CHECK: graph.reshape
// CHECK: graph.transpose
func.func @transpose_of_split(%x: tensor<2x12xf32>) -> tensor<3x2x4xf32> {
  %0 = graph.reshape %x : (tensor<2x12xf32>) -> tensor<2x3x4xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  return %1 : tensor<3x2x4xf32>
}

// -----

// 4 x 6 x 2 as 8 x 6 is not made of whole dims: 8 is no block.
// CHECK-LABEL: func @transpose_of_uneven_merge
// CHECK: graph.reshape
// CHECK: graph.transpose
func.func @transpose_of_uneven_merge(%x: tensor<4x6x2xf32>) -> tensor<6x8xf32> {
  %0 = graph.reshape %x : (tensor<4x6x2xf32>) -> tensor<8x6xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<8x6xf32>) -> tensor<6x8xf32>
  return %1 : tensor<6x8xf32>
}

// -----

// A guard of anything but a softmax keeps its meaning.
// CHECK-LABEL: func @guard_of_other
// CHECK: graph.select
func.func @guard_of_other(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %zero = graph.constant dense<0.0> : tensor<2x3xf32> : tensor<2x3xf32>
  %nan = graph.compare ne %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %0 = graph.select %nan, %zero, %x : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// Rows that are not in order, count from the end, or reach beyond the table stay a lookup.
// CHECK-LABEL: func @no_iota
// CHECK-COUNT-3: graph.embedding
func.func @no_iota(%table: tensor<4x4xf32>) -> (tensor<3x4xf32>, tensor<2x4xf32>, tensor<3x4xf32>) {
  %order = graph.constant dense<[0, 2, 1]> : tensor<3xi64> : tensor<3xi64>
  %negative = graph.constant dense<[-1, 0]> : tensor<2xi64> : tensor<2xi64>
  %beyond = graph.constant dense<[2, 3, 4]> : tensor<3xi64> : tensor<3xi64>
  %0 = graph.embedding %table, %order : (tensor<4x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %1 = graph.embedding %table, %negative : (tensor<4x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %2 = graph.embedding %table, %beyond : (tensor<4x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return %0, %1, %2 : tensor<3x4xf32>, tensor<2x4xf32>, tensor<3x4xf32>
}

// -----

// Rows in order in the first line only.
// CHECK-LABEL: func @iota_once
// CHECK: graph.embedding
func.func @iota_once(%table: tensor<4x4xf32>) -> tensor<2x2x4xf32> {
  %ids = graph.constant dense<[[0, 1], [2, 3]]> : tensor<2x2xi64> : tensor<2x2xi64>
  %0 = graph.embedding %table, %ids : (tensor<4x4xf32>, tensor<2x2xi64>) -> tensor<2x2x4xf32>
  return %0 : tensor<2x2x4xf32>
}

// -----

// A cube is no square.
// CHECK-LABEL: func @norm_of_cube
// CHECK-NOT: _norm
// CHECK: return
func.func @norm_of_cube(%x: tensor<2x5x8xf32>, %scale: tensor<8xf32>) -> tensor<2x5x8xf32> {
  %two = graph.constant dense<3.0> : tensor<2x5x8xf32> : tensor<2x5x8xf32>
  %sq = graph.binary pow %x, %two : tensor<2x5x8xf32>
  %ms = graph.reduce mean %sq over [2] : (tensor<2x5x8xf32>) -> tensor<2x5xf32>
  %eps = graph.constant dense<1.0e-5> : tensor<2x5xf32> : tensor<2x5xf32>
  %e = graph.binary add %ms, %eps : tensor<2x5xf32>
  %i = graph.unary rsqrt %e : tensor<2x5xf32>
  %is = graph.broadcast %i {dims = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<2x5x8xf32>
  %n = graph.binary mul %x, %is : tensor<2x5x8xf32>
  %g = graph.broadcast %scale {dims = array<i64: 2>} : (tensor<8xf32>) -> tensor<2x5x8xf32>
  %y = graph.binary mul %g, %n : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// -----

// A sum is no mean.
// CHECK-LABEL: func @norm_of_sum
// CHECK-NOT: _norm
// CHECK: return
func.func @norm_of_sum(%x: tensor<2x5x8xf32>, %scale: tensor<8xf32>) -> tensor<2x5x8xf32> {
  %sq = graph.binary mul %x, %x : tensor<2x5x8xf32>
  %ms = graph.reduce sum %sq over [2] : (tensor<2x5x8xf32>) -> tensor<2x5xf32>
  %eps = graph.constant dense<1.0e-5> : tensor<2x5xf32> : tensor<2x5xf32>
  %e = graph.binary add %ms, %eps : tensor<2x5xf32>
  %i = graph.unary rsqrt %e : tensor<2x5xf32>
  %is = graph.broadcast %i {dims = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<2x5x8xf32>
  %n = graph.binary mul %x, %is : tensor<2x5x8xf32>
  %g = graph.broadcast %scale {dims = array<i64: 2>} : (tensor<8xf32>) -> tensor<2x5x8xf32>
  %y = graph.binary mul %g, %n : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// -----

// The mean of another tensor.
// CHECK-LABEL: func @norm_of_other
// CHECK-NOT: _norm
// CHECK: return
func.func @norm_of_other(%x: tensor<2x5x8xf32>, %z: tensor<2x5x8xf32>, %scale: tensor<8xf32>) -> tensor<2x5x8xf32> {
  %sq = graph.binary mul %z, %z : tensor<2x5x8xf32>
  %ms = graph.reduce mean %sq over [2] : (tensor<2x5x8xf32>) -> tensor<2x5xf32>
  %eps = graph.constant dense<1.0e-5> : tensor<2x5xf32> : tensor<2x5xf32>
  %e = graph.binary add %ms, %eps : tensor<2x5xf32>
  %i = graph.unary rsqrt %e : tensor<2x5xf32>
  %is = graph.broadcast %i {dims = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<2x5x8xf32>
  %n = graph.binary mul %x, %is : tensor<2x5x8xf32>
  %g = graph.broadcast %scale {dims = array<i64: 2>} : (tensor<8xf32>) -> tensor<2x5x8xf32>
  %y = graph.binary mul %g, %n : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// -----

// A scale a row is no scale a column.
// CHECK-LABEL: func @norm_with_row_scale
// CHECK-NOT: _norm
// CHECK: return
func.func @norm_with_row_scale(%x: tensor<2x5x8xf32>, %scale: tensor<2x5xf32>) -> tensor<2x5x8xf32> {
  %sq = graph.binary mul %x, %x : tensor<2x5x8xf32>
  %ms = graph.reduce mean %sq over [2] : (tensor<2x5x8xf32>) -> tensor<2x5xf32>
  %eps = graph.constant dense<1.0e-5> : tensor<2x5xf32> : tensor<2x5xf32>
  %e = graph.binary add %ms, %eps : tensor<2x5xf32>
  %i = graph.unary rsqrt %e : tensor<2x5xf32>
  %is = graph.broadcast %i {dims = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<2x5x8xf32>
  %n = graph.binary mul %x, %is : tensor<2x5x8xf32>
  %g = graph.broadcast %scale {dims = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<2x5x8xf32>
  %y = graph.binary mul %g, %n : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// -----

// Without an epsilon the op has none to keep.
// CHECK-LABEL: func @norm_without_epsilon
// CHECK-NOT: _norm
// CHECK: return
func.func @norm_without_epsilon(%x: tensor<2x5x8xf32>, %scale: tensor<8xf32>) -> tensor<2x5x8xf32> {
  %sq = graph.binary mul %x, %x : tensor<2x5x8xf32>
  %e = graph.reduce mean %sq over [2] : (tensor<2x5x8xf32>) -> tensor<2x5xf32>
  %i = graph.unary rsqrt %e : tensor<2x5xf32>
  %is = graph.broadcast %i {dims = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<2x5x8xf32>
  %n = graph.binary mul %x, %is : tensor<2x5x8xf32>
  %g = graph.broadcast %scale {dims = array<i64: 2>} : (tensor<8xf32>) -> tensor<2x5x8xf32>
  %y = graph.binary mul %g, %n : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// -----

// The mean over another dim than the last: batch normalization.
// CHECK-LABEL: func @norm_over_other_dim
// CHECK-NOT: _norm
// CHECK: return
func.func @norm_over_other_dim(%x: tensor<2x5x8xf32>, %scale: tensor<8xf32>) -> tensor<2x5x8xf32> {
  %sq = graph.binary mul %x, %x : tensor<2x5x8xf32>
  %ms = graph.reduce mean %sq over [1] : (tensor<2x5x8xf32>) -> tensor<2x8xf32>
  %eps = graph.constant dense<1.0e-5> : tensor<2x8xf32> : tensor<2x8xf32>
  %e = graph.binary add %ms, %eps : tensor<2x8xf32>
  %i = graph.unary rsqrt %e : tensor<2x8xf32>
  %is = graph.broadcast %i {dims = array<i64: 0, 2>} : (tensor<2x8xf32>) -> tensor<2x5x8xf32>
  %n = graph.binary mul %x, %is : tensor<2x5x8xf32>
  %g = graph.broadcast %scale {dims = array<i64: 2>} : (tensor<8xf32>) -> tensor<2x5x8xf32>
  %y = graph.binary mul %g, %n : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// -----

// The error function of x itself.
// CHECK-LABEL: func @erf_of_x
// CHECK-NOT: graph.unary {{ *}}{{gelu|silu}}
// CHECK: return
func.func @erf_of_x(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = graph.unary erf %x : tensor<4xf32>
  %one = graph.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>
  %p = graph.binary add %e, %one : tensor<4xf32>
  %m = graph.binary mul %x, %p : tensor<4xf32>
  %half = graph.constant dense<0.5> : tensor<4xf32> : tensor<4xf32>
  %y = graph.binary mul %m, %half : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A gate of 2 + erf.
// CHECK-LABEL: func @two_plus_erf
// CHECK-NOT: graph.unary {{ *}}{{gelu|silu}}
// CHECK: return
func.func @two_plus_erf(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r2 = graph.constant dense<1.41421354> : tensor<4xf32> : tensor<4xf32>
  %d = graph.binary div %x, %r2 : tensor<4xf32>
  %e = graph.unary erf %d : tensor<4xf32>
  %one = graph.constant dense<2.0> : tensor<4xf32> : tensor<4xf32>
  %p = graph.binary add %e, %one : tensor<4xf32>
  %m = graph.binary mul %x, %p : tensor<4xf32>
  %half = graph.constant dense<0.5> : tensor<4xf32> : tensor<4xf32>
  %y = graph.binary mul %m, %half : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A gate of another tensor.
// CHECK-LABEL: func @gate_of_other
// CHECK-NOT: graph.unary {{ *}}{{gelu|silu}}
// CHECK: return
func.func @gate_of_other(%x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %r2 = graph.constant dense<1.41421354> : tensor<4xf32> : tensor<4xf32>
  %d = graph.binary div %z, %r2 : tensor<4xf32>
  %e = graph.unary erf %d : tensor<4xf32>
  %one = graph.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>
  %p = graph.binary add %e, %one : tensor<4xf32>
  %m = graph.binary mul %x, %p : tensor<4xf32>
  %half = graph.constant dense<0.5> : tensor<4xf32> : tensor<4xf32>
  %y = graph.binary mul %m, %half : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Without the half.
// CHECK-LABEL: func @gelu_without_half
// CHECK-NOT: graph.unary {{ *}}{{gelu|silu}}
// CHECK: return
func.func @gelu_without_half(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r2 = graph.constant dense<1.41421354> : tensor<4xf32> : tensor<4xf32>
  %d = graph.binary div %x, %r2 : tensor<4xf32>
  %e = graph.unary erf %d : tensor<4xf32>
  %one = graph.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>
  %p = graph.binary add %e, %one : tensor<4xf32>
  %y = graph.binary mul %x, %p : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A power of 3.5 is no cube.
// CHECK-LABEL: func @tanh_power
// CHECK-NOT: graph.unary {{ *}}{{gelu|silu}}
// CHECK: return
func.func @tanh_power(%x: tensor<4xf32>) -> tensor<4xf32> {
  %three = graph.constant dense<3.5> : tensor<4xf32> : tensor<4xf32>
  %c3 = graph.binary pow %x, %three : tensor<4xf32>
  %k = graph.constant dense<0.044715> : tensor<4xf32> : tensor<4xf32>
  %kc = graph.binary mul %k, %c3 : tensor<4xf32>
  %i = graph.binary add %x, %kc : tensor<4xf32>
  %r = graph.constant dense<0.797884583> : tensor<4xf32> : tensor<4xf32>
  %a = graph.binary mul %r, %i : tensor<4xf32>
  %t = graph.unary tanh %a : tensor<4xf32>
  %one = graph.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>
  %p = graph.binary add %one, %t : tensor<4xf32>
  %half = graph.constant dense<0.5> : tensor<4xf32> : tensor<4xf32>
  %h = graph.binary mul %half, %x : tensor<4xf32>
  %y = graph.binary mul %h, %p : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Another cubic coefficient.
// CHECK-LABEL: func @tanh_coefficient
// CHECK-NOT: graph.unary {{ *}}{{gelu|silu}}
// CHECK: return
func.func @tanh_coefficient(%x: tensor<4xf32>) -> tensor<4xf32> {
  %three = graph.constant dense<3.0> : tensor<4xf32> : tensor<4xf32>
  %c3 = graph.binary pow %x, %three : tensor<4xf32>
  %k = graph.constant dense<0.05> : tensor<4xf32> : tensor<4xf32>
  %kc = graph.binary mul %k, %c3 : tensor<4xf32>
  %i = graph.binary add %x, %kc : tensor<4xf32>
  %r = graph.constant dense<0.797884583> : tensor<4xf32> : tensor<4xf32>
  %a = graph.binary mul %r, %i : tensor<4xf32>
  %t = graph.unary tanh %a : tensor<4xf32>
  %one = graph.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>
  %p = graph.binary add %one, %t : tensor<4xf32>
  %half = graph.constant dense<0.5> : tensor<4xf32> : tensor<4xf32>
  %h = graph.binary mul %half, %x : tensor<4xf32>
  %y = graph.binary mul %h, %p : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// The sigmoid of 1.702 x (quick GELU).
// CHECK-LABEL: func @quick_gelu
// CHECK-NOT: graph.unary {{ *}}{{gelu|silu}}
// CHECK: return
func.func @quick_gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %k = graph.constant dense<1.702> : tensor<4xf32> : tensor<4xf32>
  %kx = graph.binary mul %k, %x : tensor<4xf32>
  %s = graph.unary sigmoid %kx : tensor<4xf32>
  %y = graph.binary mul %x, %s : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// The sigmoid of another tensor gates it.
// CHECK-LABEL: func @sigmoid_gate
// CHECK-NOT: graph.unary {{ *}}{{gelu|silu}}
// CHECK: return
func.func @sigmoid_gate(%x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.unary sigmoid %z : tensor<4xf32>
  %y = graph.binary mul %x, %s : tensor<4xf32>
  return %y : tensor<4xf32>
}

// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --canonicalize-graph --split-input-file | FileCheck %s

// Transposes of both operands and of the result melt into the names of the einsum.
// CHECK-LABEL: func @transposes_into_einsum
// CHECK-SAME: (%[[A:.*]]: tensor<4x3xf32>, %[[B:.*]]: tensor<5x4xf32>)
// CHECK-NEXT: %[[PRODUCT:.*]] = graph.einsum "k m, n k -> n m" %[[A]], %[[B]] : (tensor<4x3xf32>, tensor<5x4xf32>) -> tensor<5x3xf32>
// CHECK-NEXT: return %[[PRODUCT]]
func.func @transposes_into_einsum(%a: tensor<4x3xf32>, %b: tensor<5x4xf32>) -> tensor<5x3xf32> {
  %at = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %bt = graph.transpose %b {permutation = array<i64: 1, 0>} : (tensor<5x4xf32>) -> tensor<4x5xf32>
  %0 = graph.einsum "m k, k n -> m n" %at, %bt : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<3x5xf32>) -> tensor<5x3xf32>
  return %1 : tensor<5x3xf32>
}

// -----

// A rotation of three dims lands on the right names: dim i of the transpose is dim permutation[i] of the input.
// CHECK-LABEL: func @rotation
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>, %[[W:.*]]: tensor<2x5xf32>)
// CHECK-NEXT: graph.einsum "k b m, k n -> b m n" %[[X]], %[[W]]
func.func @rotation(%x: tensor<2x3x4xf32>, %w: tensor<2x5xf32>) -> tensor<3x4x5xf32> {
  %t = graph.transpose %x {permutation = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %0 = graph.einsum "b m k, k n -> b m n" %t, %w : (tensor<3x4x2xf32>, tensor<2x5xf32>) -> tensor<3x4x5xf32>
  return %0 : tensor<3x4x5xf32>
}

// -----

// A contraction that is also used as it stands keeps its order; it is not computed twice.
// CHECK-LABEL: func @transpose_of_shared_einsum
// CHECK: %[[PRODUCT:.*]] = graph.einsum "m k, k n -> m n"
// CHECK: %[[MOVED:.*]] = graph.transpose %[[PRODUCT]]
// CHECK: return %[[PRODUCT]], %[[MOVED]]
func.func @transpose_of_shared_einsum(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) -> (tensor<3x5xf32>, tensor<5x3xf32>) {
  %0 = graph.einsum "m k, k n -> m n" %a, %b : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<3x5xf32>) -> tensor<5x3xf32>
  return %0, %1 : tensor<3x5xf32>, tensor<5x3xf32>
}

// -----

// The way of keys through a 3-D batched transpose is one transpose of the 4-D tensor.
// CHECK-LABEL: func @transpose_below_reshape
// CHECK-SAME: (%[[K:.*]]: tensor<2x4x6x8xf32>)
// CHECK-NEXT: %[[MOVED:.*]] = graph.transpose %[[K]] {permutation = array<i64: 0, 1, 3, 2>} : (tensor<2x4x6x8xf32>) -> tensor<2x4x8x6xf32>
// CHECK-NEXT: return %[[MOVED]]
func.func @transpose_below_reshape(%k: tensor<2x4x6x8xf32>) -> tensor<2x4x8x6xf32> {
  %0 = graph.reshape %k : (tensor<2x4x6x8xf32>) -> tensor<8x6x8xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 0, 2, 1>} : (tensor<8x6x8xf32>) -> tensor<8x8x6xf32>
  %2 = graph.reshape %1 : (tensor<8x8x6xf32>) -> tensor<2x4x8x6xf32>
  return %2 : tensor<2x4x8x6xf32>
}

// -----

// A broadcast puts dims where a transpose would have moved them.
// CHECK-LABEL: func @transpose_of_broadcast
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
// CHECK-NEXT: %[[KEPT:.*]] = graph.broadcast %[[X]] {dims = array<i64: 0, 2>} : (tensor<2x3xf32>) -> tensor<2x4x3xf32>
// CHECK-NEXT: %[[SWAPPED:.*]] = graph.transpose %[[X]] {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: %[[REPEATED:.*]] = graph.broadcast %[[SWAPPED]] {dims = array<i64: 0, 2>} : (tensor<3x2xf32>) -> tensor<3x4x2xf32>
// CHECK-NEXT: return %[[KEPT]], %[[REPEATED]]
func.func @transpose_of_broadcast(%x: tensor<2x3xf32>) -> (tensor<2x4x3xf32>, tensor<3x4x2xf32>) {
  %0 = graph.broadcast %x {dims = array<i64: 1, 2>} : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<4x2x3xf32>) -> tensor<2x4x3xf32>
  %2 = graph.transpose %0 {permutation = array<i64: 2, 0, 1>} : (tensor<4x2x3xf32>) -> tensor<3x4x2xf32>
  return %1, %2 : tensor<2x4x3xf32>, tensor<3x4x2xf32>
}

// -----

// The guard against NaN of a fully masked softmax row goes.
// CHECK-LABEL: func @nan_guard
// CHECK-NEXT: %[[PROBABILITIES:.*]] = graph.softmax
// CHECK-NEXT: return %[[PROBABILITIES]]
func.func @nan_guard(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %zero = graph.constant dense<0.0> : tensor<2x3xf32> : tensor<2x3xf32>
  %p = graph.softmax %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %nan = graph.compare ne %p, %p : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %0 = graph.select %nan, %zero, %p : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// Rows 2, 3, 4 in order, for each of two batch rows, are a slice of the table, repeated.
// CHECK-LABEL: func @iota_embedding
// CHECK-SAME: (%[[TABLE:.*]]: tensor<10x4xf32>)
// CHECK-NEXT: %[[ROWS:.*]] = graph.slice %[[TABLE]] {offsets = array<i64: 2, 0>, strides = array<i64: 1, 1>} : (tensor<10x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %[[REPEATED:.*]] = graph.broadcast %[[ROWS]] {dims = array<i64: 1, 2>} : (tensor<3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: return %[[REPEATED]]
func.func @iota_embedding(%table: tensor<10x4xf32>) -> tensor<2x3x4xf32> {
  %ids = graph.constant dense<[[2, 3, 4], [2, 3, 4]]> : tensor<2x3xi64> : tensor<2x3xi64>
  %0 = graph.embedding %table, %ids : (tensor<10x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// -----

// All rows in order are the table itself, also when the positions are repeated by a broadcast.
// CHECK-LABEL: func @iota_embedding_broadcast
// CHECK-SAME: (%[[TABLE:.*]]: tensor<3x4xf32>)
// CHECK-NEXT: %[[REPEATED:.*]] = graph.broadcast %[[TABLE]] {dims = array<i64: 1, 2>} : (tensor<3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: return %[[REPEATED]], %[[TABLE]]
func.func @iota_embedding_broadcast(%table: tensor<3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3x4xf32>) {
  %positions = graph.constant dense<[0, 1, 2]> : tensor<3xi64> : tensor<3xi64>
  %ids = graph.broadcast %positions {dims = array<i64: 1>} : (tensor<3xi64>) -> tensor<2x3xi64>
  %0 = graph.embedding %table, %ids : (tensor<3x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  %1 = graph.embedding %table, %positions : (tensor<3x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return %0, %1 : tensor<2x3x4xf32>, tensor<3x4xf32>
}

// -----

// TorchScript's layer norm: subtract, power, mean, root, divide, scale, shift.
// CHECK-LABEL: func @layer_norm_torchscript
// CHECK-SAME: (%[[X:.*]]: tensor<2x5x8xf32>, %[[SCALE:.*]]: tensor<8xf32>, %[[BIAS:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[NORM:.*]] = graph.layer_norm %[[X]], %[[SCALE]], %[[BIAS]] {epsilon = 9.99{{.*}}E-6 : f64}
// CHECK-NEXT: return %[[NORM]]
func.func @layer_norm_torchscript(%x: tensor<2x5x8xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>) -> tensor<2x5x8xf32> {
  %mu = graph.reduce mean %x over [2] : (tensor<2x5x8xf32>) -> tensor<2x5xf32>
  %muk = graph.reshape %mu : (tensor<2x5xf32>) -> tensor<2x5x1xf32>
  %mud = graph.reshape %muk : (tensor<2x5x1xf32>) -> tensor<2x5xf32>
  %mus = graph.broadcast %mud {dims = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<2x5x8xf32>
  %c = graph.binary sub %x, %mus : tensor<2x5x8xf32>
  %two = graph.constant dense<2.0> : tensor<2x5x8xf32> : tensor<2x5x8xf32>
  %sq = graph.binary pow %c, %two : tensor<2x5x8xf32>
  %var = graph.reduce mean %sq over [2] : (tensor<2x5x8xf32>) -> tensor<2x5xf32>
  %vark = graph.reshape %var : (tensor<2x5xf32>) -> tensor<2x5x1xf32>
  %eps = graph.constant dense<1.0e-5> : tensor<2x5x1xf32> : tensor<2x5x1xf32>
  %vare = graph.binary add %vark, %eps : tensor<2x5x1xf32>
  %std = graph.unary sqrt %vare : tensor<2x5x1xf32>
  %stdd = graph.reshape %std : (tensor<2x5x1xf32>) -> tensor<2x5xf32>
  %stds = graph.broadcast %stdd {dims = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<2x5x8xf32>
  %n = graph.binary div %c, %stds : tensor<2x5x8xf32>
  %g = graph.broadcast %scale {dims = array<i64: 2>} : (tensor<8xf32>) -> tensor<2x5x8xf32>
  %s = graph.binary mul %n, %g : tensor<2x5x8xf32>
  %h = graph.broadcast %bias {dims = array<i64: 2>} : (tensor<8xf32>) -> tensor<2x5x8xf32>
  %y = graph.binary add %s, %h : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// -----

// The variance from another copy of x - mean; scale and shift on the left.
// CHECK-LABEL: func @layer_norm_two_copies
// CHECK-SAME: (%[[X:.*]]: tensor<2x5x8xf32>, %[[SCALE:.*]]: tensor<8xf32>, %[[BIAS:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[NORM:.*]] = graph.layer_norm %[[X]], %[[SCALE]], %[[BIAS]] {epsilon = 9.99{{.*}}E-6 : f64}
// CHECK-NEXT: return %[[NORM]]
func.func @layer_norm_two_copies(%x: tensor<2x5x8xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>) -> tensor<2x5x8xf32> {
  %mu = graph.reduce mean %x over [2] : (tensor<2x5x8xf32>) -> tensor<2x5xf32>
  %mus = graph.broadcast %mu {dims = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<2x5x8xf32>
  %c = graph.binary sub %x, %mus : tensor<2x5x8xf32>
  %c2 = graph.binary sub %x, %mus : tensor<2x5x8xf32>
  %sq = graph.binary mul %c2, %c2 : tensor<2x5x8xf32>
  %var = graph.reduce mean %sq over [2] : (tensor<2x5x8xf32>) -> tensor<2x5xf32>
  %eps = graph.constant dense<1.0e-5> : tensor<2x5xf32> : tensor<2x5xf32>
  %vare = graph.binary add %eps, %var : tensor<2x5xf32>
  %std = graph.unary sqrt %vare : tensor<2x5xf32>
  %stds = graph.broadcast %std {dims = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<2x5x8xf32>
  %n = graph.binary div %c, %stds : tensor<2x5x8xf32>
  %g = graph.broadcast %scale {dims = array<i64: 2>} : (tensor<8xf32>) -> tensor<2x5x8xf32>
  %s = graph.binary mul %g, %n : tensor<2x5x8xf32>
  %h = graph.broadcast %bias {dims = array<i64: 2>} : (tensor<8xf32>) -> tensor<2x5x8xf32>
  %y = graph.binary add %h, %s : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// -----

// By a reciprocal root and a product.
// CHECK-LABEL: func @layer_norm_rsqrt
// CHECK-SAME: (%[[X:.*]]: tensor<2x5x8xf32>, %[[SCALE:.*]]: tensor<8xf32>, %[[BIAS:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[NORM:.*]] = graph.layer_norm %[[X]], %[[SCALE]], %[[BIAS]] {epsilon = 9.99{{.*}}E-6 : f64}
// CHECK-NEXT: return %[[NORM]]
func.func @layer_norm_rsqrt(%x: tensor<2x5x8xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>) -> tensor<2x5x8xf32> {
  %mu = graph.reduce mean %x over [2] : (tensor<2x5x8xf32>) -> tensor<2x5xf32>
  %mus = graph.broadcast %mu {dims = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<2x5x8xf32>
  %c = graph.binary sub %x, %mus : tensor<2x5x8xf32>
  %sq = graph.binary mul %c, %c : tensor<2x5x8xf32>
  %var = graph.reduce mean %sq over [2] : (tensor<2x5x8xf32>) -> tensor<2x5xf32>
  %eps = graph.constant dense<1.0e-5> : tensor<2x5xf32> : tensor<2x5xf32>
  %vare = graph.binary add %var, %eps : tensor<2x5xf32>
  %inv = graph.unary rsqrt %vare : tensor<2x5xf32>
  %invs = graph.broadcast %inv {dims = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<2x5x8xf32>
  %n = graph.binary mul %invs, %c : tensor<2x5x8xf32>
  %g = graph.broadcast %scale {dims = array<i64: 2>} : (tensor<8xf32>) -> tensor<2x5x8xf32>
  %s = graph.binary mul %n, %g : tensor<2x5x8xf32>
  %h = graph.broadcast %bias {dims = array<i64: 2>} : (tensor<8xf32>) -> tensor<2x5x8xf32>
  %y = graph.binary add %s, %h : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// -----

// Without a shift the bias is zero.
// CHECK-LABEL: func @layer_norm_without_bias
// CHECK-SAME: (%[[X:.*]]: tensor<2x5x8xf32>, %[[SCALE:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[ZERO:.*]] = graph.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK-NEXT: %[[NORM:.*]] = graph.layer_norm %[[X]], %[[SCALE]], %[[ZERO]]
// CHECK-NEXT: return %[[NORM]]
func.func @layer_norm_without_bias(%x: tensor<2x5x8xf32>, %scale: tensor<8xf32>) -> tensor<2x5x8xf32> {
  %mu = graph.reduce mean %x over [2] : (tensor<2x5x8xf32>) -> tensor<2x5xf32>
  %mus = graph.broadcast %mu {dims = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<2x5x8xf32>
  %c = graph.binary sub %x, %mus : tensor<2x5x8xf32>
  %sq = graph.binary mul %c, %c : tensor<2x5x8xf32>
  %var = graph.reduce mean %sq over [2] : (tensor<2x5x8xf32>) -> tensor<2x5xf32>
  %eps = graph.constant dense<1.0e-5> : tensor<2x5xf32> : tensor<2x5xf32>
  %vare = graph.binary add %var, %eps : tensor<2x5xf32>
  %inv = graph.unary rsqrt %vare : tensor<2x5xf32>
  %invs = graph.broadcast %inv {dims = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<2x5x8xf32>
  %n = graph.binary mul %invs, %c : tensor<2x5x8xf32>
  %g = graph.broadcast %scale {dims = array<i64: 2>} : (tensor<8xf32>) -> tensor<2x5x8xf32>
  %s = graph.binary mul %n, %g : tensor<2x5x8xf32>
  return %s : tensor<2x5x8xf32>
}

// -----

// Llama's: power, mean, reciprocal root, product, scale on the left.
// CHECK-LABEL: func @rms_norm_rsqrt
// CHECK-SAME: (%[[X:.*]]: tensor<2x5x8xf32>, %[[SCALE:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[NORM:.*]] = graph.rms_norm %[[X]], %[[SCALE]] {epsilon = 9.99{{.*}}E-6 : f64}
// CHECK-NEXT: return %[[NORM]]
func.func @rms_norm_rsqrt(%x: tensor<2x5x8xf32>, %scale: tensor<8xf32>) -> tensor<2x5x8xf32> {
  %two = graph.constant dense<2.0> : tensor<2x5x8xf32> : tensor<2x5x8xf32>
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

// TorchScript's: the reciprocal of a root, kept dims.
// CHECK-LABEL: func @rms_norm_reciprocal
// CHECK-SAME: (%[[X:.*]]: tensor<2x5x8xf32>, %[[SCALE:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[NORM:.*]] = graph.rms_norm %[[X]], %[[SCALE]] {epsilon = 9.99{{.*}}E-6 : f64}
// CHECK-NEXT: return %[[NORM]]
func.func @rms_norm_reciprocal(%x: tensor<2x5x8xf32>, %scale: tensor<8xf32>) -> tensor<2x5x8xf32> {
  %two = graph.constant dense<2.0> : tensor<2x5x8xf32> : tensor<2x5x8xf32>
  %sq = graph.binary pow %x, %two : tensor<2x5x8xf32>
  %ms = graph.reduce mean %sq over [2] : (tensor<2x5x8xf32>) -> tensor<2x5xf32>
  %msk = graph.reshape %ms : (tensor<2x5xf32>) -> tensor<2x5x1xf32>
  %eps = graph.constant dense<1.0e-5> : tensor<2x5x1xf32> : tensor<2x5x1xf32>
  %e = graph.binary add %msk, %eps : tensor<2x5x1xf32>
  %r = graph.unary sqrt %e : tensor<2x5x1xf32>
  %i = graph.unary reciprocal %r : tensor<2x5x1xf32>
  %id = graph.reshape %i : (tensor<2x5x1xf32>) -> tensor<2x5xf32>
  %is = graph.broadcast %id {dims = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<2x5x8xf32>
  %n = graph.binary mul %x, %is : tensor<2x5x8xf32>
  %g = graph.broadcast %scale {dims = array<i64: 2>} : (tensor<8xf32>) -> tensor<2x5x8xf32>
  %y = graph.binary mul %g, %n : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// -----

// One over a root.
// CHECK-LABEL: func @rms_norm_one_over
// CHECK-SAME: (%[[X:.*]]: tensor<2x5x8xf32>, %[[SCALE:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[NORM:.*]] = graph.rms_norm %[[X]], %[[SCALE]] {epsilon = 9.99{{.*}}E-6 : f64}
// CHECK-NEXT: return %[[NORM]]
func.func @rms_norm_one_over(%x: tensor<2x5x8xf32>, %scale: tensor<8xf32>) -> tensor<2x5x8xf32> {
  %sq = graph.binary mul %x, %x : tensor<2x5x8xf32>
  %ms = graph.reduce mean %sq over [2] : (tensor<2x5x8xf32>) -> tensor<2x5xf32>
  %eps = graph.constant dense<1.0e-5> : tensor<2x5xf32> : tensor<2x5xf32>
  %e = graph.binary add %ms, %eps : tensor<2x5xf32>
  %r = graph.unary sqrt %e : tensor<2x5xf32>
  %one = graph.constant dense<1.0> : tensor<2x5xf32> : tensor<2x5xf32>
  %i = graph.binary div %one, %r : tensor<2x5xf32>
  %is = graph.broadcast %i {dims = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<2x5x8xf32>
  %n = graph.binary mul %is, %x : tensor<2x5x8xf32>
  %g = graph.broadcast %scale {dims = array<i64: 2>} : (tensor<8xf32>) -> tensor<2x5x8xf32>
  %y = graph.binary mul %n, %g : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// -----

// A power of -1/2.
// CHECK-LABEL: func @rms_norm_power
// CHECK-SAME: (%[[X:.*]]: tensor<2x5x8xf32>, %[[SCALE:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[NORM:.*]] = graph.rms_norm %[[X]], %[[SCALE]] {epsilon = 9.99{{.*}}E-6 : f64}
// CHECK-NEXT: return %[[NORM]]
func.func @rms_norm_power(%x: tensor<2x5x8xf32>, %scale: tensor<8xf32>) -> tensor<2x5x8xf32> {
  %two = graph.constant dense<2.0> : tensor<2x5x8xf32> : tensor<2x5x8xf32>
  %sq = graph.binary pow %x, %two : tensor<2x5x8xf32>
  %ms = graph.reduce mean %sq over [2] : (tensor<2x5x8xf32>) -> tensor<2x5xf32>
  %eps = graph.constant dense<1.0e-5> : tensor<2x5xf32> : tensor<2x5xf32>
  %e = graph.binary add %ms, %eps : tensor<2x5xf32>
  %half = graph.constant dense<-0.5> : tensor<2x5xf32> : tensor<2x5xf32>
  %i = graph.binary pow %e, %half : tensor<2x5xf32>
  %is = graph.broadcast %i {dims = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<2x5x8xf32>
  %n = graph.binary mul %x, %is : tensor<2x5x8xf32>
  %g = graph.broadcast %scale {dims = array<i64: 2>} : (tensor<8xf32>) -> tensor<2x5x8xf32>
  %y = graph.binary mul %g, %n : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// -----

// A division by the root.
// CHECK-LABEL: func @rms_norm_division
// CHECK-SAME: (%[[X:.*]]: tensor<2x5x8xf32>, %[[SCALE:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[NORM:.*]] = graph.rms_norm %[[X]], %[[SCALE]] {epsilon = 9.99{{.*}}E-6 : f64}
// CHECK-NEXT: return %[[NORM]]
func.func @rms_norm_division(%x: tensor<2x5x8xf32>, %scale: tensor<8xf32>) -> tensor<2x5x8xf32> {
  %two = graph.constant dense<2.0> : tensor<2x5x8xf32> : tensor<2x5x8xf32>
  %sq = graph.binary pow %x, %two : tensor<2x5x8xf32>
  %ms = graph.reduce mean %sq over [2] : (tensor<2x5x8xf32>) -> tensor<2x5xf32>
  %eps = graph.constant dense<1.0e-5> : tensor<2x5xf32> : tensor<2x5xf32>
  %e = graph.binary add %ms, %eps : tensor<2x5xf32>
  %r = graph.unary sqrt %e : tensor<2x5xf32>
  %rs = graph.broadcast %r {dims = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<2x5x8xf32>
  %n = graph.binary div %x, %rs : tensor<2x5x8xf32>
  %g = graph.broadcast %scale {dims = array<i64: 2>} : (tensor<8xf32>) -> tensor<2x5x8xf32>
  %y = graph.binary mul %n, %g : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// -----

// TorchScript's order: x / sqrt 2, (x (1 + erf)) / 2.
// CHECK-LABEL: func @gelu_torchscript
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[Y:.*]] = graph.unary gelu %[[X]]
// CHECK-NEXT: return %[[Y]]
func.func @gelu_torchscript(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r2 = graph.constant dense<1.41421354> : tensor<4xf32> : tensor<4xf32>
  %d = graph.binary div %x, %r2 : tensor<4xf32>
  %e = graph.unary erf %d : tensor<4xf32>
  %one = graph.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>
  %p = graph.binary add %e, %one : tensor<4xf32>
  %m = graph.binary mul %x, %p : tensor<4xf32>
  %half = graph.constant dense<0.5> : tensor<4xf32> : tensor<4xf32>
  %y = graph.binary mul %m, %half : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// 0.5 x first, then the gate; 1 on the left; the argument as a product.
// CHECK-LABEL: func @gelu_half_first
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[Y:.*]] = graph.unary gelu %[[X]]
// CHECK-NEXT: return %[[Y]]
func.func @gelu_half_first(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = graph.constant dense<0.707106769> : tensor<4xf32> : tensor<4xf32>
  %d = graph.binary mul %r, %x : tensor<4xf32>
  %e = graph.unary erf %d : tensor<4xf32>
  %one = graph.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>
  %p = graph.binary add %one, %e : tensor<4xf32>
  %half = graph.constant dense<0.5> : tensor<4xf32> : tensor<4xf32>
  %h = graph.binary mul %x, %half : tensor<4xf32>
  %y = graph.binary mul %h, %p : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// The half on the gate.
// CHECK-LABEL: func @gelu_half_gate
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[Y:.*]] = graph.unary gelu %[[X]]
// CHECK-NEXT: return %[[Y]]
func.func @gelu_half_gate(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r2 = graph.constant dense<1.41421354> : tensor<4xf32> : tensor<4xf32>
  %d = graph.binary div %x, %r2 : tensor<4xf32>
  %e = graph.unary erf %d : tensor<4xf32>
  %one = graph.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>
  %p = graph.binary add %e, %one : tensor<4xf32>
  %half = graph.constant dense<0.5> : tensor<4xf32> : tensor<4xf32>
  %h = graph.binary mul %half, %p : tensor<4xf32>
  %y = graph.binary mul %h, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Divided by two.
// CHECK-LABEL: func @gelu_divided
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[Y:.*]] = graph.unary gelu %[[X]]
// CHECK-NEXT: return %[[Y]]
func.func @gelu_divided(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r2 = graph.constant dense<1.41421354> : tensor<4xf32> : tensor<4xf32>
  %d = graph.binary div %x, %r2 : tensor<4xf32>
  %e = graph.unary erf %d : tensor<4xf32>
  %one = graph.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>
  %p = graph.binary add %e, %one : tensor<4xf32>
  %m = graph.binary mul %p, %x : tensor<4xf32>
  %two = graph.constant dense<2.0> : tensor<4xf32> : tensor<4xf32>
  %y = graph.binary div %m, %two : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// The tanh form with a cube, as GPT-2's own.
// CHECK-LABEL: func @gelu_tanh_cube
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[Y:.*]] = graph.unary gelu_tanh %[[X]]
// CHECK-NEXT: return %[[Y]]
func.func @gelu_tanh_cube(%x: tensor<4xf32>) -> tensor<4xf32> {
  %three = graph.constant dense<3.0> : tensor<4xf32> : tensor<4xf32>
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

// The tanh form with products for the cube and the terms swapped.
// CHECK-LABEL: func @gelu_tanh_products
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[Y:.*]] = graph.unary gelu_tanh %[[X]]
// CHECK-NEXT: return %[[Y]]
func.func @gelu_tanh_products(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.binary mul %x, %x : tensor<4xf32>
  %c3 = graph.binary mul %s, %x : tensor<4xf32>
  %k = graph.constant dense<0.044715> : tensor<4xf32> : tensor<4xf32>
  %kc = graph.binary mul %c3, %k : tensor<4xf32>
  %i = graph.binary add %kc, %x : tensor<4xf32>
  %r = graph.constant dense<0.797884583> : tensor<4xf32> : tensor<4xf32>
  %a = graph.binary mul %i, %r : tensor<4xf32>
  %t = graph.unary tanh %a : tensor<4xf32>
  %one = graph.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>
  %p = graph.binary add %t, %one : tensor<4xf32>
  %half = graph.constant dense<0.5> : tensor<4xf32> : tensor<4xf32>
  %m = graph.binary mul %p, %x : tensor<4xf32>
  %y = graph.binary mul %m, %half : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// The tanh form factored: sqrt(2/pi) x (1 + 0.044715 x^2).
// CHECK-LABEL: func @gelu_tanh_factored
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[Y:.*]] = graph.unary gelu_tanh %[[X]]
// CHECK-NEXT: return %[[Y]]
func.func @gelu_tanh_factored(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.binary mul %x, %x : tensor<4xf32>
  %k = graph.constant dense<0.044715> : tensor<4xf32> : tensor<4xf32>
  %ks = graph.binary mul %k, %s : tensor<4xf32>
  %one = graph.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>
  %f = graph.binary add %one, %ks : tensor<4xf32>
  %xf = graph.binary mul %x, %f : tensor<4xf32>
  %r = graph.constant dense<0.797884583> : tensor<4xf32> : tensor<4xf32>
  %a = graph.binary mul %xf, %r : tensor<4xf32>
  %t = graph.unary tanh %a : tensor<4xf32>
  %p = graph.binary add %t, %one : tensor<4xf32>
  %half = graph.constant dense<0.5> : tensor<4xf32> : tensor<4xf32>
  %h = graph.binary mul %half, %p : tensor<4xf32>
  %y = graph.binary mul %x, %h : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// x times its sigmoid.
// CHECK-LABEL: func @silu
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[Y:.*]] = graph.unary silu %[[X]]
// CHECK-NEXT: return %[[Y]]
func.func @silu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.unary sigmoid %x : tensor<4xf32>
  %y = graph.binary mul %x, %s : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// The sigmoid on the left.
// CHECK-LABEL: func @silu_commuted
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[Y:.*]] = graph.unary silu %[[X]]
// CHECK-NEXT: return %[[Y]]
func.func @silu_commuted(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.unary sigmoid %x : tensor<4xf32>
  %y = graph.binary mul %s, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

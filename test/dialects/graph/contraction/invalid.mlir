// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --split-input-file --verify-diagnostics

// A spec without an arrow is no spec.
func.func @no_arrow(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{spec 'm k, k n': iteration space 'm k, k n' has no '->'}}
  %0 = graph.einsum "m k, k n" %a, %b : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

// Two operands, one result.
func.func @one_operand(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{spec 'm k -> m k' must have two operands and one result}}
  %0 = graph.einsum "m k -> m k" %a, %b : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  return
}

// -----

// Grouped dims belong to reshape.
func.func @grouped(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{spec 'm k, k (n o) -> m (n o)' may not group dims}}
  %0 = graph.einsum "m k, k (n o) -> m (n o)" %a, %b : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

// A name of one tensor only would be a reduction of that operand or a broadcast.
func.func @lonely_name(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{name 'n' stands in one tensor only}}
  %0 = graph.einsum "m k, k n -> m" %a, %b : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2xf32>
  return
}

// -----

// A diagonal is no contraction.
func.func @diagonal(%a: tensor<3x3xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{name 'i' stands twice in one tensor}}
  %0 = graph.einsum "i i, j -> j" %a, %b : (tensor<3x3xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// Equal names are equal sizes.
func.func @sizes_differ(%a: tensor<2x3xf32>, %b: tensor<5x4xf32>) {
  // expected-error @+1 {{operand and result shapes do not fit its iteration space}}
  %0 = graph.einsum "m k, k n -> m n" %a, %b : (tensor<2x3xf32>, tensor<5x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @types_differ(%a: tensor<2x3xf32>, %b: tensor<3x4xf64>) {
  // expected-error @+1 {{failed to verify that all of {lhs, rhs} have same element type}}
  %0 = graph.einsum "m k, k n -> m n" %a, %b : (tensor<2x3xf32>, tensor<3x4xf64>) -> tensor<2x4xf32>
  return
}

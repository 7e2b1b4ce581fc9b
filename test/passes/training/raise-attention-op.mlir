// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --raise-attention --split-input-file | FileCheck %s
//
// A model that has attention as one op gets the same form as one that spells it out.

// A constant triangle of -inf is the attribute, not an operand, also under a broadcast over the batch.
// CHECK-LABEL: func @causal
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK-NEXT: graph.attention %[[Q]], %[[K]], %[[V]] {causal = true, scale = 2.500000e-01 : f64}
func.func @causal(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x4x8xf32>, %v: tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32> {
  %m = graph.constant dense<[[0.0, -1.0e9, -1.0e9], [0.0, 0.0, -1.0e9], [0.0, 0.0, 0.0]]> : tensor<3x3xf32> : tensor<3x3xf32>
  %b = graph.broadcast %m {dims = array<i64: 2, 3>} : (tensor<3x3xf32>) -> tensor<2x1x3x3xf32>
  %o, %l = graph.attention %q, %k, %v, %b {causal = false, scale = 0.25 : f64} : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x1x3x3xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return %o : tensor<2x3x4x8xf32>
}

// -----

// A mask that hides nothing goes.
// CHECK-LABEL: func @nothing_hidden
// CHECK-NEXT: graph.attention %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} {causal = false,
func.func @nothing_hidden(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x4x8xf32>, %v: tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32> {
  %m = graph.constant dense<0.0> : tensor<1x1x3x3xf32> : tensor<1x1x3x3xf32>
  %o, %l = graph.attention %q, %k, %v, %m {causal = false, scale = 0.25 : f64} : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<1x1x3x3xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return %o : tensor<2x3x4x8xf32>
}

// -----

// A mask of other numbers, and one that is not constant, stay operands.
// CHECK-LABEL: func @dense
// CHECK: graph.attention %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} {causal = true,
// CHECK: graph.attention %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} {causal = false,
func.func @dense(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x4x8xf32>, %v: tensor<2x3x4x8xf32>, %n: tensor<1x1x3x3xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>) {
  %m = graph.constant dense<[[[[0.0, 1.0, 0.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]]]]> : tensor<1x1x3x3xf32> : tensor<1x1x3x3xf32>
  %o, %l = graph.attention %q, %k, %v, %m {causal = true, scale = 0.25 : f64} : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<1x1x3x3xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  %p, %j = graph.attention %q, %k, %v, %n {causal = false, scale = 0.25 : f64} : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<1x1x3x3xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return %o, %p : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>
}

// -----

// Heads that only repeat are grouped-query attention.
// CHECK-LABEL: func @repeated_heads
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK-NEXT: graph.attention %[[Q]], %[[K]], %[[V]] {causal = true, scale = 2.500000e-01 : f64} : (tensor<2x3x4x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>)
func.func @repeated_heads(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x2x8xf32>, %v: tensor<2x3x2x8xf32>) -> tensor<2x3x4x8xf32> {
  %kb = graph.broadcast %k {dims = array<i64: 0, 1, 2, 4>} : (tensor<2x3x2x8xf32>) -> tensor<2x3x2x2x8xf32>
  %kr = graph.reshape %kb : (tensor<2x3x2x2x8xf32>) -> tensor<2x3x4x8xf32>
  %vb = graph.broadcast %v {dims = array<i64: 0, 1, 2, 4>} : (tensor<2x3x2x8xf32>) -> tensor<2x3x2x2x8xf32>
  %vr = graph.reshape %vb : (tensor<2x3x2x2x8xf32>) -> tensor<2x3x4x8xf32>
  %o, %l = graph.attention %q, %kr, %vr {causal = true, scale = 0.25 : f64} : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return %o : tensor<2x3x4x8xf32>
}

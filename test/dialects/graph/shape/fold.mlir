// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --canonicalize --split-input-file | FileCheck %s

// Views that change nothing go.
// CHECK-LABEL: func @identities
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
func.func @identities(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = graph.reshape %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = graph.transpose %x {permutation = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = graph.broadcast %x {dims = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = graph.slice %x {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = graph.concat %x {dim = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0, %1, %2, %3, %4 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// Equal types are no identity for a permutation or a reversal.
// CHECK-LABEL: func @no_identities
// CHECK: %[[SWAPPED:.*]] = graph.transpose
// CHECK: %[[REVERSED:.*]] = graph.slice
// CHECK: return %[[SWAPPED]], %[[REVERSED]]
func.func @no_identities(%x: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>) {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %1 = graph.slice %x {offsets = array<i64: 2, 0>, strides = array<i64: -1, 1>} : (tensor<3x3xf32>) -> tensor<3x3xf32>
  return %0, %1 : tensor<3x3xf32>, tensor<3x3xf32>
}

// -----

// Two views of a kind are one.
// CHECK-LABEL: func @merge
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>)
// CHECK: %[[RESHAPED:.*]] = graph.reshape %[[X]] : (tensor<2x3x4xf32>) -> tensor<4x6xf32>
// dim i of the result is dim outer[i] of the inner, which is dim inner[outer[i]] of x: inner (1, 2, 0), outer (2, 1, 0).
// CHECK: %[[MOVED:.*]] = graph.transpose %[[X]] {permutation = array<i64: 0, 2, 1>} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
// CHECK: %[[REPEATED:.*]] = graph.broadcast %[[X]] {dims = array<i64: 0, 2, 4>} : (tensor<2x3x4xf32>) -> tensor<2x5x3x6x4xf32>
// CHECK: return %[[RESHAPED]], %[[MOVED]], %[[REPEATED]]
func.func @merge(%x: tensor<2x3x4xf32>) -> (tensor<4x6xf32>, tensor<2x4x3xf32>, tensor<2x5x3x6x4xf32>) {
  %0 = graph.reshape %x : (tensor<2x3x4xf32>) -> tensor<24xf32>
  %1 = graph.reshape %0 : (tensor<24xf32>) -> tensor<4x6xf32>
  %2 = graph.transpose %x {permutation = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %3 = graph.transpose %2 {permutation = array<i64: 2, 1, 0>} : (tensor<3x4x2xf32>) -> tensor<2x4x3xf32>
  %4 = graph.broadcast %x {dims = array<i64: 0, 2, 3>} : (tensor<2x3x4xf32>) -> tensor<2x5x3x4xf32>
  %5 = graph.broadcast %4 {dims = array<i64: 0, 1, 2, 4>} : (tensor<2x5x3x4xf32>) -> tensor<2x5x3x6x4xf32>
  return %1, %3, %5 : tensor<4x6xf32>, tensor<2x4x3xf32>, tensor<2x5x3x6x4xf32>
}

// -----

// A view of a constant is a constant: a reshape of any, the others of a splat.
// CHECK-LABEL: func @constants
// CHECK-DAG: %[[RESHAPED:.*]] = graph.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00{{\]\]}}> : tensor<2x2xf32>
// CHECK-DAG: %[[MOVED:.*]] = graph.constant dense<7.000000e+00> : tensor<3x2xf32>
// CHECK-DAG: %[[REPEATED:.*]] = graph.constant dense<7.000000e+00> : tensor<4x2x3xf32>
// CHECK-DAG: %[[CUT:.*]] = graph.constant dense<7.000000e+00> : tensor<1x3xf32>
// CHECK: return %[[RESHAPED]], %[[MOVED]], %[[REPEATED]], %[[CUT]]
func.func @constants() -> (tensor<2x2xf32>, tensor<3x2xf32>, tensor<4x2x3xf32>, tensor<1x3xf32>) {
  %c = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> : tensor<4xf32>
  %s = graph.constant dense<7.0> : tensor<2x3xf32> : tensor<2x3xf32>
  %0 = graph.reshape %c : (tensor<4xf32>) -> tensor<2x2xf32>
  %1 = graph.transpose %s {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %2 = graph.broadcast %s {dims = array<i64: 1, 2>} : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
  %3 = graph.slice %s {offsets = array<i64: 1, 0>, strides = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<1x3xf32>
  return %0, %1, %2, %3 : tensor<2x2xf32>, tensor<3x2xf32>, tensor<4x2x3xf32>, tensor<1x3xf32>
}

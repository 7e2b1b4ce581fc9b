// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --canonicalize --split-input-file | FileCheck %s

// Two negations cancel; two exponentials do not.
// CHECK-LABEL: func @involutions
// CHECK-SAME: (%[[X:.*]]: tensor<3xf32>, %[[P:.*]]: tensor<3xi1>)
// CHECK-NEXT: %[[ONCE:.*]] = graph.unary exp %[[X]]
// CHECK-NEXT: %[[TWICE:.*]] = graph.unary exp %[[ONCE]]
// CHECK-NEXT: return %[[X]], %[[P]], %[[TWICE]]
func.func @involutions(%x: tensor<3xf32>, %p: tensor<3xi1>) -> (tensor<3xf32>, tensor<3xi1>, tensor<3xf32>) {
  %n = graph.unary neg %x : tensor<3xf32>
  %nn = graph.unary neg %n : tensor<3xf32>
  %q = graph.unary not %p : tensor<3xi1>
  %qq = graph.unary not %q : tensor<3xi1>
  %e = graph.unary exp %x : tensor<3xf32>
  %ee = graph.unary exp %e : tensor<3xf32>
  return %nn, %qq, %ee : tensor<3xf32>, tensor<3xi1>, tensor<3xf32>
}

// -----

// Neutral elements vanish on the side where they are neutral.
// CHECK-LABEL: func @neutral
// CHECK-SAME: (%[[X:.*]]: tensor<3xf32>)
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
func.func @neutral(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %zero = graph.constant dense<0.0> : tensor<3xf32> : tensor<3xf32>
  %one = graph.constant dense<1.0> : tensor<3xf32> : tensor<3xf32>
  %0 = graph.binary add %x, %zero : tensor<3xf32>
  %1 = graph.binary add %zero, %x : tensor<3xf32>
  %2 = graph.binary mul %x, %one : tensor<3xf32>
  %3 = graph.binary mul %one, %x : tensor<3xf32>
  %4 = graph.binary sub %x, %zero : tensor<3xf32>
  %5 = graph.binary div %x, %one : tensor<3xf32>
  %6 = graph.binary pow %x, %one : tensor<3xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// 0 - x, 1 / x and 1 ^ x are not x.
// CHECK-LABEL: func @not_neutral
// CHECK: %[[NEGATED:.*]] = graph.binary sub
// CHECK: %[[INVERSE:.*]] = graph.binary div
// CHECK: %[[POWER:.*]] = graph.binary pow
// CHECK: return %[[NEGATED]], %[[INVERSE]], %[[POWER]]
func.func @not_neutral(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %zero = graph.constant dense<0.0> : tensor<3xf32> : tensor<3xf32>
  %one = graph.constant dense<1.0> : tensor<3xf32> : tensor<3xf32>
  %0 = graph.binary sub %zero, %x : tensor<3xf32>
  %1 = graph.binary div %one, %x : tensor<3xf32>
  %2 = graph.binary pow %one, %x : tensor<3xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// A neutral element is seen through its broadcast.
// CHECK-LABEL: func @broadcast_neutral
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
// CHECK-NEXT: return %[[X]]
func.func @broadcast_neutral(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32> : tensor<f32>
  %zeros = graph.broadcast %zero {dims = array<i64>} : (tensor<f32>) -> tensor<2x3xf32>
  %0 = graph.binary add %x, %zeros : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// A conversion to the same type goes; one that changes the type stays.
// CHECK-LABEL: func @convert
// CHECK-SAME: (%[[X:.*]]: tensor<3xf32>)
// CHECK-NEXT: %[[DOUBLE:.*]] = graph.convert %[[X]] : (tensor<3xf32>) -> tensor<3xf64>
// CHECK-NEXT: return %[[X]], %[[DOUBLE]]
func.func @convert(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf64>) {
  %same = graph.convert %x : (tensor<3xf32>) -> tensor<3xf32>
  %double = graph.convert %x : (tensor<3xf32>) -> tensor<3xf64>
  return %same, %double : tensor<3xf32>, tensor<3xf64>
}

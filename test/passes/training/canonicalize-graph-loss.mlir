// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --canonicalize-graph --split-input-file | FileCheck %s
//
// A loss over flattened rows, as exporters write it, is the loss over the rows as they are.

// CHECK-LABEL: func @flattened
// CHECK-SAME: (%[[X:[^:]*]]: {{[^,]*}}, %[[Y:[^:)]*]]:
// CHECK-NEXT: %[[SUM:[^,]*]], %[[COUNT:[^,]*]], %[[LSE:.*]] = graph.softmax_cross_entropy %[[X]], %[[Y]]
// CHECK-NEXT: %[[FLAT:.*]] = graph.reshape %[[LSE]] : (tensor<2x3xf32>) -> tensor<6xf32>
// CHECK-NEXT: return %[[SUM]], %[[COUNT]], %[[FLAT]]
func.func @flattened(%x: tensor<2x3x5xf32>, %y: tensor<2x3xi64>) -> (tensor<f32>, tensor<f32>, tensor<6xf32>) {
  %a = graph.reshape %x : (tensor<2x3x5xf32>) -> tensor<6x5xf32>
  %b = graph.reshape %y : (tensor<2x3xi64>) -> tensor<6xi64>
  %s, %c, %l = graph.softmax_cross_entropy %a, %b {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<6x5xf32>, tensor<6xi64>) -> (tensor<f32>, tensor<f32>, tensor<6xf32>)
  return %s, %c, %l : tensor<f32>, tensor<f32>, tensor<6xf32>
}

// -----

// Rows that pair off differently stay flattened: logits [3, 2] against labels [2, 3].
// CHECK-LABEL: func @other_rows
// CHECK: graph.softmax_cross_entropy %{{.*}} : (tensor<6x5xf32>, tensor<6xi64>)
func.func @other_rows(%x: tensor<3x2x5xf32>, %y: tensor<2x3xi64>) -> tensor<f32> {
  %a = graph.reshape %x : (tensor<3x2x5xf32>) -> tensor<6x5xf32>
  %b = graph.reshape %y : (tensor<2x3xi64>) -> tensor<6xi64>
  %s, %c, %l = graph.softmax_cross_entropy %a, %b {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<6x5xf32>, tensor<6xi64>) -> (tensor<f32>, tensor<f32>, tensor<6xf32>)
  return %s : tensor<f32>
}

// -----

// A broadcast that repeats nothing is a reshape, and two reshapes are one.
// CHECK-LABEL: func @repeats_nothing
// CHECK-SAME: (%[[X:[^:]*]]:
// CHECK-NEXT: return %[[X]]
func.func @repeats_nothing(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %a = graph.broadcast %x {dims = array<i64: 1, 2>} : (tensor<3x5xf32>) -> tensor<1x3x5xf32>
  %b = graph.reshape %a : (tensor<1x3x5xf32>) -> tensor<3x5xf32>
  return %b : tensor<3x5xf32>
}

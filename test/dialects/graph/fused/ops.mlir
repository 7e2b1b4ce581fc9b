// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s | echelon-opt | FileCheck %s

// A group over rows with a reduction inside; its region is isolated.
// CHECK-LABEL: func @fused
// CHECK: graph.fused(%{{.*}}, %{{.*}}) over [2, 8] rows 1 : (tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2xf32>) {
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<2x8xf32>, %[[B:.*]]: tensor<8xf32>):
// CHECK-NEXT: %[[BIAS:.*]] = graph.broadcast %[[B]]
// CHECK-NEXT: %[[SUM:.*]] = graph.binary add %[[X]], %[[BIAS]] : tensor<2x8xf32>
// CHECK-NEXT: %[[ROW:.*]] = graph.reduce sum %[[SUM]] over [1]
// CHECK-NEXT: graph.yield %[[SUM]], %[[ROW]] : tensor<2x8xf32>, tensor<2xf32>
func.func @fused(%x: tensor<2x8xf32>, %b: tensor<8xf32>) {
  %0:2 = graph.fused(%x, %b) over [2, 8] rows 1 : (tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2xf32>) {
  ^bb0(%a: tensor<2x8xf32>, %c: tensor<8xf32>):
    %bias = graph.broadcast %c {dims = array<i64: 1>} : (tensor<8xf32>) -> tensor<2x8xf32>
    %sum = graph.binary add %a, %bias : tensor<2x8xf32>
    %row = graph.reduce sum %sum over [1] : (tensor<2x8xf32>) -> tensor<2xf32>
    graph.yield %sum, %row : tensor<2x8xf32>, tensor<2xf32>
  }
  return
}

// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-test-local %s | FileCheck %s

// A kept dim is cut in operand and result; a cut reduced dim leaves a partial sum of full shape.
func.func @reduce(%x: tensor<8x6x4xf32>) {
  // CHECK: space: i0 i1 i2 -> i0 i2
  // CHECK-NEXT: local: %1 = graph.reduce sum %0 over [1] : (tensor<2x6x4xf32>) -> tensor<2x4xf32>
  %kept = graph.reduce sum %x over [1] {test.local = {i0 = 2 : i64}} : (tensor<8x6x4xf32>) -> tensor<8x4xf32>
  // CHECK: local: %1 = graph.reduce sum %0 over [1] : (tensor<8x3x4xf32>) -> tensor<8x4xf32>
  %partial = graph.reduce sum %x over [1] {test.local = {i1 = 3 : i64}} : (tensor<8x6x4xf32>) -> tensor<8x4xf32>
  // CHECK: space: i0 i1 i2 ->{{ *$}}
  // CHECK-NEXT: local: %1 = graph.reduce sum %0 over [0, 1, 2] : (tensor<1x6x4xf32>) -> tensor<f32>
  %all = graph.reduce sum %x over [0, 1, 2] {test.local = {i0 = 1 : i64}} : (tensor<8x6x4xf32>) -> tensor<f32>
  return
}

// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-test-local %s | FileCheck %s

// Every dim of a pointwise op can be cut, on all operands alike.
func.func @pointwise(%x: tensor<8x6xf32>, %p: tensor<8x6xi1>) {
  // CHECK: space: i0 i1 -> i0 i1
  // CHECK-NEXT: local: %1 = graph.unary exp %0 : tensor<2x6xf32>
  %0 = graph.unary exp %x {test.local = {i0 = 2 : i64}} : tensor<8x6xf32>
  // CHECK: space: i0 i1, i0 i1 -> i0 i1
  // CHECK-NEXT: local: %2 = graph.binary add %0, %1 : tensor<8x3xf32>
  %1 = graph.binary add %x, %x {test.local = {i1 = 3 : i64}} : tensor<8x6xf32>
  // CHECK: local: %2 = graph.compare le %0, %1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>
  %2 = graph.compare le %x, %x {test.local = {i0 = 4 : i64}} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xi1>
  // CHECK: space: i0 i1, i0 i1, i0 i1 -> i0 i1
  // CHECK-NEXT: local: %3 = graph.select %0, %1, %2 : (tensor<4x2xi1>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %3 = graph.select %p, %x, %x {test.local = {i0 = 4 : i64, i1 = 2 : i64}} : (tensor<8x6xi1>, tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK: local: %1 = graph.convert %0 : (tensor<1x6xf32>) -> tensor<1x6xf64>
  %4 = graph.convert %x {test.local = {i0 = 1 : i64}} : (tensor<8x6xf32>) -> tensor<8x6xf64>
  return
}

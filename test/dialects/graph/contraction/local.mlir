// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-test-local %s | FileCheck %s

// A cut row dim stays in the result; a cut summed dim leaves a result of full shape, which is a partial sum.
// CHECK: space: b m k, k n -> b m n
// CHECK-NEXT: local: %2 = graph.einsum "b m k, k n -> b m n" %0, %1 : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
// CHECK: local: %2 = graph.einsum "b m k, k n -> b m n" %0, %1 : (tensor<8x3x2xf32>, tensor<2x5xf32>) -> tensor<8x3x5xf32>
// CHECK: local: %2 = graph.einsum "b m k, k n -> b m n" %0, %1 : (tensor<8x3x4xf32>, tensor<4x1xf32>) -> tensor<8x3x1xf32>
func.func @einsum(%x: tensor<8x3x4xf32>, %w: tensor<4x5xf32>) {
  %rows = graph.einsum "b m k, k n -> b m n" %x, %w {test.local = {b = 2 : i64}} : (tensor<8x3x4xf32>, tensor<4x5xf32>) -> tensor<8x3x5xf32>
  %summed = graph.einsum "b m k, k n -> b m n" %x, %w {test.local = {k = 2 : i64}} : (tensor<8x3x4xf32>, tensor<4x5xf32>) -> tensor<8x3x5xf32>
  %columns = graph.einsum "b m k, k n -> b m n" %x, %w {test.local = {n = 1 : i64}} : (tensor<8x3x4xf32>, tensor<4x5xf32>) -> tensor<8x3x5xf32>
  return
}

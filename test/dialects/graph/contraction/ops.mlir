// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s | echelon-opt | FileCheck %s

// The spec and both operands survive; a batched product with a swapped result keeps its names.
// CHECK-LABEL: func @einsum
// CHECK: graph.einsum "b m k, k n -> b m n" %{{.*}}, %{{.*}} : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
// CHECK: graph.einsum "b q h d, b k h d -> b h q k" %{{.*}}, %{{.*}} : (tensor<2x3x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x3x5xf32>
// CHECK: graph.einsum "i, i ->" %{{.*}}, %{{.*}} : (tensor<7xf64>, tensor<7xf64>) -> tensor<f64>
func.func @einsum(%x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %q: tensor<2x3x4x8xf32>, %k: tensor<2x5x4x8xf32>,
                  %u: tensor<7xf64>) {
  %0 = graph.einsum "b m k, k n -> b m n" %x, %w : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
  %1 = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x3x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x3x5xf32>
  %2 = graph.einsum "i, i ->" %u, %u : (tensor<7xf64>, tensor<7xf64>) -> tensor<f64>
  return
}

// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-test-local %s | FileCheck %s

// Indices and columns can be cut. Rows of the table cannot: an index may name any of them.
func.func @embedding(%table: tensor<10x4xf32>, %ids: tensor<8x3xi64>, %rows: tensor<8x3x4xf32>) {
  // CHECK: space: v d, i0 i1 -> i0 i1 d : whole v
  // CHECK-NEXT: local: %2 = graph.embedding %0, %1 : (tensor<10x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  %0 = graph.embedding %table, %ids {test.local = {i0 = 2 : i64}} : (tensor<10x4xf32>, tensor<8x3xi64>) -> tensor<8x3x4xf32>
  // CHECK: local: %2 = graph.embedding %0, %1 : (tensor<10x1xf32>, tensor<8x3xi64>) -> tensor<8x3x1xf32>
  %1 = graph.embedding %table, %ids {test.local = {d = 1 : i64}} : (tensor<10x4xf32>, tensor<8x3xi64>) -> tensor<8x3x4xf32>
  // CHECK: cannot be cut: its dim 'v' must stay whole
  %2 = graph.embedding %table, %ids {test.local = {v = 5 : i64}} : (tensor<10x4xf32>, tensor<8x3xi64>) -> tensor<8x3x4xf32>
  // CHECK: space: i0 i1, i0 i1 d -> v d : whole v
  // CHECK-NEXT: local: %2 = graph.embedding_grad %0, %1 : (tensor<2x3xi64>, tensor<2x3x4xf32>) -> tensor<10x4xf32>
  %3 = graph.embedding_grad %ids, %rows {test.local = {i0 = 2 : i64}} : (tensor<8x3xi64>, tensor<8x3x4xf32>) -> tensor<10x4xf32>
  // CHECK: cannot be cut: its dim 'v' must stay whole
  %4 = graph.embedding_grad %ids, %rows {test.local = {v = 2 : i64}} : (tensor<8x3xi64>, tensor<8x3x4xf32>) -> tensor<10x4xf32>
  return
}

// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s | echelon-opt | FileCheck %s

// Rows for a table of indices, for one index, and the adjoint.
// CHECK-LABEL: func @embedding
// CHECK: %[[ROWS:.*]] = graph.embedding %{{.*}}, %[[IDS:.*]] : (tensor<10x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
// CHECK: graph.embedding %{{.*}}, %{{.*}} : (tensor<10x4xf32>, tensor<i32>) -> tensor<4xf32>
// CHECK: graph.embedding_grad %[[IDS]], %[[ROWS]] : (tensor<2x3xi64>, tensor<2x3x4xf32>) -> tensor<10x4xf32>
func.func @embedding(%table: tensor<10x4xf32>, %ids: tensor<2x3xi64>, %one: tensor<i32>) {
  %0 = graph.embedding %table, %ids : (tensor<10x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  %1 = graph.embedding %table, %one : (tensor<10x4xf32>, tensor<i32>) -> tensor<4xf32>
  %2 = graph.embedding_grad %ids, %0 : (tensor<2x3xi64>, tensor<2x3x4xf32>) -> tensor<10x4xf32>
  return
}

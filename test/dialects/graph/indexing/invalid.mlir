// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --split-input-file --verify-diagnostics

// A table has rows and columns.
func.func @table_rank(%table: tensor<10xf32>, %ids: tensor<3xi64>) {
  // expected-error @+1 {{'graph.embedding' op operand and result shapes do not fit its iteration space}}
  %0 = graph.embedding %table, %ids : (tensor<10xf32>, tensor<3xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @index_type(%table: tensor<10x4xf32>, %ids: tensor<3xf32>) {
  // expected-error @+1 {{'graph.embedding' op operand #1 must be statically shaped tensor of 64-bit signless integer or 32-bit signless integer values}}
  %0 = graph.embedding %table, %ids : (tensor<10x4xf32>, tensor<3xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @columns(%ids: tensor<3xi64>, %rows: tensor<3x5xf32>) {
  // expected-error @+1 {{'graph.embedding_grad' op operand and result shapes do not fit its iteration space}}
  %0 = graph.embedding_grad %ids, %rows : (tensor<3xi64>, tensor<3x5xf32>) -> tensor<10x4xf32>
  return
}

// -----

func.func @type(%table: tensor<10x4xf32>, %ids: tensor<3xi64>) {
  // expected-error @+1 {{failed to verify that all of {table, result} have same element type}}
  %0 = graph.embedding %table, %ids : (tensor<10x4xf32>, tensor<3xi64>) -> tensor<3x4xf64>
  return
}

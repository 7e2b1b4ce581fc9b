// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --lower-graph-to-exec --split-input-file --verify-diagnostics

// An elementwise op outside a group has no kernel.
func.func @evaluate(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.unary' has neither a kernel nor a place in a fused group}}
  %0 = graph.unary exp %x : tensor<4xf32>
  return
}

// -----

func.func @evaluate(%a: tensor<2x3xf64>, %b: tensor<3x4xf64>) {
  // expected-error @+1 {{no kernel takes 'graph.einsum' with these types}}
  %0 = graph.einsum "m k, k n -> m n" %a, %b : (tensor<2x3xf64>, tensor<3x4xf64>) -> tensor<2x4xf64>
  return
}

// -----

func.func @evaluate(%table: tensor<4x3xf32>, %ids: tensor<2xi32>) {
  // expected-error @+1 {{no kernel takes 'graph.embedding' with these types}}
  %0 = graph.embedding %table, %ids : (tensor<4x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  return
}

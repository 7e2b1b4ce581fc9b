// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --split-input-file --verify-diagnostics

func.func @unsorted(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'graph.reduce' op dims must be sorted, distinct and below the rank 2}}
  %0 = graph.reduce sum %x over [1, 0] : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @twice(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'graph.reduce' op dims must be sorted, distinct and below the rank 2}}
  %0 = graph.reduce sum %x over [1, 1] : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @outside(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'graph.reduce' op dims must be sorted, distinct and below the rank 2}}
  %0 = graph.reduce sum %x over [2] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// A reduced dim is dropped, not kept with one element.
func.func @kept(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'graph.reduce' op operand and result shapes do not fit its iteration space}}
  %0 = graph.reduce sum %x over [1] : (tensor<2x3xf32>) -> tensor<2x1xf32>
  return
}

// -----

func.func @type(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{failed to verify that all of {input, result} have same element type}}
  %0 = graph.reduce sum %x over [1] : (tensor<2x3xf32>) -> tensor<2xf64>
  return
}

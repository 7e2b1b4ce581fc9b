// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --split-input-file --verify-diagnostics

func.func @reshape_count(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{cannot make 'tensor<7xf32>' of 'tensor<2x3xf32>': element counts or types differ}}
  %0 = graph.reshape %x : (tensor<2x3xf32>) -> tensor<7xf32>
  return
}

// -----

func.func @reshape_type(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{cannot make 'tensor<6xf64>' of 'tensor<2x3xf32>': element counts or types differ}}
  %0 = graph.reshape %x : (tensor<2x3xf32>) -> tensor<6xf64>
  return
}

// -----

func.func @permutation_short(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{permutation has 1 dims, input has 2}}
  %0 = graph.transpose %x {permutation = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @permutation_repeats(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{permutation is not one of 0 .. 1}}
  %0 = graph.transpose %x {permutation = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @transpose_shape(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'graph.transpose' op operand and result shapes do not fit its iteration space}}
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @transpose_type(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'graph.transpose' op failed to verify that all of {input, result} have same element type}}
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xi64>
  return
}

// -----

func.func @broadcast_dims(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{dims has 1 entries, input has rank 2}}
  %0 = graph.broadcast %x {dims = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @broadcast_order(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{dims must be increasing and below the result's rank 3}}
  %0 = graph.broadcast %x {dims = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2x4xf32>
  return
}

// -----

// A dim of one element is dropped before it is repeated.
func.func @broadcast_one(%x: tensor<2x1xf32>) {
  // expected-error @+1 {{'graph.broadcast' op operand and result shapes do not fit its iteration space}}
  %0 = graph.broadcast %x {dims = array<i64: 0, 1>} : (tensor<2x1xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_rank(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{offsets, strides and both shapes must have one entry a dim}}
  %0 = graph.slice %x {offsets = array<i64: 0>, strides = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_outside(%x: tensor<2x6xf32>) {
  // expected-error @+1 {{dim 1: elements 2 to 6 are outside 0 .. 5}}
  %0 = graph.slice %x {offsets = array<i64: 0, 2>, strides = array<i64: 1, 2>} : (tensor<2x6xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_backwards_outside(%x: tensor<6xf32>) {
  // expected-error @+1 {{dim 0: elements 1 to -1 are outside 0 .. 5}}
  %0 = graph.slice %x {offsets = array<i64: 1>, strides = array<i64: -1>} : (tensor<6xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @slice_type(%x: tensor<6xf32>) {
  // expected-error @+1 {{'graph.slice' op failed to verify that all of {input, result} have same element type}}
  %0 = graph.slice %x {offsets = array<i64: 0>, strides = array<i64: 1>} : (tensor<6xf32>) -> tensor<3xi64>
  return
}

// -----

func.func @pad_outside(%x: tensor<3xf32>) {
  // expected-error @+1 {{dim 0: elements 3 to 5 are outside 0 .. 4}}
  %0 = graph.pad %x {offsets = array<i64: 3>, strides = array<i64: 1>} : (tensor<3xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @concat_dim(%x: tensor<3xf32>) {
  // expected-error @+1 {{needs inputs and a dim below the rank 1}}
  %0 = graph.concat %x, %x {dim = 1 : i64} : (tensor<3xf32>, tensor<3xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @concat_nothing() {
  // expected-error @+1 {{needs inputs and a dim below the rank 1}}
  %0 = graph.concat {dim = 0 : i64} : () -> tensor<6xf32>
  return
}

// -----

func.func @concat_types(%x: tensor<3xf32>, %y: tensor<3xf64>) {
  // expected-error @+1 {{inputs and result must have one rank and element type}}
  %0 = graph.concat %x, %y {dim = 0 : i64} : (tensor<3xf32>, tensor<3xf64>) -> tensor<6xf32>
  return
}

// -----

func.func @concat_total(%x: tensor<3xf32>) {
  // expected-error @+1 {{inputs have 6 elements along dim 0, the result has 5}}
  %0 = graph.concat %x, %x {dim = 0 : i64} : (tensor<3xf32>, tensor<3xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @concat_other_dims(%x: tensor<3x2xf32>, %y: tensor<3x4xf32>) {
  // expected-error @+1 {{'graph.concat' op operand and result shapes do not fit its iteration space}}
  %0 = graph.concat %x, %y {dim = 0 : i64} : (tensor<3x2xf32>, tensor<3x4xf32>) -> tensor<6x2xf32>
  return
}

// -----

func.func @broadcast_type(%x: tensor<3xf32>) {
  // expected-error @+1 {{'graph.broadcast' op failed to verify that all of {input, result} have same element type}}
  %0 = graph.broadcast %x {dims = array<i64: 1>} : (tensor<3xf32>) -> tensor<2x3xf64>
  return
}

// -----

func.func @pad_type(%x: tensor<3xf32>) {
  // expected-error @+1 {{'graph.pad' op failed to verify that all of {input, result} have same element type}}
  %0 = graph.pad %x {offsets = array<i64: 0>, strides = array<i64: 1>} : (tensor<3xf32>) -> tensor<5xf64>
  return
}

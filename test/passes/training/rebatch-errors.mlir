// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --rebatch=micro=4 --split-input-file --verify-diagnostics

// Without the attribute nobody knows which dim is the batch.
// expected-error @+1 {{needs @forward and the attribute graph.batch}}
module {
  func.func @forward(%x: tensor<8x6xf32>) { return }
}

// -----

module attributes {graph.batch = 8 : i64} {
  // expected-error @+1 {{input 'x' is 'tensor<6x8xf32>'; its dim 0 should be the batch of 8 rows}}
  func.func @forward(%x: tensor<6x8xf32> {graph.name = "x"}) { return }
}

// -----

module attributes {graph.batch = 8 : i64} {
  // expected-error @+1 {{input 'step' is 'tensor<f32>'; its dim 0 should be the batch of 8 rows}}
  func.func @forward(%x: tensor<f32> {graph.name = "step"}) { return }
}

// -----

// 8 x 6 as 4 x 12: no dim of the result is the batch.
module attributes {graph.batch = 8 : i64} {
  func.func @forward(%x: tensor<8x6xf32> {graph.name = "x"}) -> tensor<4x12xf32> {
    // expected-error @+1 {{bakes the batch of 8 rows into dim 0 of operand 0; export with a dynamic batch, or use batch.micro 8}}
    %0 = graph.reshape %x : (tensor<8x6xf32>) -> tensor<4x12xf32>
    return %0 : tensor<4x12xf32>
  }
}

// -----

// A softmax over the batch needs all of its rows.
module attributes {graph.batch = 8 : i64} {
  func.func @forward(%x: tensor<8xf32> {graph.name = "x"}) -> tensor<8xf32> {
    // expected-error @+1 {{cannot change the batch: dim 'd' must stay whole}}
    %0 = graph.softmax %x : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// A parameter of the batch's size.
module attributes {graph.batch = 8 : i64} {
  graph.variable parameter @w : tensor<8x6xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
  func.func @forward(%x: tensor<8x6xf32> {graph.name = "x"}) -> tensor<8x6xf32> {
    %w = graph.read @w : tensor<8x6xf32>
    // expected-error @+1 {{operand 1 keeps the batch of 8 rows where another operand has 4; export with a dynamic batch, or use batch.micro 8}}
    %0 = graph.binary add %x, %w : tensor<8x6xf32>
    return %0 : tensor<8x6xf32>
  }
}

// -----

// The same through a view.
module attributes {graph.batch = 8 : i64} {
  graph.variable parameter @w : tensor<6x8xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
  func.func @forward(%x: tensor<8x6xf32> {graph.name = "x"}) -> tensor<8x6xf32> {
    %w = graph.read @w : tensor<6x8xf32>
    %t = graph.transpose %w {permutation = array<i64: 1, 0>} : (tensor<6x8xf32>) -> tensor<8x6xf32>
    // expected-error @+1 {{operand 1 keeps the batch of 8 rows where another operand has 4}}
    %0 = graph.binary add %x, %t : tensor<8x6xf32>
    return %0 : tensor<8x6xf32>
  }
}

// -----

// A constant that tells the rows apart.
module attributes {graph.batch = 8 : i64} {
  func.func @forward(%x: tensor<8xf32> {graph.name = "x"}) -> tensor<8xf32> {
    // expected-error @+1 {{cannot be cut from 8 to 4 rows: its values differ along the dim that is cut}}
    %rows = graph.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<8xf32> : tensor<8xf32>
    %0 = graph.binary add %x, %rows : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// A table of rows taken from a longer one: the slice fixes their number.
module attributes {graph.batch = 8 : i64} {
  func.func @forward(%x: tensor<8xf32> {graph.name = "x"}) -> tensor<8xf32> {
    %table = graph.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<9xf32> : tensor<9xf32>
    // expected-error @+1 {{cannot be cut from 8 to 4 rows: its dim 'o0' must stay whole}}
    %rows = graph.slice %table {offsets = array<i64: 0>, strides = array<i64: 1>} : (tensor<9xf32>) -> tensor<8xf32>
    %0 = graph.binary add %x, %rows : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

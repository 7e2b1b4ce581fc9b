// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --split-input-file --verify-diagnostics

exec.entry @negative {
  // expected-error @+1 {{'exec.alloc' op has a negative size}}
  %0 = exec.alloc -1
}

// -----

exec.entry @misaligned {
  // expected-error @+1 {{'exec.alloc' op offset 100 is not a multiple of 64}}
  %0 = exec.alloc 64 at 100
}

// -----

exec.entry @offsets {
  %0 = exec.alloc 64
  // expected-error @+1 {{'exec.launch' op offsets and writes need one entry for each of the 1 buffers}}
  exec.launch @kernel(%0) args [0] offsets [] writes [true] descriptor []
}

// -----

exec.entry @writes {
  %0 = exec.alloc 64
  // expected-error @+1 {{'exec.launch' op offsets and writes need one entry for each of the 1 buffers}}
  exec.launch @kernel(%0) args [0] offsets [0] writes [true, false] descriptor []
}

// -----

exec.entry @argument {
  %0 = exec.alloc 64
  // expected-error @+1 {{'exec.launch' op argument 1 is no buffer}}
  exec.launch @kernel(%0) args [0, 1] offsets [0] writes [true] descriptor []
}

// -----

exec.entry @descriptor {
  %0 = exec.alloc 64
  // expected-error @+1 {{'exec.launch' op descriptor field "four" is neither an i64 nor an f64}}
  exec.launch @kernel(%0) args [0] offsets [0] writes [true] descriptor ["four"]
}

// -----

// A narrower field would shift all that follow.
exec.entry @narrow {
  %0 = exec.alloc 64
  // expected-error @+1 {{'exec.launch' op descriptor field 4 : i32 is neither an i64 nor an f64}}
  exec.launch @kernel(%0) args [0] offsets [0] writes [true] descriptor [4 : i32]
}

// -----

// expected-error @+1 {{'exec.kernel' op must end with exec.yield}}
exec.kernel @no_yield operands [array<i64: 1>] results [] accumulate [] {
^bb0(%x: tensor<4xf32>):
  %0 = graph.unary exp %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{'exec.kernel' op needs strides for each of its 1 operands}}
exec.kernel @operand_strides operands [] results [array<i64: 1>] accumulate [false] {
^bb0(%x: tensor<4xf32>):
  exec.yield %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{'exec.kernel' op needs strides and an accumulate flag for each of its 1 results}}
exec.kernel @result_strides operands [array<i64: 1>] results [] accumulate [false] {
^bb0(%x: tensor<4xf32>):
  exec.yield %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{'exec.kernel' op needs strides and an accumulate flag for each of its 1 results}}
exec.kernel @flags operands [array<i64: 1>] results [array<i64: 1>] accumulate [] {
^bb0(%x: tensor<4xf32>):
  exec.yield %x : tensor<4xf32>
}

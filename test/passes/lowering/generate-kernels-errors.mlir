// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --generate-kernels --split-input-file --verify-diagnostics

// expected-error @below {{holds a mean; fuse-elementwise makes it a sum and a factor}}
exec.kernel @mean operands [array<i64: 8, 1>] results [array<i64: 1>] accumulate [false] {
^bb0(%x: tensor<4x8xf32>):
  %y = graph.fused(%x) over [4, 8] rows 1 : (tensor<4x8xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %s = graph.reduce mean %a over [1] : (tensor<4x8xf32>) -> tensor<4xf32>
    graph.yield %s : tensor<4xf32>
  }
  exec.yield %y : tensor<4xf32>
}

// -----

// expected-error @below {{needs 2 strides (array<i64>) for a tensor of type 'tensor<4x8xf32>', has array<i64: 1>}}
exec.kernel @strides operands [array<i64: 1>] results [array<i64: 8, 1>] accumulate [false] {
^bb0(%x: tensor<4x8xf32>):
  %y = graph.fused(%x) over [4, 8] rows 1 : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    graph.yield %a : tensor<4x8xf32>
  }
  exec.yield %y : tensor<4x8xf32>
}

// -----

// expected-error @below {{no kernel can be generated for}}
exec.kernel @wide operands [array<i64: 1>] results [array<i64: 1>] accumulate [false] {
^bb0(%x: tensor<4xf64>):
  %y = graph.fused(%x) over [4] rows 0 : (tensor<4xf64>) -> tensor<4xf64> {
  ^bb0(%a: tensor<4xf64>):
    %e = graph.unary exp %a : tensor<4xf64>
    graph.yield %e : tensor<4xf64>
  }
  exec.yield %y : tensor<4xf64>
}

// -----

// expected-error @below {{uses a reduction over rows inside the group}}
exec.kernel @inside operands [array<i64: 8, 1>] results [array<i64: 1>] accumulate [false] {
^bb0(%x: tensor<4x8xf32>):
  %y = graph.fused(%x) over [4, 8] rows 1 : (tensor<4x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %s = graph.reduce sum %a over [0] : (tensor<4x8xf32>) -> tensor<8xf32>
    %e = graph.unary exp %s : tensor<8xf32>
    graph.yield %e : tensor<8xf32>
  }
  exec.yield %y : tensor<8xf32>
}

// -----

// expected-error @below {{cannot accumulate a maximum}}
exec.kernel @maximum operands [array<i64: 8, 1>] results [array<i64: 1>] accumulate [true] {
^bb0(%x: tensor<4x8xf32>):
  %y = graph.fused(%x) over [4, 8] rows 1 : (tensor<4x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %s = graph.reduce max %a over [0] : (tensor<4x8xf32>) -> tensor<8xf32>
    graph.yield %s : tensor<8xf32>
  }
  exec.yield %y : tensor<8xf32>
}

// -----

// expected-error @below {{reduces over dims that are neither the row, nor row dims, nor all}}
exec.kernel @part operands [array<i64: 8, 2, 1>] results [array<i64: 2, 1>] accumulate [false] {
^bb0(%x: tensor<3x4x2xf32>):
  %y = graph.fused(%x) over [3, 4, 2] rows 1 : (tensor<3x4x2xf32>) -> tensor<3x2xf32> {
  ^bb0(%a: tensor<3x4x2xf32>):
    %s = graph.reduce sum %a over [1] : (tensor<3x4x2xf32>) -> tensor<3x2xf32>
    graph.yield %s : tensor<3x2xf32>
  }
  exec.yield %y : tensor<3x2xf32>
}

// -----

// expected-error @below {{that lies nowhere in the group's domain}}
exec.kernel @nowhere operands [array<i64: 8, 1>, array<i64: 1>] results [array<i64: 8, 1>, array<i64: 1>]
    accumulate [false, false] {
^bb0(%x: tensor<4x8xf32>, %z: tensor<7xf32>):
  %y:2 = graph.fused(%x, %z) over [4, 8] rows 1 : (tensor<4x8xf32>, tensor<7xf32>) -> (tensor<4x8xf32>, tensor<7xf32>) {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<7xf32>):
    %e = graph.unary neg %b : tensor<7xf32>
    graph.yield %a, %e : tensor<4x8xf32>, tensor<7xf32>
  }
  exec.yield %y#0, %y#1 : tensor<4x8xf32>, tensor<7xf32>
}

// -----

// expected-error @below {{must hold one graph.fused of its arguments and yield its results}}
exec.kernel @empty operands [array<i64: 1>] results [array<i64: 1>] accumulate [false] {
^bb0(%x: tensor<4xf32>):
  exec.yield %x : tensor<4xf32>
}

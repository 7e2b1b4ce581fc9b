// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s | echelon-opt | FileCheck %s

// Every kind of buffer, and a launch with a null argument, offsets and a descriptor of both field types.
// CHECK: exec.entry @microbatch {
// CHECK-NEXT: %[[TEMPORARY:.*]] = exec.alloc 256
// CHECK-NEXT: %[[PLACED:.*]] = exec.alloc 64 at 128
// CHECK-NEXT: %[[WEIGHT:.*]] = exec.variable @w
// CHECK-NEXT: %[[INPUT:.*]] = exec.input 0
// CHECK-NEXT: %[[CONSTANT:.*]] = exec.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-NEXT: exec.launch @ech_kernel(%[[INPUT]], %[[WEIGHT]], %[[TEMPORARY]]) args [0, -1, 1, 2] offsets [0, 16, 0] writes [false, false, true] descriptor [4, 1.000000e-05]
// CHECK-NEXT: exec.launch @fused_0(%[[CONSTANT]], %[[PLACED]]) args [0, 1] offsets [0, 0] writes [false, true] descriptor [] {check_counts = array<i64: 0, 4>}
exec.entry @microbatch {
  %0 = exec.alloc 256
  %1 = exec.alloc 64 at 128
  %2 = exec.variable @w
  %3 = exec.input 0
  %4 = exec.constant dense<1.0> : tensor<4xf32>
  exec.launch @ech_kernel(%3, %2, %0) args [0, -1, 1, 2] offsets [0, 16, 0] writes [false, false, true] descriptor [4, 1.0e-5 : f64]
  exec.launch @fused_0(%4, %1) args [0, 1] offsets [0, 0] writes [false, true] descriptor [] {check_counts = array<i64: 0, 4>}
}

// A generated kernel: one group, the strides of each tensor, which results are added.
// CHECK: exec.kernel @fused_0 operands [array<i64: 1>] results [array<i64: 2>] accumulate [true] {
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<4xf32>):
// CHECK-NEXT: %[[GROUP:.*]] = graph.fused(%[[X]])
// CHECK: exec.yield %[[GROUP]] : tensor<4xf32>
exec.kernel @fused_0 operands [array<i64: 1>] results [array<i64: 2>] accumulate [true] {
^bb0(%x: tensor<4xf32>):
  %0 = graph.fused(%x) over [4] rows 0 : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %e = graph.unary exp %a : tensor<4xf32>
    graph.yield %e : tensor<4xf32>
  }
  exec.yield %0 : tensor<4xf32>
}

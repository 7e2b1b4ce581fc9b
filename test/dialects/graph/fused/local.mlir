// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-test-local %s | FileCheck %s

// Groups are formed after distribution: nothing of them is cut.
// CHECK: space: i0_0 i0_1 -> o0_0 o0_1 : whole i0_0 i0_1 o0_0 o0_1
// CHECK-NEXT: cannot be cut: fused groups are formed after distribution
func.func @fused(%x: tensor<2x8xf32>) {
  %0 = graph.fused(%x) over [2, 8] rows 1 {test.local = {}} : (tensor<2x8xf32>) -> tensor<2x8xf32> {
  ^bb0(%a: tensor<2x8xf32>):
    %e = graph.unary exp %a : tensor<2x8xf32>
    graph.yield %e : tensor<2x8xf32>
  }
  return
}

// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-test-local %s | FileCheck %s

// Rows can be shared out, a row cannot be cut.
func.func @norms(%x: tensor<8x3x16xf32>, %scale: tensor<16xf32>, %bias: tensor<16xf32>) {
  // CHECK: space: i0 i1 d -> i0 i1 d : whole d
  // CHECK-NEXT: local: %1 = graph.softmax %0 : (tensor<2x3x16xf32>) -> tensor<2x3x16xf32>
  %0 = graph.softmax %x {test.local = {i0 = 2 : i64}} : (tensor<8x3x16xf32>) -> tensor<8x3x16xf32>
  // CHECK: cannot be cut: its dim 'd' must stay whole
  %1 = graph.softmax %x {test.local = {d = 8 : i64}} : (tensor<8x3x16xf32>) -> tensor<8x3x16xf32>
  // CHECK: space: i0 i1 d, d, d -> i0 i1 d : whole d
  // CHECK-NEXT: local: %3 = graph.layer_norm %0, %1, %2 {epsilon = 1.000000e-05 : f64} : (tensor<2x3x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x3x16xf32>
  %2 = graph.layer_norm %x, %scale, %bias {epsilon = 1.0e-5 : f64, test.local = {i0 = 2 : i64}} : (tensor<8x3x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<8x3x16xf32>
  // CHECK: space: i0 i1 d, d -> i0 i1 d : whole d
  // CHECK-NEXT: local: %2 = graph.rms_norm %0, %1 {epsilon = 1.000000e-05 : f64} : (tensor<8x1x16xf32>, tensor<16xf32>) -> tensor<8x1x16xf32>
  %3 = graph.rms_norm %x, %scale {epsilon = 1.0e-5 : f64, test.local = {i1 = 1 : i64}} : (tensor<8x3x16xf32>, tensor<16xf32>) -> tensor<8x3x16xf32>
  // CHECK: cannot be cut: its dim 'd' must stay whole
  %4 = graph.rms_norm %x, %scale {epsilon = 1.0e-5 : f64, test.local = {d = 4 : i64}} : (tensor<8x3x16xf32>, tensor<16xf32>) -> tensor<8x3x16xf32>
  return
}

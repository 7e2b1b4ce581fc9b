// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s | echelon-opt | FileCheck %s

// CHECK-LABEL: func @norms
// CHECK: graph.softmax %{{.*}} : (tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
// CHECK: graph.layer_norm %{{.*}}, %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
// CHECK: graph.rms_norm %{{.*}}, %{{.*}} {epsilon = 9.9999999999999995E-7 : f64} : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
func.func @norms(%x: tensor<2x3x8xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>) {
  %0 = graph.softmax %x : (tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %1 = graph.layer_norm %x, %scale, %bias {epsilon = 1.0e-5 : f64} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  %2 = graph.rms_norm %x, %scale {epsilon = 1.0e-6 : f64} : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  return
}

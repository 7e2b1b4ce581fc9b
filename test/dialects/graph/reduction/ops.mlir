// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s | echelon-opt | FileCheck %s

// One dim, two dims that are not neighbours, all dims.
// CHECK-LABEL: func @reduce
// CHECK: graph.reduce sum %{{.*}} over [1] : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
// CHECK: graph.reduce mean %{{.*}} over [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
// CHECK: graph.reduce max %{{.*}} over [0, 1, 2] : (tensor<2x3x4xf32>) -> tensor<f32>
func.func @reduce(%x: tensor<2x3x4xf32>) {
  %0 = graph.reduce sum %x over [1] : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
  %1 = graph.reduce mean %x over [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
  %2 = graph.reduce max %x over [0, 1, 2] : (tensor<2x3x4xf32>) -> tensor<f32>
  return
}

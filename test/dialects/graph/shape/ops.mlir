// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s | echelon-opt | FileCheck %s

// CHECK-LABEL: func @shape
// CHECK: graph.reshape %{{.*}} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
// CHECK: graph.transpose %{{.*}} {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
// CHECK: graph.broadcast %{{.*}} {dims = array<i64: 0, 2>} : (tensor<2x3xi1>) -> tensor<2x5x3xi1>
// CHECK: graph.broadcast %{{.*}} {dims = array<i64>} : (tensor<f32>) -> tensor<7xf32>
// CHECK: graph.slice %{{.*}} {offsets = array<i64: 0, 2, 3>, strides = array<i64: 1, -1, 1>} : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
// CHECK: graph.concat %{{.*}}, %{{.*}} {dim = 1 : i64} : (tensor<2x3xi64>, tensor<2x1xi64>) -> tensor<2x4xi64>
// CHECK: graph.pad %{{.*}} {offsets = array<i64: 1, 0>, strides = array<i64: 2, 1>} : (tensor<2x3xf32>) -> tensor<5x3xf32>
func.func @shape(%x: tensor<2x3x4xf32>, %p: tensor<2x3xi1>, %s: tensor<f32>, %i: tensor<2x3xi64>, %j: tensor<2x1xi64>, %y: tensor<2x3xf32>) {
  %0 = graph.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %1 = graph.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %2 = graph.broadcast %p {dims = array<i64: 0, 2>} : (tensor<2x3xi1>) -> tensor<2x5x3xi1>
  %3 = graph.broadcast %s {dims = array<i64>} : (tensor<f32>) -> tensor<7xf32>
  %4 = graph.slice %x {offsets = array<i64: 0, 2, 3>, strides = array<i64: 1, -1, 1>} : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
  %5 = graph.concat %i, %j {dim = 1 : i64} : (tensor<2x3xi64>, tensor<2x1xi64>) -> tensor<2x4xi64>
  %6 = graph.pad %y {offsets = array<i64: 1, 0>, strides = array<i64: 2, 1>} : (tensor<2x3xf32>) -> tensor<5x3xf32>
  return
}

// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-test-local %s | FileCheck %s

// A reshape factors both shapes into common names: batch and sequence stay two names of the merged dim.
func.func @reshape(%x: tensor<8x6x4xf32>, %y: tensor<48x4xf32>, %z: tensor<6x4xf32>) {
  // CHECK: space: i0 i1 i2 -> (i0 i1) i2
  // CHECK-NEXT: local: %1 = graph.reshape %0 : (tensor<2x6x4xf32>) -> tensor<12x4xf32>
  %merge = graph.reshape %x {test.local = {i0 = 2 : i64}} : (tensor<8x6x4xf32>) -> tensor<48x4xf32>
  // CHECK: space: (i0 i1) i2 -> i0 i1 i2
  // CHECK-NEXT: local: %1 = graph.reshape %0 : (tensor<12x4xf32>) -> tensor<2x6x4xf32>
  %split = graph.reshape %y {test.local = {i0 = 2 : i64}} : (tensor<48x4xf32>) -> tensor<8x6x4xf32>
  // CHECK: space: i0 i1 i2 -> i0 1 (i1 i2)
  // CHECK-NEXT: local: %1 = graph.reshape %0 : (tensor<2x6x4xf32>) -> tensor<2x1x24xf32>
  %unit = graph.reshape %x {test.local = {i0 = 2 : i64}} : (tensor<8x6x4xf32>) -> tensor<8x1x24xf32>
  // 6 x 4 and 4 x 6 have no common factors in order: nothing can be cut.
  // CHECK: space: i0 i1 -> o0 o1 : whole i0 i1 o0 o1
  // CHECK-NEXT: cannot be cut: its dim 'i0' must stay whole
  %none = graph.reshape %z {test.local = {i0 = 3 : i64}} : (tensor<6x4xf32>) -> tensor<4x6xf32>
  return
}

// Moved and new dims keep their names.
func.func @move(%x: tensor<8x6xf32>) {
  // CHECK: space: i0 i1 -> i1 i0
  // CHECK-NEXT: local: %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<2x6xf32>) -> tensor<6x2xf32>
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>, test.local = {i0 = 2 : i64}} : (tensor<8x6xf32>) -> tensor<6x8xf32>
  // CHECK: space: i0 i2 -> i0 i1 i2
  // CHECK-NEXT: local: %1 = graph.broadcast %0 {dims = array<i64: 0, 2>} : (tensor<2x6xf32>) -> tensor<2x3x6xf32>
  %1 = graph.broadcast %x {dims = array<i64: 0, 2>, test.local = {i0 = 2 : i64, i1 = 3 : i64}} : (tensor<8x6xf32>) -> tensor<8x9x6xf32>
  return
}

// A dim taken whole can be cut; the sliced, padded or joined one cannot.
func.func @window(%x: tensor<8x6xf32>, %y: tensor<8x2xf32>) {
  // CHECK: space: i0 i1 -> i0 o1 : whole i1 o1
  // CHECK-NEXT: local: %1 = graph.slice %0 {offsets = array<i64: 0, 1>, strides = array<i64: 1, 2>} : (tensor<2x6xf32>) -> tensor<2x3xf32>
  %0 = graph.slice %x {offsets = array<i64: 0, 1>, strides = array<i64: 1, 2>, test.local = {i0 = 2 : i64}} : (tensor<8x6xf32>) -> tensor<8x3xf32>
  // CHECK: cannot be cut: its dim 'i1' must stay whole
  %1 = graph.slice %x {offsets = array<i64: 0, 1>, strides = array<i64: 1, 2>, test.local = {i1 = 3 : i64}} : (tensor<8x6xf32>) -> tensor<8x3xf32>
  // A reversed dim has its old size, but other elements.
  // CHECK: cannot be cut: its dim 'i0' must stay whole
  %2 = graph.slice %x {offsets = array<i64: 7, 0>, strides = array<i64: -1, 1>, test.local = {i0 = 2 : i64}} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK: space: i0 i1 -> i0 o1 : whole i1 o1
  // CHECK-NEXT: local: %1 = graph.pad %0 {offsets = array<i64: 0, 3>, strides = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<4x9xf32>
  %3 = graph.pad %x {offsets = array<i64: 0, 3>, strides = array<i64: 1, 1>, test.local = {i0 = 4 : i64}} : (tensor<8x6xf32>) -> tensor<8x9xf32>
  // CHECK: cannot be cut: its dim 'o1' must stay whole
  %4 = graph.pad %x {offsets = array<i64: 0, 3>, strides = array<i64: 1, 1>, test.local = {o1 = 3 : i64}} : (tensor<8x6xf32>) -> tensor<8x9xf32>
  // CHECK: space: i0 c0, i0 c1 -> i0 i1 : whole i1 c0 c1
  // CHECK-NEXT: local: %2 = graph.concat %0, %1 {dim = 1 : i64} : (tensor<2x6xf32>, tensor<2x2xf32>) -> tensor<2x8xf32>
  %5 = graph.concat %x, %y {dim = 1 : i64, test.local = {i0 = 2 : i64}} : (tensor<8x6xf32>, tensor<8x2xf32>) -> tensor<8x8xf32>
  // CHECK: cannot be cut: its dim 'c0' must stay whole
  %6 = graph.concat %x, %y {dim = 1 : i64, test.local = {c0 = 3 : i64}} : (tensor<8x6xf32>, tensor<8x2xf32>) -> tensor<8x8xf32>
  return
}

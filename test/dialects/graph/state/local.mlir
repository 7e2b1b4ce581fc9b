// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-test-local %s | FileCheck %s

graph.variable parameter @w : tensor<8x6xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>

// State is cut as its variable is.
func.func @state(%x: tensor<8x6xf32>) {
  // CHECK: space: -> i0 i1
  // CHECK-NEXT: local: %0 = graph.read @w : tensor<2x6xf32>
  %0 = graph.read @w {test.local = {i0 = 2 : i64}} : tensor<8x6xf32>
  // CHECK: space: i0 i1 ->
  // CHECK-NEXT: local: graph.assign %0 to @w : tensor<8x3xf32>
  graph.assign %x to @w {test.local = {i1 = 3 : i64}} : tensor<8x6xf32>
  // CHECK: space: i0 i1 ->
  // CHECK-NEXT: local: graph.accumulate %0 into @w : tensor<2x6xf32>
  graph.accumulate %x into @w {test.local = {i0 = 2 : i64}} : tensor<8x6xf32>
  return
}

// A constant is cut where all its slices along the dim are equal, also where the part is larger than the whole.
func.func @constant() {
  // CHECK: space: -> i0 i1
  // CHECK-NEXT: local: %0 = graph.constant dense<1.000000e+00> : tensor<2x6xf32> : tensor<2x6xf32>
  %0 = graph.constant dense<1.0> : tensor<8x6xf32> {test.local = {i0 = 2 : i64}} : tensor<8x6xf32>
  // CHECK: local: %0 = graph.constant dense<{{\[\[}}1, 2, 3{{\]\]}}> : tensor<1x3xi64> : tensor<1x3xi64>
  %1 = graph.constant dense<[[1, 2, 3], [1, 2, 3]]> : tensor<2x3xi64> {test.local = {i0 = 1 : i64}} : tensor<2x3xi64>
  // CHECK: local: %0 = graph.constant dense<{{\[\[}}1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3{{\]\]}}> : tensor<4x3xi64> : tensor<4x3xi64>
  %2 = graph.constant dense<[[1, 2, 3], [1, 2, 3]]> : tensor<2x3xi64> {test.local = {i0 = 4 : i64}} : tensor<2x3xi64>
  // CHECK: cannot be cut: its values differ along the dim that is cut
  %3 = graph.constant dense<[[1, 2, 3], [1, 2, 3]]> : tensor<2x3xi64> {test.local = {i1 = 1 : i64}} : tensor<2x3xi64>
  // CHECK: cannot be cut: its values differ along the dim that is cut
  %4 = graph.constant dense<[0, 1, 0, 1]> : tensor<4xi64> {test.local = {i0 = 8 : i64}} : tensor<4xi64>
  return
}

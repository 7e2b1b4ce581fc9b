// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s | echelon-opt | FileCheck %s

// CHECK-LABEL: func @unary
// CHECK: graph.unary exp %{{.*}} : tensor<2x3xf32>
// CHECK: graph.unary gelu_tanh %{{.*}} : tensor<2x3xf32>
// CHECK: graph.unary neg %{{.*}} : tensor<4xi64>
// CHECK: graph.unary not %{{.*}} : tensor<i1>
func.func @unary(%x: tensor<2x3xf32>, %i: tensor<4xi64>, %p: tensor<i1>) {
  %0 = graph.unary exp %x : tensor<2x3xf32>
  %1 = graph.unary gelu_tanh %x : tensor<2x3xf32>
  %2 = graph.unary neg %i : tensor<4xi64>
  %3 = graph.unary not %p : tensor<i1>
  return
}

// CHECK-LABEL: func @binary
// CHECK: graph.binary sub %[[A:.*]], %[[B:.*]] : tensor<2x3xbf16>
// CHECK: graph.binary pow %[[B]], %[[A]] : tensor<2x3xbf16>
// CHECK: graph.binary and %{{.*}}, %{{.*}} : tensor<4xi1>
func.func @binary(%a: tensor<2x3xbf16>, %b: tensor<2x3xbf16>, %p: tensor<4xi1>) {
  %0 = graph.binary sub %a, %b : tensor<2x3xbf16>
  %1 = graph.binary pow %b, %a : tensor<2x3xbf16>
  %2 = graph.binary and %p, %p : tensor<4xi1>
  return
}

// CHECK-LABEL: func @choose
// CHECK: %[[LESS:.*]] = graph.compare lt %{{.*}}, %{{.*}} : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
// CHECK: graph.select %[[LESS]], %{{.*}}, %{{.*}} : (tensor<4xi1>, tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
// CHECK: graph.convert %{{.*}} : (tensor<4xf64>) -> tensor<4xi32>
func.func @choose(%a: tensor<4xf64>, %b: tensor<4xf64>) {
  %0 = graph.compare lt %a, %b : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
  %1 = graph.select %0, %a, %b : (tensor<4xi1>, tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %2 = graph.convert %1 : (tensor<4xf64>) -> tensor<4xi32>
  return
}

// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s | echelon-opt | FileCheck %s

// First values by reference and by rule, the classes, owner and role.
// CHECK: graph.variable parameter @w : tensor<2x3xf32> = #graph.file<"model.bin", 128, 24, f32> {role = "embedding", trainable = true}
// CHECK: graph.variable parameter @b : tensor<3xf32> = #graph.init<normal, 0.000000e+00 : f64, 2.000000e-02 : f64>
// CHECK: graph.variable gradient @grad.w : tensor<2x3xf32> = #graph.init<constant, 0.000000e+00 : f64, 0.000000e+00 : f64> {owner = @w}
// CHECK: graph.variable optimizer @w.m : tensor<2x3xf32> = #graph.init<uniform, -1.000000e+00 : f64, 1.000000e+00 : f64> {owner = @w}
// CHECK: graph.variable metric @loss : tensor<f32> = #graph.init
graph.variable parameter @w : tensor<2x3xf32> = #graph.file<"model.bin", 128, 24, f32> {trainable = true, role = "embedding"}
graph.variable parameter @b : tensor<3xf32> = #graph.init<normal, 0.0 : f64, 0.02 : f64>
graph.variable gradient @grad.w : tensor<2x3xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64> {owner = @w}
graph.variable optimizer @w.m : tensor<2x3xf32> = #graph.init<uniform, -1.0 : f64, 1.0 : f64> {owner = @w}
graph.variable metric @loss : tensor<f32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>

// CHECK-LABEL: func @state
// CHECK: %[[W:.*]] = graph.read @w : tensor<2x3xf32>
// CHECK: graph.accumulate %[[W]] into @grad.w : tensor<2x3xf32>
// CHECK: graph.assign %[[W]] to @w.m : tensor<2x3xf32>
// CHECK: graph.constant dense<1.000000e+00> : tensor<3xf32> : tensor<3xf32>
// CHECK: graph.constant dense<[true, false]> : tensor<2xi1> : tensor<2xi1>
func.func @state() {
  %w = graph.read @w : tensor<2x3xf32>
  graph.accumulate %w into @grad.w : tensor<2x3xf32>
  graph.assign %w to @w.m : tensor<2x3xf32>
  %0 = graph.constant dense<1.0> : tensor<3xf32> : tensor<3xf32>
  %1 = graph.constant dense<[true, false]> : tensor<2xi1> : tensor<2xi1>
  return
}

// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --canonicalize | FileCheck %s

graph.variable parameter @w : tensor<2xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>

// Equal constants are one; reads are not, a write may stand between them; a read without use goes.
// CHECK-LABEL: func @state
// CHECK: %[[ONE:.*]] = graph.constant dense<1.000000e+00>
// CHECK: %[[BEFORE:.*]] = graph.read @w
// CHECK: graph.assign %[[ONE]] to @w
// CHECK: %[[AFTER:.*]] = graph.read @w
// CHECK: return %[[BEFORE]], %[[AFTER]], %[[ONE]]
func.func @state() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %before = graph.read @w : tensor<2xf32>
  %one = graph.constant dense<1.0> : tensor<2xf32> : tensor<2xf32>
  graph.assign %one to @w : tensor<2xf32>
  %after = graph.read @w : tensor<2xf32>
  %unused = graph.read @w : tensor<2xf32>
  %again = graph.constant dense<1.0> : tensor<2xf32> : tensor<2xf32>
  return %before, %after, %again : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

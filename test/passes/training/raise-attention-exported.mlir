// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --canonicalize-graph --raise-attention --canonicalize-graph | FileCheck %s

// Keys that an exporter transposes as a 3-D batch, under a scale on the scores and a boolean causal mask: after
// canonicalize-graph the roles of the dims follow from the names.
// CHECK-LABEL: func @keys_by_3d
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK-DAG: %[[QUERIES:.*]] = graph.transpose %[[Q]] {permutation = array<i64: 0, 2, 1, 3>}
// CHECK-DAG: %[[KEYS:.*]] = graph.transpose %[[K]] {permutation = array<i64: 0, 2, 1, 3>}
// CHECK-DAG: %[[VALUES:.*]] = graph.transpose %[[V]] {permutation = array<i64: 0, 2, 1, 3>}
// CHECK: graph.attention %[[QUERIES]], %[[KEYS]], %[[VALUES]] {causal = true, scale = 2.500000e-01 : f64}
// CHECK-NOT: graph.softmax
func.func @keys_by_3d(%q: tensor<2x4x5x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>) -> tensor<2x4x5x8xf32> {
  %k3 = graph.reshape %k : (tensor<2x4x5x8xf32>) -> tensor<8x5x8xf32>
  %kt3 = graph.transpose %k3 {permutation = array<i64: 0, 2, 1>} : (tensor<8x5x8xf32>) -> tensor<8x8x5xf32>
  %kt = graph.reshape %kt3 : (tensor<8x8x5xf32>) -> tensor<2x4x8x5xf32>
  %s = graph.einsum "b h q d, b h d k -> b h q k" %q, %kt : (tensor<2x4x5x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x5x5xf32>
  %c_t = graph.constant dense<0.25> : tensor<2x4x5x5xf32> : tensor<2x4x5x5xf32>
  %t = graph.binary mul %s, %c_t : tensor<2x4x5x5xf32>
  %m2 = graph.constant dense<[[true, false, false, false, false], [true, true, false, false, false], [true, true, true, false, false], [true, true, true, true, false], [true, true, true, true, true]]> : tensor<5x5xi1> : tensor<5x5xi1>
  %m = graph.broadcast %m2 {dims = array<i64: 2, 3>} : (tensor<5x5xi1>) -> tensor<2x4x5x5xi1>
  %no = graph.constant dense<-3.40282347E+38> : tensor<2x4x5x5xf32> : tensor<2x4x5x5xf32>
  %u = graph.select %m, %t, %no : (tensor<2x4x5x5xi1>, tensor<2x4x5x5xf32>, tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %p = graph.softmax %u : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b h k d -> b h q d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x5x8xf32>
  return %o : tensor<2x4x5x8xf32>
}

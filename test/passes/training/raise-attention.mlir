// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --raise-attention --split-input-file | FileCheck %s

// The masks that are spelled out here are 5 queries by 5 keys; query i is a row.

// -----

// Scores, softmax, values and nothing else.
// CHECK-LABEL: func @plain
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK: %[[OUT:.*]], %{{.*}} = graph.attention %[[Q]], %[[K]], %[[V]] {causal = false, scale = 1.000000e+00 : f64}
// CHECK-NEXT: return %[[OUT]]
func.func @plain(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32> {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %p = graph.softmax %s : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// A scale on the scores as a product.
// CHECK-LABEL: func @scale_of_scores
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK: %[[OUT:.*]], %{{.*}} = graph.attention %[[Q]], %[[K]], %[[V]] {causal = false, scale = 2.500000e-01 : f64}
// CHECK-NEXT: return %[[OUT]]
func.func @scale_of_scores(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32> {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %c_t = graph.constant dense<0.25> : tensor<2x4x5x5xf32> : tensor<2x4x5x5xf32>
  %t = graph.binary mul %s, %c_t : tensor<2x4x5x5xf32>
  %p = graph.softmax %t : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// A scale on the scores as a division.
// CHECK-LABEL: func @scale_by_division
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK: %[[OUT:.*]], %{{.*}} = graph.attention %[[Q]], %[[K]], %[[V]] {causal = false, scale = 2.500000e-01 : f64}
// CHECK-NEXT: return %[[OUT]]
func.func @scale_by_division(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32> {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %c = graph.constant dense<4.0> : tensor<2x4x5x5xf32> : tensor<2x4x5x5xf32>
  %t = graph.binary div %s, %c : tensor<2x4x5x5xf32>
  %p = graph.softmax %t : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// A scale on the query.
// CHECK-LABEL: func @scale_of_query
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK: %[[OUT:.*]], %{{.*}} = graph.attention %[[Q]], %[[K]], %[[V]] {causal = false, scale = 2.500000e-01 : f64}
// CHECK-NEXT: return %[[OUT]]
func.func @scale_of_query(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32> {
  %c_t = graph.constant dense<0.25> : tensor<2x5x4x8xf32> : tensor<2x5x4x8xf32>
  %t = graph.binary mul %q, %c_t : tensor<2x5x4x8xf32>
  %s = graph.einsum "b q h d, b k h d -> b h q k" %t, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %p = graph.softmax %s : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// The root of the scale on query and key each, as PyTorch exports it.
// CHECK-LABEL: func @scale_of_both
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK: %[[OUT:.*]], %{{.*}} = graph.attention %[[Q]], %[[K]], %[[V]] {causal = false, scale = 2.500000e-01 : f64}
// CHECK-NEXT: return %[[OUT]]
func.func @scale_of_both(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32> {
  %c_t = graph.constant dense<0.5> : tensor<2x5x4x8xf32> : tensor<2x5x4x8xf32>
  %t = graph.binary mul %q, %c_t : tensor<2x5x4x8xf32>
  %c_u = graph.constant dense<0.5> : tensor<2x5x4x8xf32> : tensor<2x5x4x8xf32>
  %u = graph.binary mul %k, %c_u : tensor<2x5x4x8xf32>
  %s = graph.einsum "b q h d, b k h d -> b h q k" %t, %u : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %p = graph.softmax %s : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// A scale on the key, above the transpose that moves its heads.
// CHECK-LABEL: func @scale_above_view
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK: graph.attention %[[Q]], %{{.*}}, %[[V]] {causal = false, scale = 5.000000e-01 : f64}
// CHECK-NOT: graph.binary
// CHECK: return
func.func @scale_above_view(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32> {
  %c_t = graph.constant dense<0.5> : tensor<2x5x4x8xf32> : tensor<2x5x4x8xf32>
  %t = graph.binary mul %k, %c_t : tensor<2x5x4x8xf32>
  %u = graph.transpose %t {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x4x8xf32>) -> tensor<2x4x5x8xf32>
  %s = graph.einsum "b q h d, b h k d -> b h q k" %q, %u : (tensor<2x5x4x8xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x5x5xf32>
  %p = graph.softmax %s : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// Causal by a boolean mask of what is seen.
// CHECK-LABEL: func @causal_boolean
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK: %[[OUT:.*]], %{{.*}} = graph.attention %[[Q]], %[[K]], %[[V]] {causal = true, scale = 1.000000e+00 : f64}
// CHECK-NEXT: return %[[OUT]]
func.func @causal_boolean(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32> {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %m2 = graph.constant dense<[[true, false, false, false, false], [true, true, false, false, false], [true, true, true, false, false], [true, true, true, true, false], [true, true, true, true, true]]> : tensor<5x5xi1> : tensor<5x5xi1>
  %m = graph.broadcast %m2 {dims = array<i64: 2, 3>} : (tensor<5x5xi1>) -> tensor<2x4x5x5xi1>
  %no = graph.constant dense<-3.40282347E+38> : tensor<2x4x5x5xf32> : tensor<2x4x5x5xf32>
  %t = graph.select %m, %s, %no : (tensor<2x4x5x5xi1>, tensor<2x4x5x5xf32>, tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %p = graph.softmax %t : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// Causal by a boolean mask of what is hidden, the choice swapped.
// CHECK-LABEL: func @causal_boolean_hidden
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK: %[[OUT:.*]], %{{.*}} = graph.attention %[[Q]], %[[K]], %[[V]] {causal = true, scale = 1.000000e+00 : f64}
// CHECK-NEXT: return %[[OUT]]
func.func @causal_boolean_hidden(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32> {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %m2 = graph.constant dense<[[false, true, true, true, true], [false, false, true, true, true], [false, false, false, true, true], [false, false, false, false, true], [false, false, false, false, false]]> : tensor<5x5xi1> : tensor<5x5xi1>
  %m = graph.broadcast %m2 {dims = array<i64: 2, 3>} : (tensor<5x5xi1>) -> tensor<2x4x5x5xi1>
  %no = graph.constant dense<-1.0e9> : tensor<2x4x5x5xf32> : tensor<2x4x5x5xf32>
  %t = graph.select %m, %no, %s : (tensor<2x4x5x5xi1>, tensor<2x4x5x5xf32>, tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %p = graph.softmax %t : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// Causal by the negation of a mask of what is hidden.
// CHECK-LABEL: func @causal_boolean_not
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK: %[[OUT:.*]], %{{.*}} = graph.attention %[[Q]], %[[K]], %[[V]] {causal = true, scale = 1.000000e+00 : f64}
// CHECK-NEXT: return %[[OUT]]
func.func @causal_boolean_not(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32> {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %h2 = graph.constant dense<[[false, true, true, true, true], [false, false, true, true, true], [false, false, false, true, true], [false, false, false, false, true], [false, false, false, false, false]]> : tensor<5x5xi1> : tensor<5x5xi1>
  %h = graph.broadcast %h2 {dims = array<i64: 2, 3>} : (tensor<5x5xi1>) -> tensor<2x4x5x5xi1>
  %m = graph.unary not %h : tensor<2x4x5x5xi1>
  %no = graph.constant dense<-1.0e9> : tensor<2x4x5x5xf32> : tensor<2x4x5x5xf32>
  %t = graph.select %m, %s, %no : (tensor<2x4x5x5xi1>, tensor<2x4x5x5xf32>, tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %p = graph.softmax %t : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// Causal by a sum with a constant, on the left, after the scale.
// CHECK-LABEL: func @causal_additive
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK: %[[OUT:.*]], %{{.*}} = graph.attention %[[Q]], %[[K]], %[[V]] {causal = true, scale = 2.500000e-01 : f64}
// CHECK-NEXT: return %[[OUT]]
func.func @causal_additive(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32> {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %c_t = graph.constant dense<0.25> : tensor<2x4x5x5xf32> : tensor<2x4x5x5xf32>
  %t = graph.binary mul %s, %c_t : tensor<2x4x5x5xf32>
  %m2 = graph.constant dense<[[0.0, -1.0e4, -1.0e4, -1.0e4, -1.0e4], [0.0, 0.0, -1.0e4, -1.0e4, -1.0e4], [0.0, 0.0, 0.0, -1.0e4, -1.0e4], [0.0, 0.0, 0.0, 0.0, -1.0e4], [0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<5x5xf32> : tensor<5x5xf32>
  %m = graph.broadcast %m2 {dims = array<i64: 2, 3>} : (tensor<5x5xf32>) -> tensor<2x4x5x5xf32>
  %u = graph.binary add %m, %t : tensor<2x4x5x5xf32>
  %p = graph.softmax %u : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// Causal written twice is causal.
// CHECK-LABEL: func @causal_twice
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK: %[[OUT:.*]], %{{.*}} = graph.attention %[[Q]], %[[K]], %[[V]] {causal = true, scale = 1.000000e+00 : f64}
// CHECK-NEXT: return %[[OUT]]
func.func @causal_twice(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32> {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %m2 = graph.constant dense<[[true, false, false, false, false], [true, true, false, false, false], [true, true, true, false, false], [true, true, true, true, false], [true, true, true, true, true]]> : tensor<5x5xi1> : tensor<5x5xi1>
  %m = graph.broadcast %m2 {dims = array<i64: 2, 3>} : (tensor<5x5xi1>) -> tensor<2x4x5x5xi1>
  %no = graph.constant dense<-1.0e9> : tensor<2x4x5x5xf32> : tensor<2x4x5x5xf32>
  %t = graph.select %m, %s, %no : (tensor<2x4x5x5xi1>, tensor<2x4x5x5xf32>, tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %n2 = graph.constant dense<[[0.0, 0xFF800000, 0xFF800000, 0xFF800000, 0xFF800000], [0.0, 0.0, 0xFF800000, 0xFF800000, 0xFF800000], [0.0, 0.0, 0.0, 0xFF800000, 0xFF800000], [0.0, 0.0, 0.0, 0.0, 0xFF800000], [0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<5x5xf32> : tensor<5x5xf32>
  %n = graph.broadcast %n2 {dims = array<i64: 2, 3>} : (tensor<5x5xf32>) -> tensor<2x4x5x5xf32>
  %u = graph.binary add %t, %n : tensor<2x4x5x5xf32>
  %p = graph.softmax %u : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// A mask that hides nothing.
// CHECK-LABEL: func @nothing_hidden
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK: %[[OUT:.*]], %{{.*}} = graph.attention %[[Q]], %[[K]], %[[V]] {causal = false, scale = 1.000000e+00 : f64}
// CHECK-NEXT: return %[[OUT]]
func.func @nothing_hidden(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32> {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %m2 = graph.constant dense<[[0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<5x5xf32> : tensor<5x5xf32>
  %m = graph.broadcast %m2 {dims = array<i64: 2, 3>} : (tensor<5x5xf32>) -> tensor<2x4x5x5xf32>
  %t = graph.binary add %s, %m : tensor<2x4x5x5xf32>
  %p = graph.softmax %t : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// A window of the last two keys.
// CHECK-LABEL: func @window
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK: %[[OUT:.*]], %{{.*}} = graph.attention %[[Q]], %[[K]], %[[V]] {causal = true, scale = 1.000000e+00 : f64, window = 2 : i64}
// CHECK-NEXT: return %[[OUT]]
func.func @window(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32> {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %m2 = graph.constant dense<[[true, false, false, false, false], [true, true, false, false, false], [false, true, true, false, false], [false, false, true, true, false], [false, false, false, true, true]]> : tensor<5x5xi1> : tensor<5x5xi1>
  %m = graph.broadcast %m2 {dims = array<i64: 2, 3>} : (tensor<5x5xi1>) -> tensor<2x4x5x5xi1>
  %no = graph.constant dense<-1.0e9> : tensor<2x4x5x5xf32> : tensor<2x4x5x5xf32>
  %t = graph.select %m, %s, %no : (tensor<2x4x5x5xi1>, tensor<2x4x5x5xf32>, tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %p = graph.softmax %t : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// One row of another width makes it no window: the mask stays dense, with its own infinities.
// CHECK-LABEL: func @uneven_window
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK: %[[DENSE:.*]] = graph.select
// CHECK: graph.attention %[[Q]], %[[K]], %[[V]], %[[DENSE]] {causal = false, scale = 1.000000e+00 : f64}
func.func @uneven_window(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32> {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %m2 = graph.constant dense<[[true, false, false, false, false], [false, true, false, false, false], [false, true, true, false, false], [false, false, true, true, false], [false, false, false, true, true]]> : tensor<5x5xi1> : tensor<5x5xi1>
  %m = graph.broadcast %m2 {dims = array<i64: 2, 3>} : (tensor<5x5xi1>) -> tensor<2x4x5x5xi1>
  %no = graph.constant dense<-1.0e9> : tensor<2x4x5x5xf32> : tensor<2x4x5x5xf32>
  %t = graph.select %m, %s, %no : (tensor<2x4x5x5xi1>, tensor<2x4x5x5xf32>, tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %p = graph.softmax %t : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// A constant whose values are no mask is a bias, kept once for all rows and heads.
// CHECK-LABEL: func @constant_bias
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK: %[[BIAS:.*]] = graph.constant {{.*}} : tensor<1x1x5x5xf32>
// CHECK: graph.attention %[[Q]], %[[K]], %[[V]], %[[BIAS]] {causal = false, scale = 1.000000e+00 : f64}
func.func @constant_bias(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32> {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %m2 = graph.constant dense<[[0.0, -0.5, -0.5, -0.5, -0.5], [0.0, 0.0, -0.5, -0.5, -0.5], [0.0, 0.0, 0.0, -0.5, -0.5], [0.0, 0.0, 0.0, 0.0, -0.5], [0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<5x5xf32> : tensor<5x5xf32>
  %m = graph.broadcast %m2 {dims = array<i64: 2, 3>} : (tensor<5x5xf32>) -> tensor<2x4x5x5xf32>
  %t = graph.binary add %s, %m : tensor<2x4x5x5xf32>
  %p = graph.softmax %t : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// A bias of each head beside a causal mask.
// CHECK-LABEL: func @bias_a_head
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK: %[[BIAS:.*]] = graph.reshape %{{.*}} : (tensor<4x5x5xf32>) -> tensor<1x4x5x5xf32>
// CHECK: graph.attention %[[Q]], %[[K]], %[[V]], %[[BIAS]] {causal = true, scale = 1.000000e+00 : f64}
func.func @bias_a_head(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>, %bias: tensor<4x5x5xf32>) -> tensor<2x5x4x8xf32> {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %w = graph.broadcast %bias {dims = array<i64: 1, 2, 3>} : (tensor<4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %t = graph.binary add %s, %w : tensor<2x4x5x5xf32>
  %m2 = graph.constant dense<[[0.0, -1.0e9, -1.0e9, -1.0e9, -1.0e9], [0.0, 0.0, -1.0e9, -1.0e9, -1.0e9], [0.0, 0.0, 0.0, -1.0e9, -1.0e9], [0.0, 0.0, 0.0, 0.0, -1.0e9], [0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<5x5xf32> : tensor<5x5xf32>
  %m = graph.broadcast %m2 {dims = array<i64: 2, 3>} : (tensor<5x5xf32>) -> tensor<2x4x5x5xf32>
  %u = graph.binary add %t, %m : tensor<2x4x5x5xf32>
  %p = graph.softmax %u : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// A padding mask that is an input stays an operand.
// CHECK-LABEL: func @dense_mask
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK: graph.attention %[[Q]], %[[K]], %[[V]], %{{.*}} {causal = false, scale = 1.000000e+00 : f64}
func.func @dense_mask(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>, %mask: tensor<2x4x5x5xf32>) -> tensor<2x5x4x8xf32> {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %t = graph.binary add %s, %mask : tensor<2x4x5x5xf32>
  %p = graph.softmax %t : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// Heads that a broadcast repeats are shared: 4 query heads over 2 key heads.
// CHECK-LABEL: func @grouped
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK: graph.attention %[[Q]], %[[K]], %[[V]] {causal = false, scale = 1.000000e+00 : f64} : (tensor<2x5x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>)
func.func @grouped(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x2x8xf32>, %v: tensor<2x5x2x8xf32>) -> tensor<2x5x4x8xf32> {
  %k5 = graph.broadcast %k {dims = array<i64: 0, 1, 2, 4>} : (tensor<2x5x2x8xf32>) -> tensor<2x5x2x2x8xf32>
  %k4 = graph.reshape %k5 : (tensor<2x5x2x2x8xf32>) -> tensor<2x5x4x8xf32>
  %v5 = graph.broadcast %v {dims = array<i64: 0, 1, 2, 4>} : (tensor<2x5x2x8xf32>) -> tensor<2x5x2x2x8xf32>
  %v4 = graph.reshape %v5 : (tensor<2x5x2x2x8xf32>) -> tensor<2x5x4x8xf32>
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k4 : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %p = graph.softmax %s : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v4 : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// Heads repeated in the other order (head h reads key head h mod 2) are not grouped-query attention.
// CHECK-LABEL: func @tiled_heads
// CHECK: %[[KEYS:.*]] = graph.reshape
// CHECK: %[[VALUES:.*]] = graph.reshape
// CHECK: graph.attention %{{.*}}, %[[KEYS]], %[[VALUES]] {causal = false, scale = 1.000000e+00 : f64} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>)
func.func @tiled_heads(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x2x8xf32>, %v: tensor<2x5x2x8xf32>) -> tensor<2x5x4x8xf32> {
  %k5 = graph.broadcast %k {dims = array<i64: 0, 1, 3, 4>} : (tensor<2x5x2x8xf32>) -> tensor<2x5x2x2x8xf32>
  %k4 = graph.reshape %k5 : (tensor<2x5x2x2x8xf32>) -> tensor<2x5x4x8xf32>
  %v5 = graph.broadcast %v {dims = array<i64: 0, 1, 3, 4>} : (tensor<2x5x2x8xf32>) -> tensor<2x5x2x2x8xf32>
  %v4 = graph.reshape %v5 : (tensor<2x5x2x2x8xf32>) -> tensor<2x5x4x8xf32>
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k4 : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %p = graph.softmax %s : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v4 : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// Only the keys are repeated: the values have a head each, so nothing is shared.
// CHECK-LABEL: func @only_keys_repeated
// CHECK: graph.attention {{.*}} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>)
func.func @only_keys_repeated(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x2x8xf32>, %v: tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32> {
  %k5 = graph.broadcast %k {dims = array<i64: 0, 1, 2, 4>} : (tensor<2x5x2x8xf32>) -> tensor<2x5x2x2x8xf32>
  %k4 = graph.reshape %k5 : (tensor<2x5x2x2x8xf32>) -> tensor<2x5x4x8xf32>
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k4 : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %p = graph.softmax %s : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// Exported with heads before positions: repeated there, and moved by names only.
// CHECK-LABEL: func @grouped_heads_first
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:)]*]]:
// CHECK-DAG: %[[QUERIES:.*]] = graph.transpose %[[Q]] {permutation = array<i64: 0, 2, 1, 3>}
// CHECK-DAG: %[[KEYS:.*]] = graph.transpose %[[K]] {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x2x5x8xf32>) -> tensor<2x5x2x8xf32>
// CHECK-DAG: %[[VALUES:.*]] = graph.transpose %[[V]] {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x2x5x8xf32>) -> tensor<2x5x2x8xf32>
// CHECK: %[[OUT:.*]], %{{.*}} = graph.attention %[[QUERIES]], %[[KEYS]], %[[VALUES]]
// CHECK: graph.transpose %[[OUT]] {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x4x8xf32>) -> tensor<2x4x5x8xf32>
func.func @grouped_heads_first(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x5x8xf32>, %v: tensor<2x2x5x8xf32>) -> tensor<2x4x5x8xf32> {
  %k5 = graph.broadcast %k {dims = array<i64: 0, 1, 3, 4>} : (tensor<2x2x5x8xf32>) -> tensor<2x2x2x5x8xf32>
  %k4 = graph.reshape %k5 : (tensor<2x2x2x5x8xf32>) -> tensor<2x4x5x8xf32>
  %v5 = graph.broadcast %v {dims = array<i64: 0, 1, 3, 4>} : (tensor<2x2x5x8xf32>) -> tensor<2x2x2x5x8xf32>
  %v4 = graph.reshape %v5 : (tensor<2x2x2x5x8xf32>) -> tensor<2x4x5x8xf32>
  %s = graph.einsum "b h q d, b h k d -> b h q k" %q, %k4 : (tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x5x5xf32>
  %p = graph.softmax %s : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b h k d -> b h q d" %p, %v4 : (tensor<2x4x5x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x5x8xf32>
  return %o : tensor<2x4x5x8xf32>
}

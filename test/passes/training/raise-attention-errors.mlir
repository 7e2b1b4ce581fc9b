// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --raise-attention=explain=true --split-input-file --verify-diagnostics | FileCheck %s

// What is no attention stays as it is; with `explain` the pass says why. It never fails.

// -----

// The probabilities are wanted themselves.
// CHECK-LABEL: func @probabilities_used
// CHECK-NOT: graph.attention
// CHECK: graph.softmax
func.func @probabilities_used(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5x5xf32>) {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  // expected-remark @+1 {{attention not raised: the probabilities are used more than once}}
  %p = graph.softmax %s : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o, %p : tensor<2x5x4x8xf32>, tensor<2x4x5x5xf32>
}

// -----

// A softmax over scores that no values follow.
// CHECK-LABEL: func @no_values
// CHECK-NOT: graph.attention
// CHECK: graph.softmax
func.func @no_values(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>) -> (tensor<2x4x5x5xf32>) {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  // expected-remark @+1 {{attention not raised: no contraction reads the probabilities}}
  %p = graph.softmax %s : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  return %p : tensor<2x4x5x5xf32>
}

// -----

// The scores come from nowhere.
// CHECK-LABEL: func @no_scores
// CHECK-NOT: graph.attention
// CHECK: graph.softmax
func.func @no_scores(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>, %x: tensor<2x4x5x5xf32>) -> (tensor<2x5x4x8xf32>) {
  // expected-remark @+1 {{attention not raised: no scores found}}
  %p = graph.softmax %x : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// A function between scores and softmax (a soft cap) changes them.
// CHECK-LABEL: func @soft_cap
// CHECK-NOT: graph.attention
// CHECK: graph.softmax
func.func @soft_cap(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>) -> (tensor<2x5x4x8xf32>) {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  // expected-remark @+1 {{attention not raised: 'graph.unary' between scores and softmax}}
  %t = graph.unary tanh %s : tensor<2x4x5x5xf32>
  // expected-remark @+1 {{attention not raised: no scores found}}
  %p = graph.softmax %t : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// A mask that is scaled too.
// CHECK-LABEL: func @scaled_mask
// CHECK-NOT: graph.attention
// CHECK: graph.softmax
func.func @scaled_mask(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>, %mask: tensor<2x4x5x5xf32>) -> (tensor<2x5x4x8xf32>) {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  // expected-remark @+1 {{attention not raised: a mask is added before the scores are scaled}}
  %t = graph.binary add %s, %mask : tensor<2x4x5x5xf32>
  %c_u = graph.constant dense<0.25> : tensor<2x4x5x5xf32> : tensor<2x4x5x5xf32>
  %u = graph.binary mul %t, %c_u : tensor<2x4x5x5xf32>
  // expected-remark @+1 {{attention not raised: no scores found}}
  %p = graph.softmax %u : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// A product with a tensor.
// CHECK-LABEL: func @product
// CHECK-NOT: graph.attention
// CHECK: graph.softmax
func.func @product(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>, %mask: tensor<2x4x5x5xf32>) -> (tensor<2x5x4x8xf32>) {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  // expected-remark @+1 {{attention not raised: an elementwise op that is neither scale nor mask}}
  %t = graph.binary mul %s, %mask : tensor<2x4x5x5xf32>
  // expected-remark @+1 {{attention not raised: no scores found}}
  %p = graph.softmax %t : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// A choice between two finite values.
// CHECK-LABEL: func @select
// CHECK-NOT: graph.attention
// CHECK: graph.softmax
func.func @select(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>, %c: tensor<2x4x5x5xi1>) -> (tensor<2x5x4x8xf32>) {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %one = graph.constant dense<1.0> : tensor<2x4x5x5xf32> : tensor<2x4x5x5xf32>
  // expected-remark @+1 {{attention not raised: a select that is no mask}}
  %t = graph.select %c, %s, %one : (tensor<2x4x5x5xi1>, tensor<2x4x5x5xf32>, tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  // expected-remark @+1 {{attention not raised: no scores found}}
  %p = graph.softmax %t : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// Scores without a head dim.
// CHECK-LABEL: func @one_head
// CHECK-NOT: graph.attention
func.func @one_head(%q: tensor<2x5x8xf32>, %k: tensor<2x5x8xf32>) -> tensor<2x5x8xf32> {
  %s = graph.einsum "b q d, b k d -> b q k" %q, %k : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  // expected-remark @+1 {{attention not raised: scores are not [batch, heads, queries, keys]}}
  %p = graph.softmax %s : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %o = graph.einsum "b q k, b k d -> b q d" %p, %k : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  return %o : tensor<2x5x8xf32>
}

// -----

// Keys shared by all batch rows.
// CHECK-LABEL: func @shared_keys
// CHECK-NOT: graph.attention
func.func @shared_keys(%q: tensor<2x5x4x8xf32>, %k: tensor<5x4x8xf32>, %v: tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32> {
  %s = graph.einsum "b q h d, k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<5x4x8xf32>) -> tensor<2x4x5x5xf32>
  // expected-remark @+1 {{attention not raised: the key has not the dims batch, heads, keys, head dim}}
  %p = graph.softmax %s : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// Values shared by all heads: the result is a sum over heads.
// CHECK-LABEL: func @summed_heads
// CHECK-NOT: graph.attention
func.func @summed_heads(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>) -> tensor<2x5x8xf32> {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %p = graph.softmax %s : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  // expected-remark @+1 {{attention not raised: the result has not the dims batch, heads, queries, head dim}}
  %o = graph.einsum "b h q k, b k h d -> b q d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x8xf32>
  return %o : tensor<2x5x8xf32>
}

// -----

// Values without a head dim.
// CHECK-LABEL: func @values_without_heads
// CHECK-NOT: graph.attention
func.func @values_without_heads(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x8xf32>) -> tensor<2x5x4x8xf32> {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %p = graph.softmax %s : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  // expected-remark @+1 {{attention not raised: the value has not the dims batch, heads, keys, head dim}}
  %o = graph.einsum "b h q k, b k d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

// -----

// Keys that stay in the result are not summed.
// CHECK-LABEL: func @no_sum_over_keys
// CHECK-NOT: graph.attention
func.func @no_sum_over_keys(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x4x8xf32>, %v: tensor<2x5x4x8xf32>) -> tensor<2x5x4x5x8xf32> {
  %s = graph.einsum "b q h d, b k h d -> b h q k" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x4x5x5xf32>
  %p = graph.softmax %s : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  // expected-remark @+1 {{attention not raised: the result has not the dims batch, heads, queries, head dim}}
  %o = graph.einsum "b h q k, b k h d -> b q h k d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x5x8xf32>
  return %o : tensor<2x5x4x5x8xf32>
}

// -----

// Scores of two head dims each, as rotary embeddings in two halves would give: no single head dim is summed.
// CHECK-LABEL: func @two_head_dims
// CHECK-NOT: graph.attention
func.func @two_head_dims(%q: tensor<2x5x4x2x4xf32>, %k: tensor<2x5x4x2x4xf32>, %v: tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32> {
  %s = graph.einsum "b q h c d, b k h c d -> b h q k" %q, %k : (tensor<2x5x4x2x4xf32>, tensor<2x5x4x2x4xf32>) -> tensor<2x4x5x5xf32>
  // expected-remark @+1 {{attention not raised: the query has not the dims batch, heads, queries, head dim}}
  %p = graph.softmax %s : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %o = graph.einsum "b h q k, b k h d -> b q h d" %p, %v : (tensor<2x4x5x5xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x8xf32>
  return %o : tensor<2x5x4x8xf32>
}

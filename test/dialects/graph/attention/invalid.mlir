// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --split-input-file --verify-diagnostics

func.func @rank(%q: tensor<2x5x8xf32>, %k: tensor<2x7x2x8xf32>, %v: tensor<2x7x2x16xf32>) {
  // expected-error @+1 {{query, key and value must have rank 4: [batch, position, heads, dim]}}
  %0:2 = graph.attention %q, %k, %v {causal = true, scale = 1.0 : f64} : (tensor<2x5x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>) -> (tensor<2x5x4x16xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @heads(%q: tensor<2x5x3x8xf32>, %k: tensor<2x7x2x8xf32>, %v: tensor<2x7x2x16xf32>) {
  // expected-error @+1 {{query has 3 heads, not a multiple of the 2 key heads}}
  %0:2 = graph.attention %q, %k, %v {causal = true, scale = 1.0 : f64} : (tensor<2x5x3x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>) -> (tensor<2x5x3x16xf32>, tensor<2x3x5xf32>)
  return
}

// -----

func.func @window(%q: tensor<2x5x4x8xf32>, %k: tensor<2x7x2x8xf32>, %v: tensor<2x7x2x16xf32>) {
  // expected-error @+1 {{window -1 is negative}}
  %0:2 = graph.attention %q, %k, %v {causal = true, scale = 1.0 : f64, window = -1 : i64} : (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>) -> (tensor<2x5x4x16xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @mask(%q: tensor<2x5x4x8xf32>, %k: tensor<2x7x2x8xf32>, %v: tensor<2x7x2x16xf32>, %mask: tensor<1x2x5x7xf32>) {
  // expected-error @+1 {{mask must be [batch or 1, heads or 1, queries, keys]}}
  %0:2 = graph.attention %q, %k, %v, %mask {causal = true, scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>, tensor<1x2x5x7xf32>) -> (tensor<2x5x4x16xf32>, tensor<2x4x5xf32>)
  return
}

// -----

// Keys and values are as many.
func.func @positions(%q: tensor<2x5x4x8xf32>, %k: tensor<2x7x2x8xf32>, %v: tensor<2x6x2x16xf32>) {
  // expected-error @+1 {{'graph.attention' op operand and result shapes do not fit its iteration space}}
  %0:2 = graph.attention %q, %k, %v {causal = true, scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x6x2x16xf32>) -> (tensor<2x5x4x16xf32>, tensor<2x4x5xf32>)
  return
}

// -----

// The gradient checks its shapes as the op does.
func.func @gradient_rank(%q: tensor<2x5x8xf32>, %k: tensor<2x7x2x8xf32>, %v: tensor<2x7x2x16xf32>, %out: tensor<2x5x4x16xf32>, %lse: tensor<2x4x5xf32>) {
  // expected-error @+1 {{'graph.attention_grad' op query, key and value must have rank 4: [batch, position, heads, dim]}}
  %0:3 = graph.attention_grad %q, %k, %v, %out, %lse, %out {causal = false, scale = 1.0 : f64} : (tensor<2x5x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>, tensor<2x5x4x16xf32>, tensor<2x4x5xf32>, tensor<2x5x4x16xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>)
  return
}

// -----

func.func @gradient_lse(%q: tensor<2x5x4x8xf32>, %k: tensor<2x7x2x8xf32>, %v: tensor<2x7x2x16xf32>, %out: tensor<2x5x4x16xf32>, %lse: tensor<2x5x4xf32>) {
  // expected-error @+1 {{'graph.attention_grad' op operand and result shapes do not fit its iteration space}}
  %0:3 = graph.attention_grad %q, %k, %v, %out, %lse, %out {causal = false, scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>, tensor<2x5x4x16xf32>, tensor<2x5x4xf32>, tensor<2x5x4x16xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x16xf32>)
  return
}

// -----

func.func @type(%q: tensor<2x5x4x8xf32>, %k: tensor<2x7x2x8xf64>, %v: tensor<2x7x2x16xf32>) {
  // expected-error @+1 {{failed to verify that all of {query, key, value, result} have same element type}}
  %0:2 = graph.attention %q, %k, %v {causal = true, scale = 1.0 : f64} : (tensor<2x5x4x8xf32>, tensor<2x7x2x8xf64>, tensor<2x7x2x16xf32>) -> (tensor<2x5x4x16xf32>, tensor<2x4x5xf32>)
  return
}

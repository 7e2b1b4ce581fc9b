// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --split-input-file --differentiate --verify-diagnostics

// expected-error @+1 {{needs a function @forward that returns the loss as (sum, count)}}
module {
}

// -----

// expected-error @+1 {{needs a function @forward that returns the loss as (sum, count)}}
module {
  func.func @forward(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }
}

// -----

// expected-error @+1 {{the loss does not depend on any trainable parameter}}
func.func @forward(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @frozen : tensor<f32>
  %0 = graph.binary mul %x, %w : tensor<f32>
  return %0, %x : tensor<f32>, tensor<f32>
}
graph.variable parameter @frozen : tensor<f32> = #graph.init<normal, 0.0 : f64, 1.0 : f64>

// -----

// All missing gradients at once, each with the parameter that it would have reached: here an adjoint and a fused group
// in the forward pass.
// expected-note @+2 {{it carries the gradient of parameter 'a'; parameters.frozen would cut it off}}
func.func @forward(%ids: tensor<3xi64>, %one: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %a = graph.read @a : tensor<3x4xf32>
  // expected-note @+1 {{it carries the gradient of parameter 'b'; parameters.frozen would cut it off}}
  %b = graph.read @b : tensor<5x4xf32>
  %e = graph.unary exp %a : tensor<3x4xf32>
  // expected-error @+1 {{no gradient for 'graph.embedding_grad' on the path to the loss}}
  %0 = graph.embedding_grad %ids, %e : (tensor<3xi64>, tensor<3x4xf32>) -> tensor<5x4xf32>
  // expected-error @+1 {{no gradient for 'graph.fused' on the path to the loss}}
  %1 = graph.fused(%b) over [5, 4] rows 1 : (tensor<5x4xf32>) -> tensor<5x4xf32> {
  ^bb0(%x: tensor<5x4xf32>):
    %y = graph.unary exp %x : tensor<5x4xf32>
    graph.yield %y : tensor<5x4xf32>
  }
  %2 = graph.binary add %0, %1 : tensor<5x4xf32>
  %sum = graph.reduce sum %2 over [0, 1] : (tensor<5x4xf32>) -> tensor<f32>
  return %sum, %one : tensor<f32>, tensor<f32>
}
graph.variable parameter @a : tensor<3x4xf32> = #graph.init<normal, 0.0 : f64, 1.0 : f64> {trainable = true}
graph.variable parameter @b : tensor<5x4xf32> = #graph.init<normal, 0.0 : f64, 1.0 : f64> {trainable = true}

// -----

// A bias that trains needs the scores that attention never writes down.
func.func @forward(%q: tensor<1x2x1x4xf32>, %one: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %bias = graph.read @bias : tensor<1x1x2x2xf32>
  // expected-error @+2 {{no gradient for a trained attention bias}}
  // expected-note @+1 {{help: freeze the parameters it comes from (parameters.frozen)}}
  %o, %lse = graph.attention %q, %q, %q, %bias {causal = false, scale = 1.0 : f64} : (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x1x2x2xf32>) -> (tensor<1x2x1x4xf32>, tensor<1x1x2xf32>)
  %sum = graph.reduce sum %o over [0, 1, 2, 3] : (tensor<1x2x1x4xf32>) -> tensor<f32>
  return %sum, %one : tensor<f32>, tensor<f32>
}
graph.variable parameter @bias : tensor<1x1x2x2xf32> = #graph.init<normal, 0.0 : f64, 1.0 : f64> {trainable = true}

// -----

// The log-sum-exp is kept for the backward pass; a loss on it would get a wrong gradient in silence.
func.func @forward(%labels: tensor<2xi64>, %one: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %w = graph.read @w : tensor<2x3xf32>
  // expected-error @+1 {{no gradient for the log-sum-exp of 'graph.softmax_cross_entropy'}}
  %sum, %count, %lse = graph.softmax_cross_entropy %w, %labels {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<2x3xf32>, tensor<2xi64>) -> (tensor<f32>, tensor<f32>, tensor<2xf32>)
  %z = graph.reduce sum %lse over [0] : (tensor<2xf32>) -> tensor<f32>
  %loss = graph.binary add %sum, %z : tensor<f32>
  return %loss, %count : tensor<f32>, tensor<f32>
}
graph.variable parameter @w : tensor<2x3xf32> = #graph.init<normal, 0.0 : f64, 1.0 : f64> {trainable = true}

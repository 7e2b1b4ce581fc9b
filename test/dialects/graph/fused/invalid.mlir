// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --split-input-file --verify-diagnostics

func.func @arguments(%x: tensor<2xf32>) {
  // expected-error @+1 {{region arguments and operands have different types}}
  %0 = graph.fused(%x) over [2] rows 0 : (tensor<2xf32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>):
    graph.yield %a : tensor<3xf32>
  }
  return
}

// -----

func.func @results(%x: tensor<2xf32>) {
  // expected-error @+1 {{yields other types than its results}}
  %0 = graph.fused(%x) over [2] rows 0 : (tensor<2xf32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<2xf32>):
    graph.yield %a : tensor<2xf32>
  }
  return
}

// -----

func.func @no_yield(%x: tensor<2xf32>) {
  // expected-error @+1 {{yields other types than its results}}
  %0 = graph.fused(%x) over [2] rows 0 : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%a: tensor<2xf32>):
  }
  return
}

// -----

func.func @rows(%x: tensor<2xf32>) {
  // expected-error @+1 {{has 2 row dims in a domain of rank 1}}
  %0 = graph.fused(%x) over [2] rows 2 : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%a: tensor<2xf32>):
    graph.yield %a : tensor<2xf32>
  }
  return
}

// -----

// What cannot be computed in one pass over rows stays outside.
func.func @foreign(%x: tensor<2xf32>) {
  // expected-error @+1 {{may not hold 'graph.slice'}}
  %0 = graph.fused(%x) over [2] rows 0 : (tensor<2xf32>) -> tensor<1xf32> {
  ^bb0(%a: tensor<2xf32>):
    %0 = graph.slice %a {offsets = array<i64: 0>, strides = array<i64: 1>} : (tensor<2xf32>) -> tensor<1xf32>
    graph.yield %0 : tensor<1xf32>
  }
  return
}

// -----

func.func @stray_yield(%x: tensor<2xf32>) {
  // expected-error @+1 {{'graph.yield' op expects parent op 'graph.fused'}}
  graph.yield %x : tensor<2xf32>
}

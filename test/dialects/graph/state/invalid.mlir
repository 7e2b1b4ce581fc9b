// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{type must be a tensor with a static shape}}
graph.variable parameter @w : tensor<?xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>

// -----

// expected-error @+1 {{type must be a tensor with a static shape}}
graph.variable parameter @w : f32 = #graph.init<constant, 0.0 : f64, 0.0 : f64>

// -----

// expected-error @+1 {{first value must be #graph.file or #graph.init}}
graph.variable parameter @w : tensor<2xf32> = 0.0 : f64

// -----

// 2 x 3 elements of 2 bytes are 12 bytes.
// expected-error @+1 {{has 12 bytes by its type, but its file slice has 24}}
graph.variable parameter @w : tensor<2x3xf32> = #graph.file<"model.bin", 0, 24, bf16>

// -----

// expected-error @+1 {{file element type 'index' is neither an integer nor a float}}
graph.variable parameter @w : tensor<2xf32> = #graph.file<"model.bin", 0, 8, index>

// -----

func.func @read_unknown() {
  // expected-error @+1 {{'graph.read' op names the unknown variable @nothing}}
  %0 = graph.read @nothing : tensor<2xf32>
  return
}

// -----

graph.variable parameter @w : tensor<2xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
func.func @read_type() {
  // expected-error @+1 {{'graph.read' op has type 'tensor<3xf32>', but variable @w has type 'tensor<2xf32>'}}
  %0 = graph.read @w : tensor<3xf32>
  return
}

// -----

graph.variable parameter @w : tensor<2xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
func.func @assign_type(%x: tensor<2xf64>) {
  // expected-error @+1 {{'graph.assign' op has type 'tensor<2xf64>', but variable @w has type 'tensor<2xf32>'}}
  graph.assign %x to @w : tensor<2xf64>
  return
}

// -----

graph.variable parameter @w : tensor<2xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
func.func @accumulate_type(%x: tensor<1xf32>) {
  // expected-error @+1 {{'graph.accumulate' op has type 'tensor<1xf32>', but variable @w has type 'tensor<2xf32>'}}
  graph.accumulate %x into @w : tensor<1xf32>
  return
}

// -----

func.func @constant_type() {
  // expected-error @+1 {{'graph.constant' op value has type 'tensor<3xf32>', result has type 'tensor<2xf32>'}}
  %0 = graph.constant dense<1.0> : tensor<3xf32> : tensor<2xf32>
  return
}

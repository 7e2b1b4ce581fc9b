// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --split-input-file --verify-diagnostics

// Every shape is static.
func.func @dynamic(%x: tensor<?x3xf32>) {
  // expected-error @+1 {{'graph.unary' op operand #0 must be statically shaped tensor}}
  %0 = graph.unary exp %x : tensor<?x3xf32>
  return
}

// -----

// Every rank is known.
func.func @unranked(%x: tensor<*xf32>) {
  // expected-error @+1 {{invalid kind of type specified}}
  %0 = graph.unary exp %x : tensor<*xf32>
  return
}

// -----

func.func @exp_of_boolean(%x: tensor<3xi1>) {
  // expected-error @+1 {{'graph.unary' op 'exp' does not work on 'i1'}}
  %0 = graph.unary exp %x : tensor<3xi1>
  return
}

// -----

func.func @not_of_float(%x: tensor<3xf32>) {
  // expected-error @+1 {{'graph.unary' op 'not' does not work on 'f32'}}
  %0 = graph.unary not %x : tensor<3xf32>
  return
}

// -----

func.func @sum_of_booleans(%x: tensor<3xi1>) {
  // expected-error @+1 {{'graph.binary' op 'add' does not work on 'i1'}}
  %0 = graph.binary add %x, %x : tensor<3xi1>
  return
}

// -----

func.func @or_of_floats(%x: tensor<3xf32>) {
  // expected-error @+1 {{'graph.binary' op 'or' does not work on 'f32'}}
  %0 = graph.binary or %x, %x : tensor<3xf32>
  return
}

// -----

// Operands never broadcast by themselves.
func.func @compare_broadcasts(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'graph.compare' op operand and result shapes do not fit its iteration space}}
  %0 = graph.compare lt %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3xi1>
  return
}

// -----

func.func @select_broadcasts(%p: tensor<3xi1>, %x: tensor<2x3xf32>) {
  // expected-error @+1 {{'graph.select' op operand and result shapes do not fit its iteration space}}
  %0 = graph.select %p, %x, %x : (tensor<3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @select_mixes(%p: tensor<3xi1>, %x: tensor<3xf32>, %y: tensor<3xf64>) {
  // expected-error @+1 {{failed to verify that all of {onTrue, onFalse, result} have same type}}
  %0 = graph.select %p, %x, %y : (tensor<3xi1>, tensor<3xf32>, tensor<3xf64>) -> tensor<3xf32>
  return
}

// -----

func.func @convert_reshapes(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'graph.convert' op operand and result shapes do not fit its iteration space}}
  %0 = graph.convert %x : (tensor<2x3xf32>) -> tensor<6xf64>
  return
}

// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --assign-buffers --split-input-file --verify-diagnostics

module attributes {exec.inputs = [{name = "x", type = tensor<4xf32>}]} {
  exec.entry @microbatch {
    // expected-error @+1 {{input 1 is not one of the 1 of exec.inputs}}
    %0 = exec.input 1
  }
}

// -----

exec.entry @microbatch {
  // expected-error @+1 {{input 0 is not one of the 0 of exec.inputs}}
  %0 = exec.input 0
}

// -----

exec.entry @microbatch {
  // expected-error @+1 {{names the unknown variable 'nothing'}}
  %0 = exec.variable @nothing
}

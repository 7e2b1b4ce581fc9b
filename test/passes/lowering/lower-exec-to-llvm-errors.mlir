// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --lower-exec-to-llvm --split-input-file --verify-diagnostics

exec.entry @microbatch {
  // expected-error @+1 {{has no place yet; run assign-buffers first}}
  %0 = exec.alloc 64
  exec.launch @ech_kernel(%0) args [0] offsets [0] writes [true] descriptor []
}

// -----

graph.variable parameter @w : tensor<2xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
exec.entry @microbatch {
  // expected-error @+1 {{variable 'w' has no place}}
  %0 = exec.variable @w
  exec.launch @ech_kernel(%0) args [0] offsets [0] writes [true] descriptor []
}

// -----

exec.entry @microbatch {
  // expected-error @+1 {{variable 'nothing' has no place}}
  %0 = exec.variable @nothing
  exec.launch @ech_kernel(%0) args [0] offsets [0] writes [true] descriptor []
}

// -----

exec.entry @microbatch {
  // expected-error @+1 {{input 0 has no place yet; run assign-buffers first}}
  %0 = exec.input 0
  exec.launch @ech_kernel(%0) args [0] offsets [0] writes [true] descriptor []
}

// -----

module attributes {exec.inputs = [{name = "x", type = tensor<2xf32>}]} {
  exec.entry @microbatch {
    // expected-error @+1 {{input 0 has no place yet; run assign-buffers first}}
    %0 = exec.input 0
    exec.launch @ech_kernel(%0) args [0] offsets [0] writes [true] descriptor []
  }
}

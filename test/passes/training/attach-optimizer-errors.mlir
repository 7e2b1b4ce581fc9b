// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --split-input-file --attach-optimizer="no-decay=head.*" --verify-diagnostics
// RUN: not echelon-opt --attach-optimizer="schedule=cosinus" %s 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not echelon-opt --attach-optimizer="no-decay=@nrom" %s 2>&1 | FileCheck %s --check-prefix=CLASS
// RUN: echo "module {}" | not echelon-opt --attach-optimizer="no-decay=@norm" 2>&1 | FileCheck %s --check-prefix=NOTHING

// SCHEDULE: optimizer.schedule.kind: 'cosinus' is unknown; it is one of constant, linear, cosine
// CLASS: optimizer.no_decay: '@nrom' is unknown; it is one of @1d, @norm, @bias, @embedding
// A class that matches nothing is no error, a model may lack norms; a model in which nothing trains is one.
// NOTHING: error: no trainable parameter has a gradient

// A glob that matches nothing is a misspelt name.
// expected-error @+1 {{optimizer.no_decay: 'head.*' matches no parameter}}
module {
  graph.variable parameter @body : tensor<3xf32> = #graph.init<normal, 0.0 : f64, 1.0 : f64> {trainable = true}
  graph.variable gradient @grad.body : tensor<3xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64> {owner = @body}
}

// -----

module {
  // expected-error @+1 {{gradient has no parameter}}
  graph.variable gradient @grad.body : tensor<3xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64> {owner = @body}
}

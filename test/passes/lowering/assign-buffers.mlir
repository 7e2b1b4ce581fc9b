// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --assign-buffers=report=true 2>%t.report | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t.report

// Bytes of the arenas in the order of ech_arena_class: parameters 64 + 128 (26 floats are 104 bytes, in steps of 64),
// gradients 128, optimizer none, metrics 64, inputs 64 + 64, activations 384, communication none.
// CHECK: exec.arenas = array<i64: 192, 128, 0, 64, 128, 384, 0>
// Inputs get their places one after the other.
// CHECK-SAME: exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<4xf32>}, {name = "y", offset = 64 : i64, type = tensor<3xi1>}]
// CHECK-SAME: exec.packing = {lower_bound = 384 : i64, peak = 384 : i64}
// REPORT: activations: packed peak 384 bytes, lower bound 384, ratio 1.000
module attributes {exec.inputs = [{name = "x", type = tensor<4xf32>}, {name = "y", type = tensor<3xi1>}]} {
  // Variables of a class follow each other in their arena.
  // CHECK: graph.variable parameter @a {{.*}}exec.offset = 0 : i64
  // CHECK: graph.variable gradient @grad.b {{.*}}exec.offset = 0 : i64
  // CHECK: graph.variable parameter @b {{.*}}exec.offset = 64 : i64
  // CHECK: graph.variable metric @loss {{.*}}exec.offset = 0 : i64
  graph.variable parameter @a : tensor<1xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
  graph.variable gradient @grad.b : tensor<26xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
  graph.variable parameter @b : tensor<26xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
  graph.variable metric @loss : tensor<f32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>

  // Lives, in launches: large 0-1, small 1-2, late 2-3, short 3. The large one stands at 0; the small one lives beside it
  // at 256; the late one starts when the large one has ended and takes its place; the short one takes the small one's.
  // CHECK-LABEL: exec.entry @microbatch
  // CHECK-NEXT: exec.alloc 256 at 0
  // CHECK-NEXT: exec.alloc 100 at 256
  // CHECK-NEXT: exec.alloc 200 at 0
  // CHECK-NEXT: exec.alloc 4 at 256
  exec.entry @microbatch {
    %large = exec.alloc 256
    %small = exec.alloc 100
    %late = exec.alloc 200
    %short = exec.alloc 4
    exec.launch @k(%large) args [0] offsets [0] writes [true] descriptor []
    exec.launch @k(%large, %small) args [0, 1] offsets [0, 0] writes [false, true] descriptor []
    exec.launch @k(%small, %late) args [0, 1] offsets [0, 0] writes [false, true] descriptor []
    exec.launch @k(%late, %short) args [0, 1] offsets [0, 0] writes [false, true] descriptor []
  }

  // Entries never run at the same time: they share the arena.
  // CHECK-LABEL: exec.entry @evaluate
  // CHECK-NEXT: exec.alloc 64 at 0
  exec.entry @evaluate {
    %0 = exec.alloc 64
    exec.launch @k(%0) args [0] offsets [0] writes [true] descriptor []
  }
}

// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --lower-exec-to-llvm | FileCheck %s --check-prefixes=CHECK,PLAIN
// RUN: echelon-opt %s --lower-exec-to-llvm=check-numerics=true | FileCheck %s --check-prefixes=CHECK,NUMERICS

// An entry is an internal function of the launch; bases of the arenas are read from it: pointer i at byte 8 i.
// CHECK-LABEL: llvm.func internal @echelon_microbatch(
// CHECK-SAME: %[[LAUNCH:.*]]: !llvm.ptr)
// CHECK: %[[PARAMETERS:.*]] = llvm.load %[[LAUNCH]]
// CHECK: %[[C40:.*]] = llvm.mlir.constant(40 : i64)
// CHECK: %[[SIXTH:.*]] = llvm.getelementptr %[[LAUNCH]][%[[C40]]]
// CHECK: %[[ACTIVATIONS:.*]] = llvm.load %[[SIXTH]]

// Buffers are constant offsets: the variable's place 64 and the launch's 8, the input's 192, the activation's 128.
// CHECK: %[[C192:.*]] = llvm.mlir.constant(192 : i64)
// CHECK: %[[INPUT:.*]] = llvm.getelementptr %{{.*}}[%[[C192]]]
// CHECK: %[[C72:.*]] = llvm.mlir.constant(72 : i64)
// CHECK: %[[WEIGHT:.*]] = llvm.getelementptr %[[PARAMETERS]][%[[C72]]]
// CHECK: %[[C128:.*]] = llvm.mlir.constant(128 : i64)
// CHECK: %[[RESULT:.*]] = llvm.getelementptr %[[ACTIVATIONS]][%[[C128]]]

// The kernel gets the launch, its descriptor and its pointers; an argument -1 is null.
// CHECK: %[[DESCRIPTOR:.*]] = llvm.mlir.addressof @[[FIELDS:descriptor_.*]] :
// CHECK: %[[NULL:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK: llvm.call @ech_scale(%[[LAUNCH]], %[[DESCRIPTOR]], %[[INPUT]], %[[WEIGHT]], %[[NULL]], %[[RESULT]])

// With check-numerics the hook of the launch sees each dense result: its place, name and count.
// PLAIN-NOT: llvm.call %
// NUMERICS: %[[HOOK:.*]] = llvm.load
// NUMERICS: %[[TEXT:.*]] = llvm.mlir.addressof @[[NAME:text_.*]] :
// NUMERICS: %[[COUNT:.*]] = llvm.mlir.constant(4 : i64)
// NUMERICS: llvm.call %[[HOOK]](%[[LAUNCH]], %[[TEXT]], %[[RESULT]], %[[COUNT]])
// NUMERICS-NOT: llvm.call %

// Read-only data is addressed where it is; a kernel without a descriptor gets none; equal constants are one.
// CHECK: %[[CONSTANT:.*]] = llvm.mlir.addressof @[[VALUES:constant_.*]] :
// CHECK: llvm.call @ech_copy(%[[LAUNCH]], %[[CONSTANT]], %{{.*}})
// CHECK: llvm.mlir.addressof @[[VALUES]] :
// memset is LLVM's own.
// CHECK: %[[BYTE:.*]] = llvm.mlir.constant(0 : i8)
// CHECK: %[[SIZE:.*]] = llvm.mlir.constant(16 : i64)
// CHECK: "llvm.intr.memset"(%{{.*}}, %[[BYTE]], %[[SIZE]]) <{isVolatile = false}>
// CHECK: llvm.return

// Two entries share descriptors of equal fields; the fields of a double are its bits: 1.5 is 0x3FF8000000000000.
// CHECK-LABEL: llvm.func internal @echelon_evaluate
// CHECK: llvm.mlir.addressof @[[FIELDS]]

// CHECK-DAG: llvm.mlir.global private constant @[[FIELDS]](dense<[4, 4609434218613702656]> : tensor<2xi64>) {{.*}}alignment = 64
// CHECK-DAG: llvm.mlir.global private constant @[[VALUES]](dense<[1, 0, 1]> : tensor<3xi8>)
// NUMERICS-DAG: llvm.mlir.global private constant @[[NAME]]("block/norm (ech_scale)\00")
// CHECK-DAG: llvm.func @ech_scale(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr)
// CHECK-DAG: llvm.func @ech_copy(!llvm.ptr, !llvm.ptr, !llvm.ptr)
// CHECK-NOT: exec.
module attributes {exec.inputs = [{name = "ids", offset = 0 : i64, type = tensor<48xf32>}, {name = "x", offset = 192 : i64, type = tensor<4xf32>}]} {
  exec.entry @microbatch {
    %x = exec.input 1
    %w = exec.variable @w
    %y = exec.alloc 16 at 128
    %c = exec.constant dense<[true, false, true]> : tensor<3xi1>
    %d = exec.constant dense<[true, false, true]> : tensor<3xi1>
    exec.launch @ech_scale(%x, %w, %y) args [0, 1, -1, 2] offsets [0, 8, 0] writes [false, false, true] descriptor [4, 1.5] {check_counts = array<i64: 0, 0, 4>} loc("block/norm")
    exec.launch @ech_copy(%c, %y) args [0, 1] offsets [0, 0] writes [false, true] descriptor []
    exec.launch @ech_copy(%d, %y) args [0, 1] offsets [0, 0] writes [false, true] descriptor []
    exec.launch @memset(%y) args [0] offsets [0] writes [true] descriptor [0, 16] {check_counts = array<i64: 4>}
  }
  exec.entry @evaluate {
    %x = exec.input 1
    exec.launch @ech_scale(%x, %x, %x) args [0, 1, -1, 2] offsets [0, 0, 0] writes [false, false, true] descriptor [4, 1.5]
  }
  graph.variable parameter @w : tensor<20xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64> {exec.offset = 64 : i64}
}

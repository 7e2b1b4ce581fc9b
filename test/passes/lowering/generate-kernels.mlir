// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --generate-kernels | FileCheck %s

// Flat work: blocks of elements, an entry that shares tasks out, accesses that do not depend on each other.
// CHECK: llvm.func internal @exp.rows(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
// CHECK-SAME: ["prefer-vector-width", "512"]
// CHECK: llvm.cond_br {{.*}}loop_annotation
// CHECK: llvm.load {{.*}}access_groups
// CHECK-NOT: llvm.call
// CHECK: llvm.store {{.*}}access_groups
// CHECK: llvm.func internal @exp.task(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i32)
// CHECK: llvm.func @exp(%[[LAUNCH:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)
// CHECK: llvm.call @exp.rows
// CHECK: llvm.mlir.addressof @exp.task
// CHECK-NOT: exec.kernel
exec.kernel @exp operands [array<i64: 1024, 1>] results [array<i64: 1024, 1>] accumulate [false] {
^bb0(%x: tensor<64x1024xf32>):
  %y = graph.fused(%x) over [64, 1024] rows 1 : (tensor<64x1024xf32>) -> tensor<64x1024xf32> {
  ^bb0(%a: tensor<64x1024xf32>):
    %e = graph.unary exp %a : tensor<64x1024xf32>
    graph.yield %e : tensor<64x1024xf32>
  }
  exec.yield %y : tensor<64x1024xf32>
}

// Sums over rows are never shared out: the entry calls the rows directly.
// CHECK: llvm.func internal @sums.rows
// CHECK: llvm.alloca
// CHECK-NOT: @sums.task
// CHECK: llvm.func @sums(
// CHECK-NEXT: llvm.mlir.constant(0 : i64)
// CHECK-NEXT: llvm.mlir.constant(512 : i64)
// CHECK-NEXT: llvm.call @sums.rows
exec.kernel @sums operands [array<i64: 256, 1>] results [array<i64: 1>] accumulate [true] {
^bb0(%x: tensor<512x256xf32>):
  %y = graph.fused(%x) over [512, 256] rows 1 : (tensor<512x256xf32>) -> tensor<256xf32> {
  ^bb0(%a: tensor<512x256xf32>):
    %s = graph.reduce sum %a over [0] : (tensor<512x256xf32>) -> tensor<256xf32>
    graph.yield %s : tensor<256xf32>
  }
  exec.yield %y : tensor<256xf32>
}

// A copy between layouts: one group that yields its argument.
// CHECK: llvm.func @copy(
exec.kernel @copy operands [array<i64: 1, 16>] results [array<i64: 8, 1>] accumulate [false] {
^bb0(%x: tensor<16x8xf32>):
  %y = graph.fused(%x) over [16, 8] rows 1 : (tensor<16x8xf32>) -> tensor<16x8xf32> {
  ^bb0(%a: tensor<16x8xf32>):
    graph.yield %a : tensor<16x8xf32>
  }
  exec.yield %y : tensor<16x8xf32>
}

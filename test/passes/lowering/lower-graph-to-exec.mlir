// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --lower-graph-to-exec --split-input-file | FileCheck %s

// Views are strides in the descriptor: a transposed operand is read where it lies, a split of the result is no copy.
// b = 2 rows of 3, k = 4, n = 5. The descriptor of contraction: two batch sizes, m, n, k, then per tensor its two batch
// strides and the strides of its rows and columns, then 1 to add. lhs [3, 4] lies transposed: m has stride 1, k 3.
// CHECK-LABEL: exec.entry @microbatch
// CHECK: %[[X:.*]] = exec.input 0
// CHECK: %[[W:.*]] = exec.variable @w
// CHECK: %[[PRODUCT:.*]] = exec.alloc 60
// CHECK: exec.launch @ech_contraction_f32(%[[X]], %[[W]], %[[PRODUCT]]) args [0, 1, -1, 2] offsets [0, 0, 0] writes [false, false, true] descriptor [1, 1, 3, 5, 4, 0, 0, 1, 3, 0, 0, 5, 1, 0, 0, 5, 1, 0]
// A slice is an offset in bytes: column 2 of [3, 5] starts at 8; the group reads it with strides 5 and 1.
// CHECK: exec.launch @fused_0(%[[PRODUCT]], %{{.*}}) args [0, 1] offsets [8, 0] writes [false, true]
// CHECK-NOT: exec.launch
// CHECK: exec.kernel @fused_0 operands [array<i64: 5, 1>] results [array<i64: 3, 1>] accumulate [false]
graph.variable parameter @w : tensor<4x5xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
func.func @microbatch(%x: tensor<4x3xf32> {graph.name = "x"}) {
  %w = graph.read @w : tensor<4x5xf32>
  %t = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %0 = graph.einsum "m k, k n -> m n" %t, %w : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %1 = graph.slice %0 {offsets = array<i64: 0, 2>, strides = array<i64: 1, 1>} : (tensor<3x5xf32>) -> tensor<3x3xf32>
  %2 = graph.fused(%1) over [3, 3] rows 1 : (tensor<3x3xf32>) -> tensor<3x3xf32> {
  ^bb0(%a: tensor<3x3xf32>):
    %e = graph.unary exp %a : tensor<3x3xf32>
    graph.yield %e : tensor<3x3xf32>
  }
  return
}

// -----

// Inputs are described for the runtime: tokens index the 50 rows of a table, labels the 10 classes; a shape other than
// [batch, sequence] is a feature. FLOPs count 2 x 6 x 8 x 10 for the one product.
// CHECK: exec.flops = {causal = 9.600000e+02 : f64, hardware = 9.600000e+02 : f64, palm = 9.600000e+02 : f64}
// CHECK-SAME: exec.inputs = [{ignore_index = 0 : i64, limit = 50 : i64, name = "ids", role = 1 : i64, type = tensor<2x3xi64>}, {ignore_index = -100 : i64, limit = 10 : i64, name = "labels", role = 2 : i64, type = tensor<2x3xi64>}, {ignore_index = 0 : i64, limit = 0 : i64, name = "feature", role = 0 : i64, type = tensor<2x3xf32>}]
graph.variable parameter @table : tensor<50x8xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
graph.variable parameter @head : tensor<8x10xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
func.func @microbatch(%ids: tensor<2x3xi64> {graph.name = "ids"}, %labels: tensor<2x3xi64> {graph.name = "labels"}, %f: tensor<2x3xf32> {graph.name = "feature"}) {
  %table = graph.read @table : tensor<50x8xf32>
  %head = graph.read @head : tensor<8x10xf32>
  %rows = graph.embedding %table, %ids : (tensor<50x8xf32>, tensor<2x3xi64>) -> tensor<2x3x8xf32>
  %logits = graph.einsum "b s d, d v -> b s v" %rows, %head : (tensor<2x3x8xf32>, tensor<8x10xf32>) -> tensor<2x3x10xf32>
  %0:3 = graph.softmax_cross_entropy %logits, %labels {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<2x3x10xf32>, tensor<2x3xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x3xf32>)
  return
}

// -----

// Results are written where they end: each into its part of a concat of [2, 8], whose rows are 8 floats apart. A value
// that stands in it twice is copied to both places.
// CHECK-LABEL: exec.entry @evaluate
// CHECK: %[[X:.*]] = exec.input 0
// CHECK: %[[JOINED:.*]] = exec.alloc 64
// CHECK: exec.launch @[[EXP:.*]](%[[X]], %[[JOINED]]) args [0, 1] offsets [0, 0]
// CHECK: exec.launch @[[LOG:.*]](%[[X]], %[[JOINED]]) args [0, 1] offsets [0, 8]
// CHECK: exec.launch @[[COPY:.*]](%[[X]], %[[JOINED]]) args [0, 1] offsets [0, 16]
// CHECK: exec.launch @[[COPY]](%[[X]], %[[JOINED]]) args [0, 1] offsets [0, 24]
// CHECK-NOT: exec.launch
// CHECK: exec.kernel @[[EXP]] operands [array<i64: 2, 1>] results [array<i64: 8, 1>]
func.func @evaluate(%x: tensor<2x2xf32>) {
  %e = graph.fused(%x) over [2, 2] rows 1 : (tensor<2x2xf32>) -> tensor<2x2xf32> {
  ^bb0(%a: tensor<2x2xf32>):
    %y = graph.unary exp %a : tensor<2x2xf32>
    graph.yield %y : tensor<2x2xf32>
  }
  %l = graph.fused(%x) over [2, 2] rows 1 : (tensor<2x2xf32>) -> tensor<2x2xf32> {
  ^bb0(%a: tensor<2x2xf32>):
    %y = graph.unary log %a : tensor<2x2xf32>
    graph.yield %y : tensor<2x2xf32>
  }
  %joined = graph.concat %e, %l, %x, %x {dim = 1 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x8xf32>
  return
}

// -----

// ... into a padding, which is cleared before, ...
// CHECK-LABEL: exec.entry @evaluate
// CHECK: %[[PADDED:.*]] = exec.alloc 20
// CHECK: exec.launch @memset(%[[PADDED]]) args [0] offsets [0] writes [true] descriptor [0, 20]
// CHECK: exec.launch @[[EXP:.*]](%{{.*}}, %[[PADDED]]) args [0, 1] offsets [0, 4]
// CHECK-NOT: exec.launch
// CHECK: exec.kernel @[[EXP]] operands [array<i64: 1>] results [array<i64: 2>]
func.func @evaluate(%x: tensor<2xf32>) {
  %e = graph.fused(%x) over [2] rows 0 : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%a: tensor<2xf32>):
    %y = graph.unary exp %a : tensor<2xf32>
    graph.yield %y : tensor<2xf32>
  }
  %0 = graph.pad %e {offsets = array<i64: 1>, strides = array<i64: 2>} : (tensor<2xf32>) -> tensor<5xf32>
  return
}

// -----

// ... and into a gradient: contraction and lookup add in place (their last field), a group adds by its kernel, also
// through a transpose; what no kernel adds is added by a copy.
// CHECK-LABEL: exec.entry @evaluate
// CHECK: %[[X:.*]] = exec.input 0
// CHECK: %[[IDS:.*]] = exec.input 1
// CHECK: %[[W:.*]] = exec.variable @w
// CHECK: exec.launch @ech_contraction_f32(%[[X]], %[[X]], %[[W]]) {{.*}} descriptor [1, 1, 3, 3, 2, 0, 0, 1, 3, 0, 0, 3, 1, 0, 0, 1, 3, 1]
// CHECK: %[[TABLE:.*]] = exec.variable @table
// CHECK: exec.launch @ech_embedding_grad_f32(%[[IDS]], %[[X]], %[[TABLE]]) {{.*}} descriptor [2, 5, 3, 3, 1]
// CHECK: %[[B:.*]] = exec.variable @b
// CHECK: exec.launch @[[EXP:.*]](%[[X]], %[[B]])
// CHECK: %[[C:.*]] = exec.variable @c
// CHECK: exec.launch @[[ADD:.*]](%[[X]], %[[C]])
// CHECK-NOT: exec.launch
// CHECK-DAG: exec.kernel @[[EXP]] operands [array<i64: 3, 1>] results [array<i64: 1, 2>] accumulate [true]
// CHECK-DAG: exec.kernel @[[ADD]] operands [array<i64: 3, 1>] results [array<i64: 3, 1>] accumulate [true]
graph.variable gradient @w : tensor<3x3xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
graph.variable gradient @table : tensor<5x3xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
graph.variable gradient @b : tensor<3x2xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
graph.variable gradient @c : tensor<2x3xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
func.func @evaluate(%x: tensor<2x3xf32>, %ids: tensor<2xi64>) {
  %0 = graph.einsum "k m, k n -> m n" %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  %t = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<3x3xf32>) -> tensor<3x3xf32>
  graph.accumulate %t into @w : tensor<3x3xf32>
  %1 = graph.embedding_grad %ids, %x : (tensor<2xi64>, tensor<2x3xf32>) -> tensor<5x3xf32>
  graph.accumulate %1 into @table : tensor<5x3xf32>
  %2 = graph.fused(%x) over [2, 3] rows 1 : (tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%a: tensor<2x3xf32>):
    %y = graph.unary exp %a : tensor<2x3xf32>
    graph.yield %y : tensor<2x3xf32>
  }
  %3 = graph.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  graph.accumulate %3 into @b : tensor<3x2xf32>
  graph.accumulate %x into @c : tensor<2x3xf32>
  return
}

// -----

// An update is in place: the group reads the old value and writes the new one; clearing a gradient is a memset.
// CHECK-LABEL: exec.entry @update
// CHECK: %[[P:.*]] = exec.variable @p
// CHECK: %[[G:.*]] = exec.variable @g
// CHECK: %[[NEW:.*]] = exec.variable @p
// CHECK: exec.launch @fused_0(%[[P]], %[[G]], %[[NEW]]) args [0, 1, 2]
// CHECK: %[[CLEARED:.*]] = exec.variable @g
// CHECK: exec.launch @memset(%[[CLEARED]]) args [0] offsets [0] writes [true] descriptor [0, 16]
// CHECK-NOT: exec.launch
graph.variable parameter @p : tensor<4xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
graph.variable gradient @g : tensor<4xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
func.func @update() {
  %p = graph.read @p : tensor<4xf32>
  %g = graph.read @g : tensor<4xf32>
  %new = graph.fused(%p, %g) over [4] rows 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %y = graph.binary sub %a, %b : tensor<4xf32>
    graph.yield %y : tensor<4xf32>
  }
  graph.assign %new to @p : tensor<4xf32>
  %zero = graph.constant dense<0.0> : tensor<4xf32> : tensor<4xf32>
  graph.assign %zero to @g : tensor<4xf32>
  return
}

// -----

// Not in place where another op reads the old value afterwards: the new one waits in a buffer until it is assigned.
// CHECK-LABEL: exec.entry @update
// CHECK: %[[P:.*]] = exec.variable @p
// CHECK: %[[NEW:.*]] = exec.alloc 16
// CHECK: exec.launch @[[EXP:.*]](%[[P]], %[[NEW]])
// CHECK: exec.launch @[[LOG:.*]](%[[P]], %{{.*}})
// CHECK: %[[TARGET:.*]] = exec.variable @p
// CHECK: exec.launch @[[COPY:.*]](%[[NEW]], %[[TARGET]])
graph.variable parameter @p : tensor<4xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
func.func @update() {
  %p = graph.read @p : tensor<4xf32>
  %new = graph.fused(%p) over [4] rows 0 : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %y = graph.unary exp %a : tensor<4xf32>
    graph.yield %y : tensor<4xf32>
  }
  %late = graph.fused(%p) over [4] rows 0 : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %y = graph.unary log %a : tensor<4xf32>
    graph.yield %y : tensor<4xf32>
  }
  graph.assign %new to @p : tensor<4xf32>
  return
}

// -----

// Not in place where the group reads the variable transposed: it would read elements that it has already replaced.
// CHECK-LABEL: exec.entry @update
// CHECK: %[[P:.*]] = exec.variable @p
// CHECK: %[[NEW:.*]] = exec.alloc 16
// CHECK: exec.launch @[[EXP:.*]](%[[P]], %[[NEW]])
// CHECK: %[[TARGET:.*]] = exec.variable @p
// CHECK: exec.launch @[[COPY:.*]](%[[NEW]], %[[TARGET]])
graph.variable parameter @p : tensor<2x2xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
func.func @update() {
  %p = graph.read @p : tensor<2x2xf32>
  %t = graph.transpose %p {permutation = array<i64: 1, 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %new = graph.fused(%t) over [2, 2] rows 1 : (tensor<2x2xf32>) -> tensor<2x2xf32> {
  ^bb0(%a: tensor<2x2xf32>):
    %y = graph.unary exp %a : tensor<2x2xf32>
    graph.yield %y : tensor<2x2xf32>
  }
  graph.assign %new to @p : tensor<2x2xf32>
  return
}

// -----

// A variable that becomes its own transpose goes through a buffer.
// CHECK-LABEL: exec.entry @update
// CHECK: %[[P:.*]] = exec.variable @p
// CHECK: %[[TARGET:.*]] = exec.variable @p
// CHECK: %[[MOVED:.*]] = exec.alloc 24
// CHECK: exec.launch @[[MOVE:.*]](%[[P]], %[[MOVED]])
// CHECK: exec.launch @[[COPY:.*]](%[[MOVED]], %[[TARGET]])
// CHECK: exec.kernel @[[MOVE]] operands [array<i64: 0, 1, 3>]
graph.variable parameter @p : tensor<1x3x2xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
func.func @update() {
  %p = graph.read @p : tensor<1x3x2xf32>
  %flat = graph.reshape %p : (tensor<1x3x2xf32>) -> tensor<2x3xf32>
  %t = graph.transpose %flat {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %new = graph.reshape %t : (tensor<3x2xf32>) -> tensor<1x3x2xf32>
  graph.assign %new to @p : tensor<1x3x2xf32>
  return
}

// -----

// A read that is used after its variable was written is copied when it is read: two variables swap.
// CHECK-LABEL: exec.entry @update
// CHECK: %[[P:.*]] = exec.variable @p
// CHECK: %[[Q:.*]] = exec.variable @q
// CHECK: %[[KEPT:.*]] = exec.alloc 16
// CHECK: exec.launch @[[COPY:.*]](%[[Q]], %[[KEPT]])
// CHECK: %[[Q_TARGET:.*]] = exec.variable @q
// CHECK: exec.launch @[[COPY]](%[[P]], %[[Q_TARGET]])
// CHECK: %[[P_TARGET:.*]] = exec.variable @p
// CHECK: exec.launch @[[COPY]](%[[KEPT]], %[[P_TARGET]])
graph.variable parameter @p : tensor<4xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
graph.variable parameter @q : tensor<4xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
func.func @update() {
  %p = graph.read @p : tensor<4xf32>
  %q = graph.read @q : tensor<4xf32>
  graph.assign %p to @q : tensor<4xf32>
  graph.assign %q to @p : tensor<4xf32>
  return
}

// -----

// The same after an accumulate, which then does not add before its turn.
// CHECK-LABEL: exec.entry @update
// CHECK: %[[X:.*]] = exec.input 0
// CHECK: %[[G:.*]] = exec.variable @g
// CHECK: %[[KEPT:.*]] = exec.alloc 16
// CHECK: exec.launch @[[COPY:.*]](%[[G]], %[[KEPT]])
// CHECK: %[[TERM:.*]] = exec.alloc 16
// CHECK: exec.launch @[[EXP:.*]](%[[X]], %[[TERM]])
// CHECK: %[[TARGET:.*]] = exec.variable @g
// CHECK: exec.launch @[[ADD:.*]](%[[TERM]], %[[TARGET]])
// CHECK: exec.launch @[[EXP]](%[[KEPT]], %{{.*}})
// CHECK: exec.kernel @[[ADD]] {{.*}} accumulate [true]
graph.variable gradient @g : tensor<4xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
func.func @update(%x: tensor<4xf32>) {
  %g = graph.read @g : tensor<4xf32>
  %term = graph.fused(%x) over [4] rows 0 : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %y = graph.unary exp %a : tensor<4xf32>
    graph.yield %y : tensor<4xf32>
  }
  graph.accumulate %term into @g : tensor<4xf32>
  %old = graph.fused(%g) over [4] rows 0 : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %y = graph.unary exp %a : tensor<4xf32>
    graph.yield %y : tensor<4xf32>
  }
  return
}

// -----

// Of two assigns the later one counts: the first result may not be written after the second.
// CHECK-LABEL: exec.entry @update
// CHECK: exec.launch @[[EXP:.*]](%{{.*}}, %[[LAST:.*]]) args
// CHECK: %[[TARGET:.*]] = exec.variable @p
// CHECK: exec.launch @[[COPY:.*]](%{{.*}}, %[[TARGET]])
// CHECK: %[[AGAIN:.*]] = exec.variable @p
// CHECK: exec.launch @[[COPY]](%[[LAST]], %[[AGAIN]])
graph.variable parameter @p : tensor<4xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
func.func @update(%x: tensor<4xf32>) {
  %last = graph.fused(%x) over [4] rows 0 : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %y = graph.unary exp %a : tensor<4xf32>
    graph.yield %y : tensor<4xf32>
  }
  graph.assign %x to @p : tensor<4xf32>
  graph.assign %last to @p : tensor<4xf32>
  return
}

// -----

// A splat is one element of read-only data, repeated by strides of 0; a reshape that no strides express is a copy.
// CHECK-LABEL: exec.entry @evaluate
// CHECK: %[[X:.*]] = exec.input 0
// CHECK: %[[SPLAT:.*]] = exec.constant dense<2.000000e+00> : tensor<1xf32>
// CHECK: %[[DENSE:.*]] = exec.alloc 24
// CHECK: exec.launch @[[COPY:.*]](%[[X]], %[[DENSE]])
// CHECK: exec.launch @[[ADD:.*]](%[[DENSE]], %[[SPLAT]], %{{.*}})
// CHECK-DAG: exec.kernel @[[COPY]] operands [array<i64: 1, 2>] results [array<i64: 3, 1>]
// CHECK-DAG: exec.kernel @[[ADD]] operands [array<i64: 1>, array<i64: 0>] results [array<i64: 1>]
func.func @evaluate(%x: tensor<3x2xf32>) {
  %two = graph.constant dense<2.0> : tensor<6xf32> : tensor<6xf32>
  %t = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %flat = graph.reshape %t : (tensor<2x3xf32>) -> tensor<6xf32>
  %0 = graph.fused(%flat, %two) over [6] rows 0 : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32> {
  ^bb0(%a: tensor<6xf32>, %b: tensor<6xf32>):
    %y = graph.binary add %a, %b : tensor<6xf32>
    graph.yield %y : tensor<6xf32>
  }
  return
}

// -----

// A kernel that cannot take the strides gets a dense copy: rows of an embedding's result that are not neighbours.
// CHECK-LABEL: exec.entry @evaluate
// CHECK: %[[TABLE:.*]] = exec.input 0
// CHECK: %[[DENSE:.*]] = exec.alloc 32
// CHECK: exec.launch @[[COPY:.*]](%[[TABLE]], %[[DENSE]])
// CHECK: exec.launch @ech_embedding_f32(%[[DENSE]], %{{.*}}, %{{.*}}) {{.*}} descriptor [3, 4, 2, 2, 0]
func.func @evaluate(%table: tensor<2x4xf32>, %ids: tensor<3xi64>) {
  %t = graph.transpose %table {permutation = array<i64: 1, 0>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %0 = graph.embedding %t, %ids : (tensor<4x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  return
}

// -----

// Equal groups under equal strides share a kernel, over all entries; the same group under other strides has its own.
// CHECK-LABEL: exec.entry @microbatch
// CHECK: exec.launch @fused_0
// CHECK: exec.launch @fused_1
// CHECK-LABEL: exec.entry @evaluate
// CHECK: exec.launch @fused_0
// CHECK-COUNT-2: exec.kernel
// CHECK-NOT: exec.kernel
func.func @microbatch(%x: tensor<2x2xf32>) {
  %0 = graph.fused(%x) over [2, 2] rows 1 : (tensor<2x2xf32>) -> tensor<2x2xf32> {
  ^bb0(%a: tensor<2x2xf32>):
    %y = graph.unary exp %a : tensor<2x2xf32>
    graph.yield %y : tensor<2x2xf32>
  }
  %t = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = graph.fused(%t) over [2, 2] rows 1 : (tensor<2x2xf32>) -> tensor<2x2xf32> {
  ^bb0(%a: tensor<2x2xf32>):
    %y = graph.unary exp %a : tensor<2x2xf32>
    graph.yield %y : tensor<2x2xf32>
  }
  return
}
func.func @evaluate(%x: tensor<2x2xf32>) {
  %0 = graph.fused(%x) over [2, 2] rows 1 : (tensor<2x2xf32>) -> tensor<2x2xf32> {
  ^bb0(%a: tensor<2x2xf32>):
    %y = graph.unary exp %a : tensor<2x2xf32>
    graph.yield %y : tensor<2x2xf32>
  }
  return
}

// -----

// Causal attention counts the half that is seen: of 4 keys (4 + 1) / 8. Two products of 2 x 4 x 4 x 8 each.
// CHECK: exec.flops = {causal = 3.200000e+02 : f64, hardware = 3.200000e+02 : f64, palm = 5.120000e+02 : f64}
// Strides of batch, position and head; no mask.
// CHECK: exec.launch @ech_attention_f32(%[[Q:.*]], %[[Q]], %[[Q]], %{{.*}}, %{{.*}}) args [0, 1, 2, -1, 3, 4] {{.*}} descriptor [1, 4, 4, 1, 1, 8, 8, 32, 8, 8, 32, 8, 8, 32, 8, 8, 32, 8, 8, 0, {{.*}}, 1, 0, 5.000000e-01]
func.func @microbatch(%q: tensor<1x4x1x8xf32>) {
  %0:2 = graph.attention %q, %q, %q {causal = true, scale = 0.5 : f64} : (tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>) -> (tensor<1x4x1x8xf32>, tensor<1x1x4xf32>)
  return
}

// -----

// The gradient of the loss overwrites the logits that nothing reads afterwards.
// CHECK: exec.launch @ech_contraction_f32(%{{.*}}, %{{.*}}, %[[LOGITS:.*]]) args
// CHECK: exec.launch @ech_cross_entropy_f32(%[[LOGITS]],
// CHECK: exec.launch @ech_cross_entropy_grad_f32(%[[LOGITS]], %{{.*}}, %{{.*}}, %{{.*}}, %[[LOGITS]])
func.func @microbatch(%x: tensor<4x2xf32>, %w: tensor<2x8xf32>, %labels: tensor<4xi64>) {
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  %logits = graph.einsum "m k, k n -> m n" %x, %w : (tensor<4x2xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %sum, %count, %lse = graph.softmax_cross_entropy %logits, %labels {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<f32>, tensor<4xf32>)
  %grad = graph.softmax_cross_entropy_grad %logits, %labels, %lse, %one {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<4x8xf32>, tensor<4xi64>, tensor<4xf32>, tensor<f32>) -> tensor<4x8xf32>
  return
}

// -----

// Logits that are read again keep their memory.
// CHECK: exec.launch @ech_cross_entropy_grad_f32(%[[LOGITS:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %[[GRADIENT:.*]])
// CHECK: exec.launch @fused_0(%[[LOGITS]],
func.func @microbatch(%x: tensor<4x2xf32>, %w: tensor<2x8xf32>, %labels: tensor<4xi64>) {
  %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
  %logits = graph.einsum "m k, k n -> m n" %x, %w : (tensor<4x2xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %sum, %count, %lse = graph.softmax_cross_entropy %logits, %labels {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<f32>, tensor<4xf32>)
  %grad = graph.softmax_cross_entropy_grad %logits, %labels, %lse, %one {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<4x8xf32>, tensor<4xi64>, tensor<4xf32>, tensor<f32>) -> tensor<4x8xf32>
  %again = graph.fused(%logits) over [4, 8] rows 1 : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %y = graph.unary exp %a : tensor<4x8xf32>
    graph.yield %y : tensor<4x8xf32>
  }
  return
}

// -----

// A patch embedding: the summed dims of the image are no neighbours, so that no strides merge them. The image and the
// kernel are copied into the order batch, m, k; the result lies as batch, m, n. m = 1 x 2 x 2, n = 3, k = 1 x 4 x 4.
// CHECK-LABEL: exec.entry @patches
// CHECK: %[[IMAGE:.*]] = exec.input 0
// CHECK: %[[WEIGHT:.*]] = exec.input 1
// CHECK: exec.launch @{{fused_.*}}(%[[IMAGE]], %[[ROWS:.*]])
// CHECK: exec.launch @{{fused_.*}}(%[[WEIGHT]], %[[COLUMNS:.*]])
// CHECK: exec.launch @ech_contraction_f32(%[[ROWS]], %[[COLUMNS]], %{{.*}}) {{.*}} descriptor [1, 1, 4, 3, 16, 0, 0, 16, 1, 0, 0, 3, 1, 0, 0, 3, 1, 0]
func.func @patches(%image: tensor<1x1x2x4x2x4xf32>, %weight: tensor<3x1x4x4xf32>) {
  %0 = graph.einsum "b c h p w q, o c p q -> b o h w" %image, %weight : (tensor<1x1x2x4x2x4xf32>, tensor<3x1x4x4xf32>) -> tensor<1x3x2x2xf32>
  return
}

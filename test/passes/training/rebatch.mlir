// SPDX-License-Identifier: Apache-2.0
// The program for 4 rows is the program for 8 rows with the batch followed as a named dim, and the other way round.
// RUN: sed "s/BATCH/8/g; s/ROWS/48/g" %s | echelon-opt --rebatch=micro=4 -o %t.from8
// RUN: sed "s/BATCH/4/g; s/ROWS/24/g" %s | echelon-opt -o %t.for4
// RUN: diff %t.for4 %t.from8
// RUN: sed "s/BATCH/4/g; s/ROWS/24/g" %s | echelon-opt --rebatch=micro=8 -o %t.from4
// RUN: sed "s/BATCH/8/g; s/ROWS/48/g" %s | echelon-opt -o %t.for8
// RUN: diff %t.for8 %t.from4
// Without a wish, or with the batch that is there, nothing changes.
// RUN: sed "s/BATCH/8/g; s/ROWS/48/g" %s | echelon-opt --rebatch -o %t.kept
// RUN: diff %t.for8 %t.kept
// RUN: sed "s/BATCH/8/g; s/ROWS/48/g" %s | echelon-opt --rebatch=micro=8 -o %t.same
// RUN: diff %t.for8 %t.same

module attributes {graph.batch = BATCH : i64} {
  graph.variable parameter @tokens : tensor<50x16xf32> = #graph.init<normal, 0.0 : f64, 0.02 : f64> {trainable = true}
  graph.variable parameter @positions : tensor<10x16xf32> = #graph.init<normal, 0.0 : f64, 0.02 : f64> {trainable = true}
  graph.variable parameter @scale : tensor<16xf32> = #graph.init<constant, 1.0 : f64, 0.0 : f64> {trainable = true}
  graph.variable parameter @qkv : tensor<16x48xf32> = #graph.init<normal, 0.0 : f64, 0.02 : f64> {trainable = true}
  graph.variable parameter @head : tensor<16x50xf32> = #graph.init<normal, 0.0 : f64, 0.02 : f64> {trainable = true}
  func.func @forward(%ids: tensor<BATCHx6xi64> {graph.name = "input_ids"}, %labels: tensor<BATCHx6xi64> {graph.name = "labels"}) -> (tensor<BATCHx6x50xf32>, tensor<f32>) {
    // Rows of a table, and positions that no input reaches: they are repeated for each row of the batch.
    %tokens = graph.read @tokens : tensor<50x16xf32>
    %table = graph.read @positions : tensor<10x16xf32>
    %embedded = graph.embedding %tokens, %ids : (tensor<50x16xf32>, tensor<BATCHx6xi64>) -> tensor<BATCHx6x16xf32>
    %cut = graph.slice %table {offsets = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<10x16xf32>) -> tensor<6x16xf32>
    %repeated = graph.broadcast %cut {dims = array<i64: 1, 2>} : (tensor<6x16xf32>) -> tensor<BATCHx6x16xf32>
    %positions = graph.unary tanh %repeated : tensor<BATCHx6x16xf32>
    %x = graph.binary add %embedded, %positions : tensor<BATCHx6x16xf32>
    // A norm over the last dim; a constant of the batch's shape that has two users.
    %scale = graph.read @scale : tensor<16xf32>
    %normal = graph.rms_norm %x, %scale {epsilon = 1.0e-6 : f64} : (tensor<BATCHx6x16xf32>, tensor<16xf32>) -> tensor<BATCHx6x16xf32>
    %two = graph.constant dense<2.0> : tensor<BATCHx6x16xf32> : tensor<BATCHx6x16xf32>
    %doubled = graph.binary mul %normal, %two : tensor<BATCHx6x16xf32>
    %more = graph.binary add %doubled, %two : tensor<BATCHx6x16xf32>
    // The batch merged with the sequence and split again.
    %qkv = graph.read @qkv : tensor<16x48xf32>
    %rows = graph.reshape %more : (tensor<BATCHx6x16xf32>) -> tensor<ROWSx16xf32>
    %product = graph.einsum "m k, k n -> m n" %rows, %qkv : (tensor<ROWSx16xf32>, tensor<16x48xf32>) -> tensor<ROWSx48xf32>
    %split = graph.reshape %product : (tensor<ROWSx48xf32>) -> tensor<BATCHx6x3x2x8xf32>
    %q1 = graph.slice %split {offsets = array<i64: 0, 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>} : (tensor<BATCHx6x3x2x8xf32>) -> tensor<BATCHx6x1x2x8xf32>
    %q = graph.reshape %q1 : (tensor<BATCHx6x1x2x8xf32>) -> tensor<BATCHx6x2x8xf32>
    %k1 = graph.slice %split {offsets = array<i64: 0, 0, 1, 0, 0>, strides = array<i64: 1, 1, 1, 1, 1>} : (tensor<BATCHx6x3x2x8xf32>) -> tensor<BATCHx6x1x2x8xf32>
    %k = graph.reshape %k1 : (tensor<BATCHx6x1x2x8xf32>) -> tensor<BATCHx6x2x8xf32>
    // A mask of one row a batch row, the same for all.
    %seen = graph.constant dense<[[0.0, 0.0, 0.0, 0.0, -1.0, -2.0]]> : tensor<1x6xf32> : tensor<1x6xf32>
    %row = graph.reshape %seen : (tensor<1x6xf32>) -> tensor<6xf32>
    %mask = graph.broadcast %row {dims = array<i64: 3>} : (tensor<6xf32>) -> tensor<BATCHx1x6x6xf32>
    %out, %lse = graph.attention %q, %k, %q, %mask {causal = true, scale = 0.5 : f64} : (tensor<BATCHx6x2x8xf32>, tensor<BATCHx6x2x8xf32>, tensor<BATCHx6x2x8xf32>, tensor<BATCHx1x6x6xf32>) -> (tensor<BATCHx6x2x8xf32>, tensor<BATCHx2x6xf32>)
    // Other dims joined, moved and chosen by a comparison with the labels.
    %merged = graph.reshape %out : (tensor<BATCHx6x2x8xf32>) -> tensor<BATCHx6x16xf32>
    %head = graph.read @head : tensor<16x50xf32>
    %logits = graph.einsum "b s d, d v -> b s v" %merged, %head : (tensor<BATCHx6x16xf32>, tensor<16x50xf32>) -> tensor<BATCHx6x50xf32>
    %none = graph.constant dense<-1> : tensor<BATCHx6xi64> : tensor<BATCHx6xi64>
    %valid = graph.compare ne %labels, %none : (tensor<BATCHx6xi64>, tensor<BATCHx6xi64>) -> tensor<BATCHx6xi1>
    %counted = graph.convert %valid : (tensor<BATCHx6xi1>) -> tensor<BATCHx6xf32>
    %total = graph.reduce sum %counted over [0, 1] : (tensor<BATCHx6xf32>) -> tensor<f32>
    return %logits, %total : tensor<BATCHx6x50xf32>, tensor<f32>
  }
}

// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --attach-optimizer="lr=0.5 beta1=0.25 beta2=0.75 eps=0.125 weight-decay=0.0625 schedule=cosine warmup-steps=3 total-steps=7 min-lr=0.03125 no-decay=@1d,head*" | FileCheck %s --check-prefixes=CHECK,PLAIN
// RUN: echelon-opt %s --attach-optimizer="clip-norm=2.0 weight-decay=0.0625 no-decay=@embedding" | FileCheck %s --check-prefixes=CLIP,ROLE

graph.variable parameter @body : tensor<4x3xf32> = #graph.init<normal, 0.0 : f64, 1.0 : f64> {trainable = true}
graph.variable parameter @bias : tensor<3xf32> = #graph.init<normal, 0.0 : f64, 1.0 : f64> {trainable = true, role = "bias"}
graph.variable parameter @head.weight : tensor<3x5xf32> = #graph.init<normal, 0.0 : f64, 1.0 : f64> {trainable = true, role = "embedding"}
graph.variable gradient @grad.body : tensor<4x3xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64> {owner = @body}
graph.variable gradient @grad.bias : tensor<3xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64> {owner = @bias}
graph.variable gradient @grad.head : tensor<3x5xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64> {owner = @head.weight}
graph.variable metric @echelon.loss_count : tensor<f32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>

// Two states of the parameter's shape, owned by it, and the metrics of the step.
// CHECK: graph.variable optimizer @body.exp_avg : tensor<4x3xf32> = #graph.init<constant, 0.000000e+00 : f64, 0.000000e+00 : f64> {owner = @body}
// CHECK: graph.variable optimizer @body.exp_avg_sq : tensor<4x3xf32> = {{.*}} {owner = @body}
// CHECK: graph.variable optimizer @head.weight.exp_avg : tensor<3x5xf32> = {{.*}} {owner = @head.weight}
// CHECK: graph.variable metric @echelon.gradient_square_sum : tensor<f32>
// CHECK: graph.variable metric @echelon.learning_rate : tensor<f32>

// Gradients are of the loss sum: one division by the count of the whole step, by at least 1.
// CHECK-LABEL: func @update
// CHECK: %[[ONE:.*]] = graph.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[COUNT:.*]] = graph.read @echelon.loss_count
// CHECK: %[[DIVISOR:.*]] = graph.binary max %[[COUNT]], %[[ONE]]
// CHECK: %[[INVERSE:.*]] = graph.binary div %[[ONE]], %[[DIVISOR]]

// One sum of squares over all gradients, before clipping.
// CHECK: %[[G0:.*]] = graph.read @grad.body
// CHECK: %[[SQUARE0:.*]] = graph.binary mul %[[G0]], %[[G0]]
// CHECK: %[[SUM0:.*]] = graph.reduce sum %[[SQUARE0]] over [0, 1]
// CHECK: %[[SUM1:.*]] = graph.reduce sum %{{.*}} over [0]
// CHECK: %[[SUM01:.*]] = graph.binary add %[[SUM0]], %[[SUM1]]
// CHECK: %[[SUM2:.*]] = graph.reduce sum %{{.*}} over [0, 1]
// CHECK: %[[SUM:.*]] = graph.binary add %[[SUM01]], %[[SUM2]]
// CHECK: graph.assign %[[SUM]] to @echelon.gradient_square_sum

// Without clipping the gradients are only divided by the count.
// PLAIN: %[[RATE:.*]] = graph.learning_rate {base = 5.000000e-01 : f64, min_lr = 3.125000e-02 : f64, schedule = #graph<schedule_kind cosine>, total_steps = 7 : i64, warmup_steps = 3 : i64}
// PLAIN: graph.assign %[[RATE]] to @echelon.learning_rate
// PLAIN: %[[BIAS:.*]] = graph.adam_bias {beta1 = 2.500000e-01 : f64, beta2 = 7.500000e-01 : f64}
// PLAIN: %[[P:.*]] = graph.read @body
// PLAIN: %[[G:.*]] = graph.read @grad.body
// PLAIN: %[[M:.*]] = graph.read @body.exp_avg :
// PLAIN: %[[V:.*]] = graph.read @body.exp_avg_sq
// PLAIN: %[[NEW_P:.*]], %[[NEW_M:.*]], %[[NEW_V:.*]] = graph.adamw %[[P]], %[[G]], %[[M]], %[[V]], %[[INVERSE]], %[[RATE]], %[[BIAS]] {beta1 = 2.500000e-01 : f64, beta2 = 7.500000e-01 : f64, epsilon = 1.250000e-01 : f64, weight_decay = 6.250000e-02 : f64}
// PLAIN: graph.assign %[[NEW_P]] to @body :
// PLAIN: graph.assign %[[NEW_M]] to @body.exp_avg :
// PLAIN: graph.assign %[[NEW_V]] to @body.exp_avg_sq
// The update leaves the gradient zero.
// PLAIN: %[[ZERO:.*]] = graph.constant dense<0.000000e+00> : tensor<4x3xf32>
// PLAIN: graph.assign %[[ZERO]] to @grad.body
// By rank and by glob, these two do not decay.
// PLAIN: graph.adamw {{.*}}weight_decay = 0.000000e+00 : f64
// PLAIN: graph.adamw {{.*}}weight_decay = 0.000000e+00 : f64
// PLAIN-NOT: graph.adamw

// Clipping: min(limit / (norm + 1e-6), 1) with the norm of the mean's gradient.
// CLIP: %[[ONE:.*]] = graph.constant dense<1.000000e+00> : tensor<f32>
// CLIP: %[[INVERSE:.*]] = graph.binary div %[[ONE]]
// CLIP: graph.assign %[[SUM:.*]] to @echelon.gradient_square_sum
// CLIP: %[[ROOT:.*]] = graph.unary sqrt %[[SUM]]
// CLIP: %[[NORM:.*]] = graph.binary mul %[[ROOT]], %[[INVERSE]]
// CLIP: %[[LIMIT:.*]] = graph.constant dense<2.000000e+00>
// CLIP: %[[SMALL:.*]] = graph.constant dense<9.99999997E-7>
// CLIP: %[[SAFE:.*]] = graph.binary add %[[NORM]], %[[SMALL]]
// CLIP: %[[RATIO:.*]] = graph.binary div %[[LIMIT]], %[[SAFE]]
// CLIP: %[[SHRINK:.*]] = graph.binary min %[[RATIO]], %[[ONE]]
// CLIP: %[[FACTOR:.*]] = graph.binary mul %[[INVERSE]], %[[SHRINK]]
// CLIP: graph.learning_rate {base = 1.000000e-03 : f64, {{.*}}schedule = #graph<schedule_kind constant>
// CLIP: graph.adamw %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[FACTOR]], {{.*}}weight_decay = 6.250000e-02 : f64
// By role, only the embedding does not decay.
// ROLE: graph.adamw {{.*}}weight_decay = 6.250000e-02 : f64
// ROLE: graph.adamw {{.*}}weight_decay = 0.000000e+00 : f64
// ROLE-NOT: graph.adamw

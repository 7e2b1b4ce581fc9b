// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --plan-parallelism=accumulate=3 | FileCheck %s
// RUN: echelon-opt %s --plan-parallelism="micro=2 accumulate=3" | FileCheck %s --check-prefix=MICRO
// Equal inputs give equal plans.
// RUN: echelon-opt %s --plan-parallelism=accumulate=3 -o %t.first
// RUN: echelon-opt %s --plan-parallelism=accumulate=3 -o %t.second
// RUN: diff %t.first %t.second

// One rank: an empty mesh, one stage, every dim of every parameter whole. Gradients and metrics follow their owners.
// CHECK: dist.plan = "{\22schema\22:\22echelon.plan/1\22,\22world\22:1,\22mesh\22:[],\22batch\22:{\22micro\22:8,\22accumulate\22:3},\22stages\22:[\22all\22],\22sharding\22:{\22w\22:{{\[\[}}],[]],\22scalar\22:[]}}"
// CHECK-SAME: dist.plan_hash = "{{([0-9a-f]{16})}}"

// The spec's rows win over the model's.
// MICRO: \22batch\22:{\22micro\22:2,\22accumulate\22:3}
module attributes {graph.batch = 8 : i64} {
  graph.variable parameter @w : tensor<4x3xf32> = #graph.init<normal, 0.0 : f64, 1.0 : f64>
  graph.variable gradient @grad.w : tensor<4x3xf32> = #graph.init<constant, 0.0 : f64, 0.0 : f64> {owner = @w}
  graph.variable parameter @scalar : tensor<f32> = #graph.init<normal, 0.0 : f64, 1.0 : f64>
}

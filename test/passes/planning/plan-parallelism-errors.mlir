// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --plan-parallelism --verify-diagnostics

// expected-error @+1 {{the rows of a microbatch are not known (graph.batch is missing)}}
module {
}

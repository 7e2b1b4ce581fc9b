// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --schedule-microbatches=accumulate=0 --verify-diagnostics

// expected-error @+1 {{batch.accumulate is 0, it must be at least 1}}
module {
}

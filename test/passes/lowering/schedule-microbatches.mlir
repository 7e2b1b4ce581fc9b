// SPDX-License-Identifier: Apache-2.0
// RUN: echelon-opt %s --schedule-microbatches=accumulate=3 | FileCheck %s
// RUN: echelon-opt %s --schedule-microbatches | FileCheck %s --check-prefix=ONE

// One stage: each microbatch forward and backward, then the update.
// CHECK: exec.schedule = {{\[\[}}"forward_backward 0", "forward_backward 1", "forward_backward 2", "update"{{\]\]}}
// ONE: exec.schedule = {{\[\[}}"forward_backward 0", "update"{{\]\]}}
module {
}

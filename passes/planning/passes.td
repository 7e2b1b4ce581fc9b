// SPDX-License-Identifier: Apache-2.0
// Phase 2: the plan.
include "mlir/Pass/PassBase.td"

def PlanParallelismPass : Pass<"plan-parallelism", "::mlir::ModuleOp"> {
  let summary = "Writes the plan and its hash on the module";
  let description = [{
    The plan of one rank: the whole model on one device, gradient accumulation as a one-stage schedule. Test:
    test/passes/planning/plan-parallelism.mlir.
  }];
  let options = [Option<"micro", "micro", "int64_t", "0", "rows of a microbatch; 0: the model's batch">,
                 Option<"accumulate", "accumulate", "int64_t", "1", "microbatches of a step">];
}

// SPDX-License-Identifier: Apache-2.0
//
// Writes the step's schedule on the module: one list of actions a stage.
#include "dialects/dist/schedule.h"
#include "mlir/IR/Builders.h"
#include "passes/lowering/passes.h"

using namespace mlir;

namespace echelon::lowering {
#define GEN_PASS_DEF_SCHEDULEMICROBATCHESPASS
#include "passes/lowering/passes.h.inc"

namespace {

struct ScheduleMicrobatchesPass : impl::ScheduleMicrobatchesPassBase<ScheduleMicrobatchesPass> {
  using ScheduleMicrobatchesPassBase::ScheduleMicrobatchesPassBase;

  void runOnOperation() override {
    if (accumulate < 1) {
      getOperation().emitError() << "batch.accumulate is " << int64_t(accumulate) << ", it must be at least 1";
      return signalPassFailure();
    }
    Builder builder(&getContext());
    SmallVector<Attribute> stages;
    for (const auto &stage : accumulationSchedule(accumulate)) {
      SmallVector<Attribute> actions;
      for (const ScheduleAction &action : stage)
        actions.push_back(builder.getStringAttr(action.kind == ScheduleAction::Update
                                                    ? std::string("update")
                                                    : "forward_backward " + std::to_string(action.microbatch)));
      stages.push_back(builder.getArrayAttr(actions));
    }
    getOperation()->setAttr("exec.schedule", builder.getArrayAttr(stages));
  }
};

} // namespace
} // namespace echelon::lowering

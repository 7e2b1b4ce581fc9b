// SPDX-License-Identifier: Apache-2.0
//
// Who does which microbatch when: a schedule as one list of actions a stage. With one stage it is gradient
// accumulation. Free of IR: planner and lowering read the same lists.
#ifndef ECHELON_DIALECTS_DIST_SCHEDULE_H
#define ECHELON_DIALECTS_DIST_SCHEDULE_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace echelon {

struct ScheduleAction {
  enum Kind { ForwardBackward, Update } kind;
  int64_t microbatch; ///< 0-based; 0 for Update
  bool operator==(const ScheduleAction &other) const { return kind == other.kind && microbatch == other.microbatch; }
};

/// One list of actions for each stage.
using Schedule = llvm::SmallVector<llvm::SmallVector<ScheduleAction, 8>, 1>;

/// One stage: `accumulate` >= 1 microbatches, forward and backward each, then the update.
Schedule accumulationSchedule(int64_t accumulate);

} // namespace echelon

#endif

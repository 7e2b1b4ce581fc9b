// SPDX-License-Identifier: Apache-2.0
//
// Schedules as lists.
#include "dialects/dist/schedule.h"

namespace echelon {

Schedule accumulationSchedule(int64_t accumulate) {
  Schedule schedule(1);
  for (int64_t microbatch = 0; microbatch < accumulate; ++microbatch)
    schedule[0].push_back({ScheduleAction::ForwardBackward, microbatch});
  schedule[0].push_back({ScheduleAction::Update, 0});
  return schedule;
}

} // namespace echelon

// SPDX-License-Identifier: Apache-2.0
//
// Gradient accumulation as a one-stage schedule.
#include "dialects/dist/schedule.h"
#include <gtest/gtest.h>

using namespace echelon;

TEST(Schedule, AccumulationIsMicrobatchesThenUpdate) {
  Schedule schedule = accumulationSchedule(3);
  ASSERT_EQ(schedule.size(), 1u);
  ASSERT_EQ(schedule[0].size(), 4u);
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_EQ(schedule[0][i], (ScheduleAction{ScheduleAction::ForwardBackward, i}));
  EXPECT_EQ(schedule[0][3], (ScheduleAction{ScheduleAction::Update, 0}));
}

TEST(Schedule, WithoutAccumulationOneMicrobatch) {
  EXPECT_EQ(accumulationSchedule(1)[0].size(), 2u);
  EXPECT_EQ(accumulationSchedule(1)[0].back().kind, ScheduleAction::Update);
}

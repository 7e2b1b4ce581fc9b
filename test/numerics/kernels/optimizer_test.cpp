// SPDX-License-Identifier: Apache-2.0
//
// The schedule and Adam's bias corrections against hand-computed values.
#include "test/numerics/kernels/launch.h"

#include <gtest/gtest.h>

using namespace echelon::test;

namespace {

float rateAt(int64_t kind, int64_t warmup, int64_t total, int64_t step) {
  ech_launch launch = {};
  launch.step = step;
  const ech_learning_rate d = {kind, warmup, total, 0.8, 0.2};
  float rate = kNaN;
  ech_learning_rate_f32(&launch, &d, &rate);
  return rate;
}

TEST(LearningRate, WarmupRisesByEqualSteps) {
  // base (t + 1) / warmup: 0.8 / 4 = 0.2 a step, base at the last warmup step.
  for (int64_t kind : {0, 1, 2}) {
    EXPECT_FLOAT_EQ(rateAt(kind, 4, 100, 0), 0.2f);
    EXPECT_FLOAT_EQ(rateAt(kind, 4, 100, 2), 0.6f);
    EXPECT_FLOAT_EQ(rateAt(kind, 4, 100, 3), 0.8f);
    EXPECT_FLOAT_EQ(rateAt(kind, 4, 100, 4), 0.8f); // progress 0
  }
}

TEST(LearningRate, Constant) {
  EXPECT_FLOAT_EQ(rateAt(0, 0, 0, 0), 0.8f);
  EXPECT_FLOAT_EQ(rateAt(0, 0, 10, 1000000), 0.8f);
}

TEST(LearningRate, LinearReachesTheMinimumAtTheLastStep) {
  // Steps 0 .. 10: a tenth of 0.6 less each.
  EXPECT_FLOAT_EQ(rateAt(1, 0, 11, 0), 0.8f);
  EXPECT_FLOAT_EQ(rateAt(1, 0, 11, 1), 0.74f);
  EXPECT_FLOAT_EQ(rateAt(1, 0, 11, 5), 0.5f);
  EXPECT_FLOAT_EQ(rateAt(1, 0, 11, 10), 0.2f);
  EXPECT_FLOAT_EQ(rateAt(1, 0, 11, 11), 0.2f);
  // Warmup 2: progress (t - 2) / 8, so 0.8 - 0.6 * 3 / 8 at t = 5.
  EXPECT_FLOAT_EQ(rateAt(1, 2, 11, 5), 0.575f);
}

TEST(LearningRate, CosineIsHalfwayInTheMiddle) {
  EXPECT_FLOAT_EQ(rateAt(2, 0, 13, 0), 0.8f);
  // Progress 1/3: 0.2 + 0.3 (1 + cos 60 degrees) = 0.65.
  EXPECT_FLOAT_EQ(rateAt(2, 0, 13, 4), 0.65f);
  EXPECT_FLOAT_EQ(rateAt(2, 0, 13, 6), 0.5f);
  EXPECT_FLOAT_EQ(rateAt(2, 0, 13, 12), 0.2f);
  EXPECT_FLOAT_EQ(rateAt(2, 0, 13, 999), 0.2f);
}

TEST(LearningRate, ScheduleThatEndsWithItsWarmup) {
  EXPECT_FLOAT_EQ(rateAt(2, 4, 4, 3), 0.8f);
  EXPECT_FLOAT_EQ(rateAt(2, 4, 4, 4), 0.2f);
  EXPECT_FLOAT_EQ(rateAt(1, 0, 1, 0), 0.2f);
}

TEST(LearningRateDeathTest, UnknownKind) {
  EXPECT_DEATH(rateAt(7, 0, 10, 1), "unknown schedule kind 7");
}

TEST(AdamBias, FirstStepsAndTheLimit) {
  ech_launch launch = {};
  const ech_adam_bias d = {0.9, 0.999};
  float out[2] = {kNaN, kNaN};
  launch.step = 0; // 1 / 0.1, 1 / sqrt(0.001)
  ech_adam_bias_f32(&launch, &d, out);
  EXPECT_FLOAT_EQ(out[0], 10.0f);
  EXPECT_FLOAT_EQ(out[1], 31.6227766f);
  launch.step = 1; // 1 / 0.19, 1 / sqrt(0.001999)
  ech_adam_bias_f32(&launch, &d, out);
  EXPECT_FLOAT_EQ(out[0], 5.26315789f);
  EXPECT_FLOAT_EQ(out[1], 22.3662722f);
  launch.step = 10000000;
  ech_adam_bias_f32(&launch, &d, out);
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[1], 1.0f);
}

} // namespace

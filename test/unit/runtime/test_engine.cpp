// SPDX-License-Identifier: Apache-2.0
//
// Random initial values, conversions, the numeric check and the check of
// programs.
#include "runtime/engine/initial_values.h"
#include "runtime/engine/numeric_check.h"
#include "runtime/engine/program_check.h"
#include "runtime/engine/weights.h"
#include "runtime/io/input_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

using namespace echelon::runtime;

namespace {

// Known answers of philox4x32-10 from the Random123 distribution
// (tests/kat_vectors).
TEST(InitialValues, PhiloxKnownAnswers) {
  PhiloxBlock zeros = philox(0, 0, 0);
  EXPECT_EQ(zeros.words[0], 0x6627e8d5u);
  EXPECT_EQ(zeros.words[1], 0xe169c58du);
  EXPECT_EQ(zeros.words[2], 0xbc57ac4cu);
  EXPECT_EQ(zeros.words[3], 0x9b00dbd8u);
  PhiloxBlock ones = philox(UINT64_MAX, UINT64_MAX, UINT64_MAX);
  EXPECT_EQ(ones.words[0], 0x408f276du);
  EXPECT_EQ(ones.words[1], 0x41c83b0eu);
  EXPECT_EQ(ones.words[2], 0xa20bc7c6u);
  EXPECT_EQ(ones.words[3], 0x6d5451fdu);
}

struct Moments {
  double mean = 0, deviation = 0;
  float low = INFINITY, high = -INFINITY;
};

Moments momentsOf(const std::vector<float> &values) {
  Moments m;
  for (float value : values) {
    m.mean += value;
    m.low = std::min(m.low, value);
    m.high = std::max(m.high, value);
  }
  m.mean /= static_cast<double>(values.size());
  for (float value : values)
    m.deviation += (value - m.mean) * (value - m.mean);
  m.deviation = std::sqrt(m.deviation / static_cast<double>(values.size()));
  return m;
}

TEST(InitialValues, DistributionsHaveTheirMoments) {
  ThreadPool pool;
  ASSERT_TRUE(pool.start(1).isOk());
  std::vector<float> values(1 << 20);
  fillNormal(pool, values.data(), values.size(), 3, 2, 1, 2);
  Moments normal = momentsOf(values);
  // Standard errors for 2^20 values: 2e-3 of the mean, 1.4e-3 of the deviation;
  // five of them.
  EXPECT_NEAR(normal.mean, 3, 0.01);
  EXPECT_NEAR(normal.deviation, 2, 0.007);
  fillUniform(pool, values.data(), values.size(), -1, 3, 1, 2);
  Moments uniform = momentsOf(values);
  EXPECT_NEAR(uniform.mean, 1, 0.006);
  EXPECT_NEAR(uniform.deviation, 4 / std::sqrt(12.0), 0.003);
  EXPECT_GE(uniform.low, -1);
  EXPECT_LT(uniform.high, 3);
  EXPECT_GT(uniform.high, 2.999f);
}

TEST(InitialValues, ArePureFunctionsOfTheIndex) {
  ThreadPool one, three;
  ASSERT_TRUE(one.start(1).isOk());
  ASSERT_TRUE(three.start(3).isOk());
  std::vector<float> a(70001), b(70001), shorter(777);
  fillNormal(one, a.data(), a.size(), 0, 1, 5, 6);
  fillNormal(three, b.data(), b.size(), 0, 1, 5, 6);
  fillNormal(one, shorter.data(), shorter.size(), 0, 1, 5, 6);
  EXPECT_EQ(a, b);
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), a.begin()));
  fillNormal(one, b.data(), b.size(), 0, 1, 5, 7);
  EXPECT_NE(a, b);
  fillNormal(one, b.data(), b.size(), 0, 1, 6, 6);
  EXPECT_NE(a, b);
}

TEST(Weights, Conversions) {
  const double wide[] = {1.5, -1e300, 1e-300};
  const uint16_t half[] = {0x3F80, 0xC000, 0x7F80};
  float out[3];
  convertToF32(reinterpret_cast<const uint8_t *>(wide), ECH_F64, 3, out);
  EXPECT_EQ(out[0], 1.5f);
  EXPECT_EQ(out[1], -INFINITY);
  EXPECT_EQ(out[2], 0.0f);
  convertToF32(reinterpret_cast<const uint8_t *>(half), ECH_BF16, 3, out);
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[1], -2.0f);
  EXPECT_EQ(out[2], INFINITY);
}

TEST(NumericCheck, RemembersTheFirstPlace) {
  ech_launch launch = {};
  launch.step = 4;
  launch.microbatch = 2;
  NumericCheck check;
  check.attach(launch);
  EXPECT_FALSE(check.wasCalled());
  float values[5] = {1, 2, 3, 4, std::numeric_limits<float>::max()};
  launch.check_numerics(&launch, "first", values, 5);
  EXPECT_TRUE(check.wasCalled());
  EXPECT_TRUE(check.result().isOk());
  values[3] = -INFINITY;
  launch.check_numerics(&launch, "second", values, 3);
  EXPECT_TRUE(check.result().isOk());
  launch.check_numerics(&launch, "third", values, 5);
  values[0] = NAN;
  launch.check_numerics(&launch, "fourth", values, 5);
  Status status = check.result();
  EXPECT_EQ(status.code, ECH_EXIT_NUMERIC);
  EXPECT_EQ(status.step, 4);
  EXPECT_EQ(status.message,
            "'third' gave -inf at element 3 of 5 in microbatch 2: the first "
            "result that is not finite");
}

TEST(InputCheck, Ranges) {
  ech_input input = {};
  input.name = "ids";
  input.dtype = ECH_I64;
  input.limit = 10;
  const int64_t good[] = {-10, 0, 9}, high[] = {0, 10}, low[] = {-11};
  EXPECT_TRUE(checkIndices(input, good, 3, 0, 0).isOk());
  Status status = checkIndices(input, high, 2, 5, 100);
  EXPECT_EQ(status.step, 5);
  EXPECT_EQ(status.message, "input 'ids' has value 10 at position 101, outside "
                            "of [-10, 10)");
  EXPECT_EQ(checkIndices(input, low, 1, 0, 0).code, ECH_EXIT_INPUT);
  input.role = ECH_ROLE_LABELS;
  input.ignore_index = -100;
  const int64_t labels[] = {0, 9, -100}, negative[] = {-1};
  EXPECT_TRUE(checkIndices(input, labels, 3, 0, 0).isOk());
  EXPECT_FALSE(checkIndices(input, negative, 1, 0, 0).isOk());
  input.dtype = ECH_I32;
  const int32_t narrow[] = {3, 11};
  EXPECT_FALSE(checkIndices(input, narrow, 2, 0, 0).isOk());
  input.limit = 0;
  EXPECT_TRUE(checkIndices(input, narrow, 2, 0, 0).isOk());
}

class ProgramCheck : public testing::Test {
protected:
  ProgramCheck() {
    variable.name = "w";
    variable.rank = 1;
    variable.shape = shape;
    variable.bytes = 16;
    variable.init = ECH_INIT_CONSTANT;
    variable.owner = -1;
    input.name = "x";
    input.rank = 2;
    input.shape = inputShape;
    input.bytes = 2 * 3 * 4;
    program.abi_version = ECH_ABI_VERSION;
    program.struct_bytes = sizeof(ech_program);
    program.world_size = 1;
    program.micro = 2;
    program.accumulate = 1;
    program.arenas[ECH_ARENA_PARAMETERS].bytes = 64;
    program.arenas[ECH_ARENA_METRICS].bytes = 64;
    program.arenas[ECH_ARENA_INPUTS].bytes = 64;
    program.variables = &variable;
    program.variable_count = 1;
    program.inputs = &input;
    program.input_count = 1;
    program.microbatch = program.update = [](const ech_launch *) {};
  }

  const int64_t shape[1] = {4};
  const int64_t inputShape[2] = {2, 3};
  ech_variable variable = {};
  ech_input input = {};
  ech_program program = {};
};

TEST_F(ProgramCheck, AcceptsAGoodProgram) {
  EXPECT_TRUE(checkProgram(program).isOk());
}

TEST_F(ProgramCheck, RefusesAnotherContract) {
  program.abi_version = 99;
  EXPECT_EQ(checkProgram(program).code, ECH_EXIT_INTERNAL);
  program.abi_version = ECH_ABI_VERSION;
  program.struct_bytes -= 8;
  EXPECT_EQ(checkProgram(program).code, ECH_EXIT_INTERNAL);
}

TEST_F(ProgramCheck, RefusesMoreRanks) {
  program.world_size = 2;
  EXPECT_EQ(checkProgram(program).code, ECH_EXIT_USAGE);
}

TEST_F(ProgramCheck, RefusesAddressesOutside) {
  auto isRefused = [&] {
    return checkProgram(program).code == ECH_EXIT_INTERNAL;
  };
  variable.offset = 52;
  EXPECT_TRUE(isRefused());
  variable.offset = UINT64_MAX - 3;
  EXPECT_TRUE(isRefused());
  variable.offset = 48;
  EXPECT_FALSE(isRefused());
  variable.bytes = 12;
  EXPECT_TRUE(isRefused());
  variable.bytes = 16;
  program.metric_loss_count = 64;
  EXPECT_TRUE(isRefused());
  program.metric_loss_count = 4;
  program.micro = 3;
  EXPECT_TRUE(isRefused());
  program.micro = 2;
  variable.init = ECH_INIT_FILE;
  EXPECT_TRUE(isRefused());
}

} // namespace

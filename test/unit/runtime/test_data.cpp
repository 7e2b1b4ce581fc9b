// SPDX-License-Identifier: Apache-2.0
//
// The data order of a session: every sample once an epoch, labels one token
// ahead, the same rows however a step is cut into microbatches and wherever it
// is resumed.
#include "runtime/engine/session.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <unistd.h>

using namespace echelon::runtime;

namespace {

constexpr int64_t kMicro = 3, kSequence = 5;
constexpr int kSamples = 20;

class DataOrder : public testing::Test {
protected:
  void SetUp() override {
    path = testing::TempDir() + "echelon-" + std::to_string(getpid()) + ".bin";
    FILE *file = fopen(path.c_str(), "wb");
    // Token i has the value i, so that a row shows which sample it is; 3 tokens
    // are left over.
    for (uint16_t i = 0; i < kSamples * kSequence + 1 + 3; ++i)
      fwrite(&i, 2, 1, file);
    fclose(file);
    for (int i = 0; i < 2; ++i) {
      inputs[i].name = i ? "labels" : "ids";
      inputs[i].dtype = ECH_I64;
      inputs[i].rank = 2;
      inputs[i].shape = shape;
      inputs[i].bytes = kMicro * kSequence * 8;
      inputs[i].offset = i * 128;
      inputs[i].role = i ? ECH_ROLE_LABELS : ECH_ROLE_TOKENS;
    }
    for (ech_arena &arena : program.arenas)
      arena.name = "arena";
    program.arenas[ECH_ARENA_INPUTS].bytes = 256;
    program.inputs = inputs;
    program.input_count = 2;
    program.micro = kMicro;
    program.accumulate = 2;
    program.seed = 4;
  }
  void TearDown() override { unlink(path.c_str()); }

  // The samples of `microbatches` microbatches from position `samples` on.
  std::vector<int64_t> rows(uint64_t samples, int64_t microbatches) {
    Options options;
    options.data = path;
    options.steps = 1;
    Session session(program, options);
    EXPECT_TRUE(openData(session).isOk());
    EXPECT_TRUE(openDevice(session).isOk());
    EXPECT_EQ(session.tokens->samples(), uint64_t{kSamples});
    session.state.samples = samples;
    std::vector<int64_t> found;
    for (int64_t i = 0; i < microbatches; ++i) {
      EXPECT_TRUE(fillInputs(session, i).isOk());
      const int64_t *ids = session.device.at<int64_t>(ECH_ARENA_INPUTS, 0);
      const int64_t *labels = session.device.at<int64_t>(ECH_ARENA_INPUTS, 128);
      for (int64_t j = 0; j < kMicro * kSequence; ++j) {
        EXPECT_EQ(labels[j], ids[j] + 1);
        EXPECT_EQ(ids[j], ids[j - j % kSequence] + j % kSequence);
      }
      for (int64_t row = 0; row < kMicro; ++row) {
        EXPECT_EQ(ids[row * kSequence] % kSequence, 0);
        found.push_back(ids[row * kSequence] / kSequence);
      }
    }
    return found;
  }

  const int64_t shape[2] = {kMicro, kSequence};
  std::string path;
  ech_input inputs[2] = {};
  ech_program program = {};
};

TEST_F(DataOrder, EachEpochHasEachSampleOnce) {
  // 20 microbatches of 3 rows are three epochs of 20; batches straddle their
  // borders.
  std::vector<int64_t> order = rows(0, 20);
  std::vector<std::vector<int64_t>> epochs;
  for (int epoch = 0; epoch < 3; ++epoch) {
    epochs.emplace_back(order.begin() + epoch * kSamples,
                        order.begin() + (epoch + 1) * kSamples);
    std::set<int64_t> unique(epochs.back().begin(), epochs.back().end());
    EXPECT_EQ(unique.size(), size_t{kSamples});
    EXPECT_EQ(*unique.rbegin(), kSamples - 1);
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[1], epochs[2]);
}

TEST_F(DataOrder, PositionIsTheWholeState) {
  std::vector<int64_t> order = rows(0, 20), parts;
  for (uint64_t start : {0u, 6u, 12u}) {
    std::vector<int64_t> part = rows(start, 2);
    parts.insert(parts.end(), part.begin(), part.end());
  }
  EXPECT_TRUE(std::equal(parts.begin(), parts.end(), order.begin()));
}

TEST_F(DataOrder, SeedsGiveOtherOrders) {
  std::vector<int64_t> first = rows(0, 6);
  program.seed = 5;
  EXPECT_NE(first, rows(0, 6));
}

TEST_F(DataOrder, WideTokensDoNotWrapInNarrowInputs) {
  std::string wide = path + ".u32.bin";
  FILE *file = fopen(wide.c_str(), "wb");
  for (int i = 0; i < 40; ++i) {
    uint32_t token = 0xFFFFFFFFu; // -1 as an i32, which would be a legal index
    fwrite(&token, 4, 1, file);
  }
  fclose(file);
  for (ech_input &input : inputs) {
    input.dtype = ECH_I32;
    input.bytes /= 2;
    input.limit = 10;
  }
  Options options;
  options.data = wide;
  Session session(program, options);
  EXPECT_TRUE(openData(session).isOk());
  EXPECT_TRUE(openDevice(session).isOk());
  EXPECT_EQ(fillInputs(session, 0).code, ECH_EXIT_INPUT);
  unlink(wide.c_str());
}

TEST_F(DataOrder, OtherInputsNeedBatches) {
  inputs[1].role = ECH_ROLE_FEATURE;
  Result<TokenFile> file = TokenFile::open(path, "", program);
  ASSERT_FALSE(file.isOk());
  EXPECT_EQ(file.status().message,
            "input 'labels' cannot be filled from a token file: use --batches "
            "with a safetensors file");
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
//
// ech_embedding_f32 and ech_embedding_grad_f32: negative and repeated ids,
// padded rows, and the order of additions, which is that of the ids for any
// number of workers.
#include "test/numerics/kernels/launch.h"

#include <gtest/gtest.h>

using namespace echelon::test;

namespace {

struct Case {
  ech_embedding d;
  std::vector<int64_t> ids;
  std::vector<float> table, rows;
};

Case makeCase(Random &random) {
  Case test;
  const int64_t width = random.pick<int64_t>({1, 3, 16, 63, 64, 65, 130, 300});
  test.d = {random.integer(0, 90), random.integer(1, 40), width,
            width + random.integer(0, 3), random.integer(0, 1)};
  // Few distinct ids, so that most repeat.
  for (int64_t i = 0; i < test.d.count; ++i)
    test.ids.push_back(random.integer(-test.d.rows, test.d.rows - 1));
  test.table = random.floats(test.d.rows * width, -1, 1);
  test.rows = random.floats(test.d.count * test.d.out_row, -1, 1);
  return test;
}

size_t tableAt(const ech_embedding &d, int64_t id, int64_t column) {
  return static_cast<size_t>((id < 0 ? id + d.rows : id) * d.width + column);
}

TEST(Embedding, GathersAndLeavesThePaddingAlone) {
  Random random(11);
  for (int i = 0; i < 60; ++i) {
    const Case test = makeCase(random);
    for (int32_t workers : {1, 2, 3}) {
      Launch launch(workers);
      std::vector<float> out(test.rows.size(), kNaN);
      ech_embedding_f32(launch.fresh(), &test.d, test.table.data(),
                        test.ids.data(), out.data());
      for (int64_t r = 0; r < test.d.count; ++r)
        for (int64_t c = 0; c < test.d.out_row; ++c) {
          const float value = out[static_cast<size_t>(r * test.d.out_row + c)];
          if (c >= test.d.width)
            ASSERT_TRUE(std::isnan(value));
          else
            ASSERT_EQ(value, test.table[tableAt(
                                 test.d, test.ids[static_cast<size_t>(r)], c)]);
        }
    }
  }
}

TEST(Embedding, GradientAddsInTheOrderOfTheIds) {
  Random random(12);
  for (int i = 0; i < 60; ++i) {
    const Case test = makeCase(random);
    // The same additions in the same order in f32: equality is exact.
    std::vector<float> expected = test.table;
    if (!test.d.accumulate)
      expected.assign(expected.size(), 0.0f);
    for (int64_t r = 0; r < test.d.count; ++r)
      for (int64_t c = 0; c < test.d.width; ++c)
        expected[tableAt(test.d, test.ids[static_cast<size_t>(r)], c)] +=
            test.rows[static_cast<size_t>(r * test.d.out_row + c)];
    for (int32_t workers : {1, 2, 3, 7}) {
      Launch launch(workers);
      std::vector<float> dtable = test.table;
      if (!test.d.accumulate)
        dtable.assign(dtable.size(), kNaN);
      ech_embedding_grad_f32(launch.fresh(), &test.d, test.ids.data(),
                             test.rows.data(), dtable.data());
      ASSERT_TRUE(sameBits(expected, dtable)) << workers << " workers";
    }
  }
}

TEST(EmbeddingDeathTest, IdsOutsideTheTable) {
  Launch launch(1);
  const ech_embedding d = {2, 5, 1, 1, 0};
  const float table[5] = {};
  float out[5];
  const int64_t high[] = {0, 5}, low[] = {-6, 0};
  EXPECT_DEATH(ech_embedding_f32(&launch.launch, &d, table, high, out),
               "id 5 at position 1 is outside \\[-5, 5\\)");
  EXPECT_DEATH(ech_embedding_grad_f32(&launch.launch, &d, low, table, out),
               "id -6 at position 0 is outside \\[-5, 5\\)");
}

} // namespace

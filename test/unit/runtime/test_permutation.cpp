// SPDX-License-Identifier: Apache-2.0
//
// The sample permutation: a bijection for every size (powers of two and their
// neighbours are where such code goes wrong), uniform for small sizes, frozen
// by golden values.
#include "runtime/io/permutation.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

using namespace echelon::runtime;

namespace {

void expectBijection(uint64_t count, uint64_t seed, uint64_t epoch) {
  Permutation order(count, seed, epoch);
  std::vector<bool> seen(count);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t value = order(i);
    ASSERT_LT(value, count);
    ASSERT_FALSE(seen[value]) << "count " << count << " value " << value;
    seen[value] = true;
  }
}

TEST(Permutation, IsABijection) {
  for (uint64_t count = 1; count <= 300; ++count)
    for (uint64_t seed : {0u, 1u, 99u})
      expectBijection(count, seed, seed % 2);
  for (int bits = 9; bits <= 16; ++bits)
    for (int64_t near = -2; near <= 2; ++near)
      expectBijection((uint64_t{1} << bits) + static_cast<uint64_t>(near), 5,
                      1);
}

TEST(Permutation, HugeRangesEnd) {
  for (uint64_t count :
       {uint64_t{1} << 40, (uint64_t{1} << 62) + 1, (uint64_t{1} << 63) - 1}) {
    Permutation order(count, 1, 2);
    for (uint64_t i = 0; i < 100; ++i)
      EXPECT_LT(order(i), count);
    // An index outside of the range must not walk for ever.
    EXPECT_EQ(order(count + 3), order(3));
  }
}

TEST(Permutation, EpochsAndSeedsDiffer) {
  Permutation a(1000, 1, 0), b(1000, 1, 1), c(1000, 2, 0);
  int sameEpoch = 0, sameSeed = 0, fixed = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    sameEpoch += a(i) == b(i);
    sameSeed += a(i) == c(i);
    fixed += a(i) == i;
  }
  // One of each is expected; ten has a probability of 1e-7.
  EXPECT_LT(sameEpoch, 10);
  EXPECT_LT(sameSeed, 10);
  EXPECT_LT(fixed, 10);
}

TEST(Permutation, AllOrdersOfFourAppearEquallyOften) {
  std::map<std::vector<uint64_t>, int> seen;
  for (uint64_t seed = 0; seed < 24000; ++seed) {
    Permutation order(4, seed, 0);
    ++seen[{order(0), order(1), order(2), order(3)}];
  }
  ASSERT_EQ(seen.size(), 24u);
  // 1000 expected each, standard deviation 31: six of them.
  for (const auto &entry : seen)
    EXPECT_NEAR(entry.second, 1000, 186);
}

// A changed order would break every resume: these values may only change with
// the format number of the checkpoint.
TEST(Permutation, GoldenValues) {
  auto first = [](uint64_t count, uint64_t seed, uint64_t epoch) {
    Permutation order(count, seed, epoch);
    return std::vector<uint64_t>{order(0), order(1), order(2), order(3)};
  };
  EXPECT_EQ(first(1000, 7, 0), (std::vector<uint64_t>{689, 468, 860, 749}));
  EXPECT_EQ(first(65537, 7, 3),
            (std::vector<uint64_t>{61881, 26071, 14278, 16243}));
}

} // namespace

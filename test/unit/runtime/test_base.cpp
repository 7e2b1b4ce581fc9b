// SPDX-License-Identifier: Apache-2.0
//
// Hash, suggestions, text and environment.
#include "runtime/base/environment.h"
#include "runtime/base/hash.h"
#include "runtime/base/suggest.h"
#include "runtime/base/text.h"

#include <gtest/gtest.h>

#include <string>

using namespace echelon::runtime;

namespace {

TEST(Hash, KnownVectors) {
  EXPECT_EQ(xxh64("", 0), 0xef46db3751d8e999u);
  EXPECT_EQ(xxh64("a", 1), 0xd24ec4f1a98c6e5bu);
  EXPECT_EQ(xxh64("abc", 3), 0x44bc2cf5ad770999u);
  // 43 bytes: one stripe of 32, then 8 + 3 of the tail.
  std::string fox = "The quick brown fox jumps over the lazy dog";
  EXPECT_EQ(xxh64(fox.data(), fox.size()), 0x0b242d361fda71bcu);
}

TEST(Hash, AnyPartitionGivesTheSameDigest) {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += static_cast<char>(i * 7);
  for (size_t length = 0; length <= text.size(); ++length)
    for (size_t piece : {1u, 3u, 31u, 32u, 33u, 100u}) {
      Xxh64 hash;
      for (size_t i = 0; i < length; i += piece)
        hash.update(text.data() + i, std::min(piece, length - i));
      ASSERT_EQ(hash.digest(), xxh64(text.data(), length)) << length;
    }
}

TEST(Suggest, EditDistance) {
  EXPECT_EQ(editDistance("", "abc"), 3u);
  EXPECT_EQ(editDistance("steps", "steps"), 0u);
  EXPECT_EQ(editDistance("setps", "steps"), 1u); // neighbours swapped
  EXPECT_EQ(editDistance("bandwith", "bandwidth"), 1u);
  EXPECT_EQ(editDistance("kitten", "sitting"), 3u);
}

TEST(Suggest, NearestName) {
  EXPECT_EQ(nearestName("sede", {"steps", "seed", "data"}), "seed");
  EXPECT_EQ(suggestion("x", {}), "");
  EXPECT_EQ(suggestion("metric", {"data", "metrics"}),
            ", did you mean 'metrics'?");
}

TEST(Text, GroupedNumbers) {
  auto grouped = [](uint64_t value) {
    std::string out;
    appendGrouped(out, value);
    return out;
  };
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(18204), "18,204");
  EXPECT_EQ(grouped(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(Text, LongFormats) {
  std::string longWord(5000, 'x');
  EXPECT_EQ(formatText("<%s>", longWord.c_str()), "<" + longWord + ">");
}

TEST(Text, NumbersAreReadWhole) {
  uint64_t whole = 0;
  EXPECT_TRUE(parseUnsigned("18446744073709551615", whole));
  EXPECT_EQ(whole, UINT64_MAX);
  for (const char *bad : {"", "18446744073709551616", "-1", "+1", "1 ", "0x1"})
    EXPECT_FALSE(parseUnsigned(bad, whole)) << bad;
  double real = 0;
  EXPECT_TRUE(parseReal("-1.5e3", real));
  EXPECT_EQ(real, -1500);
  for (const char *bad : {"", "nan", "inf", "0x10", " 1", "1e999", "1e", "-"})
    EXPECT_FALSE(parseReal(bad, real)) << bad;
}

TEST(Text, Paths) {
  EXPECT_EQ(directoryOf("a/b/c"), "a/b");
  EXPECT_EQ(directoryOf("c"), ".");
  EXPECT_EQ(directoryOf("/c"), "/");
  EXPECT_EQ(fileNameOf("a/b/c"), "c");
}

TEST(Environment, UnknownNamesAreErrors) {
  EXPECT_EQ(environmentName("--save-every"), "ECHELON_SAVE_EVERY");
  std::vector<std::string> known = {"ECHELON_SEED", "ECHELON_STEPS"};
  const char *good[] = {"PATH=/bin", "ECHELON_SEED=1", "XECHELON_A=2", nullptr};
  EXPECT_TRUE(checkEnvironment(good, known).isOk());
  const char *bad[] = {"ECHELON_STEP=1", nullptr};
  Status status = checkEnvironment(bad, known);
  EXPECT_EQ(status.code, ECH_EXIT_USAGE);
  EXPECT_EQ(status.message, "unknown environment variable ECHELON_STEP, did "
                            "you mean 'ECHELON_STEPS'?");
}

} // namespace

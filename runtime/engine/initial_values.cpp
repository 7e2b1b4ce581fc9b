// SPDX-License-Identifier: Apache-2.0
//
// Counter-based random initial values.
#include "runtime/engine/initial_values.h"

#include <algorithm>
#include <cmath>

namespace echelon::runtime {

namespace {

// Multipliers and key increments of Philox4x32 (Salmon et al. 2011, section 3.3
// and table 2).
constexpr uint32_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
constexpr uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;

constexpr double kTwoPi = 6.283185307179586476925;
constexpr double kPerWord = 1.0 / 4294967296.0; // 2^-32

// One task of the pool: large enough to hide the hand-over.
constexpr uint64_t kTask = uint64_t{1} << 14;

struct Fill {
  float *values;
  uint64_t count;
  double a, b;
  uint64_t seed, stream;
  bool normal;
};

void fillBlock(const Fill &fill, uint64_t block, float *out) {
  PhiloxBlock random = philox(block, fill.stream, fill.seed);
  for (int pair = 0; pair < 4; pair += 2) {
    double u = random.words[pair], v = random.words[pair + 1];
    if (fill.normal) {
      // (u + 1) keeps the logarithm finite.
      double radius = std::sqrt(-2 * std::log((u + 1) * kPerWord));
      double angle = kTwoPi * v * kPerWord;
      out[pair] =
          static_cast<float>(fill.a + fill.b * radius * std::cos(angle));
      out[pair + 1] =
          static_cast<float>(fill.a + fill.b * radius * std::sin(angle));
      continue;
    }
    float high = static_cast<float>(fill.b);
    for (int i = 0; i < 2; ++i) {
      double word = random.words[pair + i] * kPerWord;
      float value = static_cast<float>(fill.a + (fill.b - fill.a) * word);
      // Rounding to f32 may reach the excluded upper bound.
      if (value >= high && fill.b > fill.a)
        value = std::nextafter(high, static_cast<float>(fill.a));
      out[pair + i] = value;
    }
  }
}

void fillTask(void *arg, int64_t index, int32_t) {
  const Fill &fill = *static_cast<const Fill *>(arg);
  uint64_t begin = static_cast<uint64_t>(index) * kTask;
  uint64_t end = std::min(fill.count, begin + kTask);
  for (uint64_t i = begin; i < end; i += 4) {
    float block[4];
    fillBlock(fill, i / 4, block);
    for (uint64_t j = i; j < std::min(end, i + 4); ++j)
      fill.values[j] = block[j - i];
  }
}

} // namespace

PhiloxBlock philox(uint64_t counterLow, uint64_t counterHigh, uint64_t key) {
  uint32_t c0 = static_cast<uint32_t>(counterLow),
           c1 = static_cast<uint32_t>(counterLow >> 32),
           c2 = static_cast<uint32_t>(counterHigh),
           c3 = static_cast<uint32_t>(counterHigh >> 32);
  uint32_t k0 = static_cast<uint32_t>(key),
           k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t{kMultiplier0} * c0;
    uint64_t product1 = uint64_t{kMultiplier1} * c2;
    c0 = static_cast<uint32_t>(product1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(product1);
    c2 = static_cast<uint32_t>(product0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(product0);
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return {{c0, c1, c2, c3}};
}

void fillUniform(ThreadPool &pool, float *values, uint64_t count, double low,
                 double high, uint64_t seed, uint64_t stream) {
  Fill fill{values, count, low, high, seed, stream, false};
  pool.run(static_cast<int64_t>((count + kTask - 1) / kTask), fillTask, &fill);
}

void fillNormal(ThreadPool &pool, float *values, uint64_t count, double mean,
                double deviation, uint64_t seed, uint64_t stream) {
  Fill fill{values, count, mean, deviation, seed, stream, true};
  pool.run(static_cast<int64_t>((count + kTask - 1) / kTask), fillTask, &fill);
}

} // namespace echelon::runtime

// SPDX-License-Identifier: Apache-2.0
//
// A counter-based generator: a mixed counter gives 64 bits, Box and Muller
// (1958) turn them into a pair of normal values.
#include "compiler/zoo/weights.h"
#include "llvm/Support/xxhash.h"
#include <cassert>
#include <cmath>

namespace echelon::zoo {

namespace {

/// The output function of SplitMix64 (Steele, Lea and Flood 2014, figure 13).
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

constexpr uint64_t kGamma = 0x9e3779b97f4a7c15ull; // the same source

} // namespace

void fillNormal(int64_t seed, llvm::StringRef name, int64_t first, double mean,
                double std, llvm::MutableArrayRef<float> values) {
  assert(first % 2 == 0 && "elements are made in pairs");
  uint64_t key =
      mix(mix(static_cast<uint64_t>(seed) + kGamma) ^ llvm::xxHash64(name));
  for (size_t i = 0; i < values.size(); i += 2) {
    uint64_t pair = (static_cast<uint64_t>(first) + i) / 2;
    uint64_t bits = mix(key + (pair + 1) * kGamma);
    // Both uniforms lie in (0, 1): the logarithm stays finite, |value| < 6.7
    // std.
    double u = (static_cast<double>(bits >> 32) + 0.5) * 0x1p-32;
    double v = (static_cast<double>(bits & 0xffffffffu) + 0.5) * 0x1p-32;
    double radius = std * std::sqrt(-2 * std::log(u));
    double angle = 2 * M_PI * v;
    values[i] = static_cast<float>(mean + radius * std::cos(angle));
    if (i + 1 < values.size())
      values[i + 1] = static_cast<float>(mean + radius * std::sin(angle));
  }
}

} // namespace echelon::zoo

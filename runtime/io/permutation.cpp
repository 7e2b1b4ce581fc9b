// SPDX-License-Identifier: Apache-2.0
//
// The Feistel permutation.
#include "runtime/io/permutation.h"

#include "runtime/base/hash.h"

namespace echelon::runtime {

Permutation::Permutation(uint64_t count, uint64_t seed, uint64_t epoch)
    : count(count) {
  // Bits of the largest index, not of its logarithm rounded up: the latter
  // loses one index at powers of two.
  int bits = count <= 1 ? 1 : 64 - __builtin_clzll(count - 1);
  halfBits = (bits + 1) / 2;
  halfMask = (uint64_t{1} << halfBits) - 1;
  uint64_t state = mix64(seed) ^ mix64(epoch + 0x9E3779B97F4A7C15u);
  for (uint64_t &key : keys) {
    state += 0x9E3779B97F4A7C15u;
    key = mix64(state);
  }
}

uint64_t Permutation::operator()(uint64_t index) const {
  index %= count;
  do {
    uint64_t left = index >> halfBits, right = index & halfMask;
    for (uint64_t key : keys) {
      uint64_t mixed = left ^ (mix64(right ^ key) & halfMask);
      left = right;
      right = mixed;
    }
    index = (left << halfBits) | right;
  } while (index >= count);
  return index;
}

} // namespace echelon::runtime

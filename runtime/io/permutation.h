// SPDX-License-Identifier: Apache-2.0
//
// The order of samples: a permutation of [0, count) that is a pure function of
// seed and epoch, evaluated one index at a time without a list. A balanced
// Feistel network of 8 rounds over the smallest even number of bits that holds
// count - 1, with cycle walking into the range (Black and Rogaway, "Ciphers
// with arbitrary finite domains", CT-RSA 2002, section 4 and 5).
#ifndef ECHELON_RUNTIME_IO_PERMUTATION_H
#define ECHELON_RUNTIME_IO_PERMUTATION_H

#include <cstdint>

namespace echelon::runtime {

class Permutation {
public:
  /// `count` >= 1.
  Permutation(uint64_t count, uint64_t seed, uint64_t epoch);

  /// The sample at place `index` < count. An index outside would walk for ever,
  /// so it is reduced modulo count.
  uint64_t operator()(uint64_t index) const;

private:
  static constexpr int kRounds = 8;

  uint64_t count;
  int halfBits;
  uint64_t halfMask;
  uint64_t keys[kRounds];
};

} // namespace echelon::runtime

#endif

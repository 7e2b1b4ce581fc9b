// SPDX-License-Identifier: Apache-2.0
//
// XXH64, the content hash of weights and checkpoints. Algorithm: the xxHash
// specification by Yann Collet (github.com/Cyan4973/xxHash, doc/xxhash_spec.md,
// version 0.2.0), written from that text.
#ifndef ECHELON_RUNTIME_BASE_HASH_H
#define ECHELON_RUNTIME_BASE_HASH_H

#include <cstddef>
#include <cstdint>

namespace echelon::runtime {

/// XXH64 of a stream of bytes: any partition into update() calls gives the same
/// digest.
class Xxh64 {
public:
  explicit Xxh64(uint64_t seed = 0);
  void update(const void *data, size_t bytes);
  /// The hash of everything so far; update() may go on afterwards.
  uint64_t digest() const;

private:
  void consumeStripe(const uint8_t *stripe);

  uint64_t lanes[4];
  uint64_t seed;
  uint64_t totalBytes = 0;
  uint8_t pending[32];
  size_t pendingBytes = 0;
};

/// XXH64 of one block.
uint64_t xxh64(const void *data, size_t bytes, uint64_t seed = 0);

/// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection
/// on 64-bit words in which every input bit reaches every output bit.
uint64_t mix64(uint64_t value);

} // namespace echelon::runtime

#endif

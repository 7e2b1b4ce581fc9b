// SPDX-License-Identifier: Apache-2.0
//
// XXH64, and the 64-bit mix that permutations use.
#include "runtime/base/hash.h"

#include <cstring>

namespace echelon::runtime {

namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87u;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4Fu;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9u;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63u;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5u;

uint64_t rotateLeft(uint64_t value, int bits) {
  return (value << bits) | (value >> (64 - bits));
}

uint64_t read64(const uint8_t *data) {
  uint64_t value;
  memcpy(&value, data, sizeof(value));
  return value;
}

uint32_t read32(const uint8_t *data) {
  uint32_t value;
  memcpy(&value, data, sizeof(value));
  return value;
}

uint64_t round(uint64_t lane, uint64_t input) {
  return rotateLeft(lane + input * kPrime2, 31) * kPrime1;
}

uint64_t finish(uint64_t hash, const uint8_t *tail, size_t bytes) {
  for (; bytes >= 8; bytes -= 8, tail += 8)
    hash = rotateLeft(hash ^ round(0, read64(tail)), 27) * kPrime1 + kPrime4;
  for (; bytes >= 4; bytes -= 4, tail += 4)
    hash = rotateLeft(hash ^ (read32(tail) * kPrime1), 23) * kPrime2 + kPrime3;
  for (; bytes > 0; --bytes, ++tail)
    hash = rotateLeft(hash ^ (*tail * kPrime5), 11) * kPrime1;
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

} // namespace

Xxh64::Xxh64(uint64_t seed)
    : lanes{seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1},
      seed(seed) {}

void Xxh64::consumeStripe(const uint8_t *stripe) {
  for (int i = 0; i < 4; ++i)
    lanes[i] = round(lanes[i], read64(stripe + 8 * i));
}

void Xxh64::update(const void *data, size_t bytes) {
  const uint8_t *input = static_cast<const uint8_t *>(data);
  totalBytes += bytes;
  if (pendingBytes > 0) {
    size_t taken = sizeof(pending) - pendingBytes;
    if (taken > bytes)
      taken = bytes;
    memcpy(pending + pendingBytes, input, taken);
    pendingBytes += taken;
    input += taken;
    bytes -= taken;
    if (pendingBytes < sizeof(pending))
      return;
    consumeStripe(pending);
    pendingBytes = 0;
  }
  for (; bytes >= 32; bytes -= 32, input += 32)
    consumeStripe(input);
  if (bytes > 0)
    memcpy(pending, input, bytes);
  pendingBytes = bytes;
}

uint64_t Xxh64::digest() const {
  uint64_t hash = seed + kPrime5;
  if (totalBytes >= 32) {
    hash = rotateLeft(lanes[0], 1) + rotateLeft(lanes[1], 7) +
           rotateLeft(lanes[2], 12) + rotateLeft(lanes[3], 18);
    for (uint64_t lane : lanes)
      hash = (hash ^ round(0, lane)) * kPrime1 + kPrime4;
  }
  return finish(hash + totalBytes, pending, pendingBytes);
}

uint64_t xxh64(const void *data, size_t bytes, uint64_t seed) {
  Xxh64 hash(seed);
  hash.update(data, bytes);
  return hash.digest();
}

uint64_t mix64(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

} // namespace echelon::runtime

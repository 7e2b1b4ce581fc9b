// SPDX-License-Identifier: Apache-2.0
//
// Random initial values as pure functions of (seed, stream, element index), so
// that they depend neither on the order of tensors nor on threads or ranks.
// Generator: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011), key = seed, counter = (block of four elements, stream);
// normal values by Box and Muller (1958) on pairs of its words.
#ifndef ECHELON_RUNTIME_ENGINE_INITIAL_VALUES_H
#define ECHELON_RUNTIME_ENGINE_INITIAL_VALUES_H

#include "runtime/device/thread_pool.h"

namespace echelon::runtime {

struct PhiloxBlock {
  uint32_t words[4];
};

/// Philox4x32-10 of a 128-bit counter (low word first) under a 64-bit key.
PhiloxBlock philox(uint64_t counterLow, uint64_t counterHigh, uint64_t key);

/// Fills `count` values in [low, high).
void fillUniform(ThreadPool &pool, float *values, uint64_t count, double low,
                 double high, uint64_t seed, uint64_t stream);

/// Fills `count` values of the normal distribution.
void fillNormal(ThreadPool &pool, float *values, uint64_t count, double mean,
                double deviation, uint64_t seed, uint64_t stream);

} // namespace echelon::runtime

#endif

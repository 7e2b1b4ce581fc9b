// SPDX-License-Identifier: Apache-2.0
//
// What a kernel needs to run in a test: a launch with a poisoned workspace and
// a way to run its tasks, serially in reverse order or on threads; and random
// operands.
#ifndef ECHELON_TEST_NUMERICS_KERNELS_LAUNCH_H
#define ECHELON_TEST_NUMERICS_KERNELS_LAUNCH_H

#include "kernels/cpu/isa.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

namespace echelon::test {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// Unit roundoff of f32: a rounded result is x (1 + d), |d| <= kRoundoff.
constexpr double kRoundoff = 0x1p-24;

/// Bodies in descending order: a kernel that relies on an order fails.
inline void runSerially(const ech_launch *launch, int64_t count,
                        ech_parallel_body body, void *argument) {
  for (int64_t i = count - 1; i >= 0; --i)
    body(argument, i, static_cast<int32_t>(i % launch->workers));
}

inline void runOnThreads(const ech_launch *launch, int64_t count,
                         ech_parallel_body body, void *argument) {
  std::atomic<int64_t> next{0};
  std::vector<std::thread> threads;
  for (int32_t worker = 0; worker < launch->workers; ++worker)
    threads.emplace_back([&, worker] {
      for (int64_t i; (i = next++) < count;)
        body(argument, i, worker);
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// A launch for `workers`: threads when there are several.
class Launch {
public:
  explicit Launch(int32_t workers)
      : memory(static_cast<size_t>(workers) * kFloats + 2 * kGuard + 16, kNaN) {
    const auto address = reinterpret_cast<uintptr_t>(memory.data() + kGuard);
    const size_t skip = (64 - address % 64) % 64 / 4;
    begin = memory.data() + kGuard + skip;
    end = begin + static_cast<size_t>(workers) * kFloats;
    launch.workspace = begin;
    launch.workers = workers;
    launch.parallel_for = workers == 1 ? runSerially : runOnThreads;
  }

  /// Poisons the workspace anew and returns the launch.
  const ech_launch *fresh() {
    std::memset(memory.data(), 0xff, memory.size() * 4);
    return &launch;
  }

  /// Whether the kernel stayed inside its workspace.
  bool intact() const {
    for (size_t i = 0; i < kGuard; ++i)
      if (!std::isnan(begin[-1 - static_cast<ptrdiff_t>(i)]) ||
          !std::isnan(end[i]))
        return false;
    return true;
  }

  ech_launch launch = {};

private:
  static constexpr size_t kFloats = ECH_WORKSPACE_BYTES / 4, kGuard = 64;
  std::vector<float> memory;
  float *begin, *end;
};

/// The instruction-set levels that this machine can run.
inline std::vector<const kernels::Isa *> supportedIsas() {
  std::vector<const kernels::Isa *> isas;
  for (const kernels::Isa *isa : {&kernels::kAvx2, &kernels::kAvx512})
    if (kernels::isSupported(*isa))
      isas.push_back(isa);
  return isas;
}

class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}
  int64_t integer(int64_t from, int64_t to) {
    return from + static_cast<int64_t>(engine() %
                                       static_cast<uint64_t>(to - from + 1));
  }
  bool chance(double p) {
    return static_cast<double>(engine() >> 11) * 0x1p-53 < p;
  }
  float uniform(float from, float to) {
    return from + (to - from) * static_cast<float>(engine() >> 40) * 0x1p-24f;
  }
  template <typename T> T pick(std::initializer_list<T> choices) {
    return choices
        .begin()[integer(0, static_cast<int64_t>(choices.size()) - 1)];
  }
  std::vector<float> floats(int64_t count, float from, float to) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float &value : values)
      value = uniform(from, to);
    return values;
  }

private:
  std::mt19937_64 engine;
};

/// Bit for bit, so that NaN equals itself and 0 differs from -0.
inline bool sameBits(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * 4) == 0;
}

} // namespace echelon::test

#endif

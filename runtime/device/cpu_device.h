// SPDX-License-Identifier: Apache-2.0
//
// The CPU as a device: arenas in host memory and a thread pool, bound together
// in the ech_launch that every entry and kernel receives.
#ifndef ECHELON_RUNTIME_DEVICE_CPU_DEVICE_H
#define ECHELON_RUNTIME_DEVICE_CPU_DEVICE_H

#include "runtime/device/arenas.h"
#include "runtime/device/thread_pool.h"

namespace echelon::runtime {

class CpuDevice {
public:
  /// Starts `workers` >= 1 workers and maps the program's arenas, all zero.
  Status start(const ech_program &program, int workers);

  /// The launch state of this device; the caller sets step, microbatch, seed
  /// and the check.
  ech_launch &launch() { return launchState; }
  const Arenas &arenas() const { return memory; }
  ThreadPool &pool() { return threads; }

  /// Address of `offset` in an arena.
  template <typename T> T *at(int arenaClass, uint64_t offset) const {
    return reinterpret_cast<T *>(static_cast<char *>(memory.at(arenaClass)) +
                                 offset);
  }

private:
  static void parallelFor(const ech_launch *launch, int64_t count,
                          ech_parallel_body body, void *arg);

  Arenas memory;
  ThreadPool threads;
  ech_launch launchState = {};
};

} // namespace echelon::runtime

#endif

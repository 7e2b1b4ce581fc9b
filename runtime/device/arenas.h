// SPDX-License-Identifier: Apache-2.0
//
// The memory of one rank: each arena of the program is mapped once, with
// exactly its planned bytes (the kernel rounds up to pages), populated before
// the first step and zeroed. Nothing is mapped afterwards.
#ifndef ECHELON_RUNTIME_DEVICE_ARENAS_H
#define ECHELON_RUNTIME_DEVICE_ARENAS_H

#include "runtime/base/status.h"

namespace echelon::runtime {

class Arenas {
public:
  Arenas() = default;
  Arenas(const Arenas &) = delete;
  Arenas &operator=(const Arenas &) = delete;
  ~Arenas();

  /// Maps all arenas and the workspaces of `workers`. Fails with
  /// ECH_EXIT_MEMORY, naming the bytes needed and available, before anything is
  /// touched if they cannot fit.
  Status map(const ech_program &program, int workers);

  void *at(int arenaClass) const { return memory[arenaClass]; }
  void *workspace() const { return workspaceMemory; }
  /// Sum over the arenas, without the workspaces.
  uint64_t mappedBytes() const { return mapped; }
  uint64_t workspaceBytes() const { return workspaceSize; }

private:
  void *memory[ECH_ARENA_COUNT] = {};
  uint64_t sizes[ECH_ARENA_COUNT] = {};
  void *workspaceMemory = nullptr;
  uint64_t workspaceSize = 0;
  uint64_t mapped = 0;
};

/// Bytes that this process may still take: the smaller of the machine's
/// available memory and what its control group (version 2) leaves; UINT64_MAX
/// if neither can be read.
uint64_t availableMemory();

} // namespace echelon::runtime

#endif

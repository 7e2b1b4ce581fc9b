// SPDX-License-Identifier: Apache-2.0
//
// The CPU device.
#include "runtime/device/cpu_device.h"

namespace echelon::runtime {

void CpuDevice::parallelFor(const ech_launch *launch, int64_t count,
                            ech_parallel_body body, void *arg) {
  static_cast<ThreadPool *>(launch->executor)->run(count, body, arg);
}

Status CpuDevice::start(const ech_program &program, int workers) {
  ECH_RETURN_IF_FAILED(memory.map(program, workers));
  ECH_RETURN_IF_FAILED(threads.start(workers));
  for (int i = 0; i < ECH_ARENA_COUNT; ++i)
    launchState.arenas[i] = memory.at(i);
  launchState.workspace = memory.workspace();
  launchState.parallel_for = parallelFor;
  launchState.executor = &threads;
  launchState.workers = workers;
  return {};
}

} // namespace echelon::runtime

// SPDX-License-Identifier: Apache-2.0
//
// The one way in which CPU kernels use several workers.
#ifndef ECHELON_KERNELS_CPU_PARALLEL_H
#define ECHELON_KERNELS_CPU_PARALLEL_H

#include "runtime/abi/abi.h"

namespace echelon::kernels {

/// Calls body(index, workspace) for each index in [0, count), spread over the
/// workers of the launch; `workspace` are the ECH_WORKSPACE_BYTES of the worker
/// that runs it.
template <typename Body>
void parallelFor(const ech_launch *launch, int64_t count, const Body &body) {
  struct Call {
    const ech_launch *launch;
    const Body *body;
  } call = {launch, &body};
  launch->parallel_for(
      launch, count,
      [](void *argument, int64_t index, int32_t worker) {
        const Call &call = *static_cast<const Call *>(argument);
        char *workspace = static_cast<char *>(call.launch->workspace);
        (*call.body)(index, workspace + static_cast<size_t>(worker) *
                                            ECH_WORKSPACE_BYTES);
      },
      &call);
}

inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t atLeast(int64_t a, int64_t b) { return a < b ? b : a; }
inline int64_t atMost(int64_t a, int64_t b) { return a < b ? a : b; }

} // namespace echelon::kernels

#endif

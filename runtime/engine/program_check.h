// SPDX-License-Identifier: Apache-2.0
//
// The runtime's check of the program that the compiler exported: one contract
// version, and every address that the runtime itself will use lies inside its
// arena.
#ifndef ECHELON_RUNTIME_ENGINE_PROGRAM_CHECK_H
#define ECHELON_RUNTIME_ENGINE_PROGRAM_CHECK_H

#include "runtime/base/status.h"

namespace echelon::runtime {

/// Fails with ECH_EXIT_INTERNAL if compiler and runtime disagree, with
/// ECH_EXIT_USAGE if the program wants more ranks than this process is.
Status checkProgram(const ech_program &program);

/// Product of a shape; false on overflow or a negative dim.
bool elementCount(const int64_t *shape, int64_t rank, uint64_t &count);

} // namespace echelon::runtime

#endif

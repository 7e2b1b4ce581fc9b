// SPDX-License-Identifier: Apache-2.0
//
// The training binary as a function.
#ifndef ECHELON_RUNTIME_ENGINE_RUN_H
#define ECHELON_RUNTIME_ENGINE_RUN_H

#include "runtime/abi/abi.h"

namespace echelon::runtime {

/// Parses the command line, trains `program`, prints errors, returns the
/// process exit code (ECH_EXIT_*). `environment` as execve gives it.
int runProgram(const ech_program &program, int argc, const char *const *argv,
               const char *const *environment);

} // namespace echelon::runtime

#endif

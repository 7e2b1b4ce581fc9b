// SPDX-License-Identifier: Apache-2.0
//
// A program as JSON, for --print-program.
#ifndef ECHELON_RUNTIME_ENGINE_DESCRIBE_H
#define ECHELON_RUNTIME_ENGINE_DESCRIBE_H

#include "runtime/abi/abi.h"

#include <string>

namespace echelon::runtime {

/// Model, plan, inputs, variables, arenas and weights files as one JSON object
/// and a newline.
std::string describeProgram(const ech_program &program);

} // namespace echelon::runtime

#endif

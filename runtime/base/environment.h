// SPDX-License-Identifier: Apache-2.0
//
// ECHELON_* environment variables: each flag --some-flag can also be given as
// ECHELON_SOME_FLAG; a variable with that prefix that nobody knows is an error,
// because it would have no effect.
#ifndef ECHELON_RUNTIME_BASE_ENVIRONMENT_H
#define ECHELON_RUNTIME_BASE_ENVIRONMENT_H

#include "runtime/base/status.h"

#include <string>
#include <string_view>
#include <vector>

namespace echelon::runtime {

/// "--save-every" or "save-every" -> "ECHELON_SAVE_EVERY".
std::string environmentName(std::string_view flag);

/// Fails with ECH_EXIT_USAGE if `environment` (as execve gets it: "NAME=value",
/// ended by a null pointer) has an ECHELON_* name that is not among `known`;
/// the message names the nearest.
Status checkEnvironment(const char *const *environment,
                        const std::vector<std::string> &known);

} // namespace echelon::runtime

#endif

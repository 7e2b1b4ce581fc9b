// SPDX-License-Identifier: Apache-2.0
//
// `echelon compile`.
#ifndef ECHELON_TOOLS_ECHELON_COMPILE_COMMAND_H
#define ECHELON_TOOLS_ECHELON_COMPILE_COMMAND_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace echelon {

/// `args` are those after "compile". Returns the process exit code.
int runCompileCommand(llvm::ArrayRef<llvm::StringRef> args);

} // namespace echelon

#endif

// SPDX-License-Identifier: Apache-2.0
//
// `echelon inspect`.
#ifndef ECHELON_TOOLS_ECHELON_INSPECT_COMMAND_H
#define ECHELON_TOOLS_ECHELON_INSPECT_COMMAND_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace echelon {

/// `args` are those after "inspect". Returns the process exit code.
int runInspectCommand(llvm::ArrayRef<llvm::StringRef> args);

} // namespace echelon

#endif

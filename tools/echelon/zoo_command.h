// SPDX-License-Identifier: Apache-2.0
//
// `echelon zoo gpt|llama`: writes a model file of any size.
#ifndef ECHELON_TOOLS_ECHELON_ZOO_COMMAND_H
#define ECHELON_TOOLS_ECHELON_ZOO_COMMAND_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace echelon {

/// `args` are those after "zoo". Returns the process exit code.
int runZooCommand(llvm::ArrayRef<llvm::StringRef> args);

} // namespace echelon

#endif

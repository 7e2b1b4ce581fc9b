// SPDX-License-Identifier: Apache-2.0
//
// `echelon train`.
#ifndef ECHELON_TOOLS_ECHELON_TRAIN_COMMAND_H
#define ECHELON_TOOLS_ECHELON_TRAIN_COMMAND_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace echelon {

/// `args` are those after "train". Returns the process exit code.
int runTrainCommand(llvm::ArrayRef<llvm::StringRef> args);

} // namespace echelon

#endif

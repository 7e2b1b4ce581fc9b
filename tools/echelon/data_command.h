// SPDX-License-Identifier: Apache-2.0
//
// `echelon data tokenize`: text files become a token file.
#ifndef ECHELON_TOOLS_ECHELON_DATA_COMMAND_H
#define ECHELON_TOOLS_ECHELON_DATA_COMMAND_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace echelon {

/// `args` are those after "data". Returns the process exit code.
///
/// A token file is the tokens alone, little-endian uint16, without a header.
int runDataCommand(llvm::ArrayRef<llvm::StringRef> args);

} // namespace echelon

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Output files that appear whole or not at all.
#ifndef ECHELON_COMPILER_SPEC_OUTPUT_FILE_H
#define ECHELON_COMPILER_SPEC_OUTPUT_FILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <system_error>

namespace echelon {

/// Runs `write` on a temporary file beside `path` and renames it to `path` when
/// both it and the last flush succeeded; otherwise the temporary file is
/// removed and what stood at `path` stays. A failure of the file system reads
/// `cannot write 'path': reason` and carries its errno; an error of `write` is
/// passed on.
llvm::Error
writeWholeFile(llvm::StringRef path,
               llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write);

/// The error of a failed write to `path`: text and errno as of writeWholeFile.
llvm::Error makeWriteError(llvm::StringRef path, std::error_code code);

/// The process exit code for an error of a command: 74 when it carries the
/// errno of a failed write (disk full, no permission, no such folder), else 1.
/// Consumes the error and stores its text.
int exitCodeOf(llvm::Error error, std::string &message);

} // namespace echelon

#endif

// SPDX-License-Identifier: Apache-2.0
//
// `echelon doctor`: what this machine offers, what is missing, and the peak
// that MFU is measured against.
#ifndef ECHELON_TOOLS_ECHELON_DOCTOR_COMMAND_H
#define ECHELON_TOOLS_ECHELON_DOCTOR_COMMAND_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace echelon {

/// `args` are those after "doctor". Prints a table, writes the facts to
/// `$XDG_CACHE_HOME/echelon/doctor.json` (else `~/.cache/echelon/doctor.json`).
/// Returns 0, or 4 when something that `compile` needs is missing.
int runDoctorCommand(llvm::ArrayRef<llvm::StringRef> args);

} // namespace echelon

#endif

// SPDX-License-Identifier: Apache-2.0
//
// The table of contents of the compiler: the passes of each phase, in order.
#ifndef ECHELON_COMPILER_PIPELINE_H
#define ECHELON_COMPILER_PIPELINE_H

#include "compiler/options.h"
#include "mlir/Pass/PassManager.h"

namespace echelon {

/// Adds the passes of `phase` for these options.
void addPhase(mlir::PassManager &passes, Phase phase, const CompileOptions &options);

/// The first passes of lowering: up to placed buffers.
void addBufferPasses(mlir::PassManager &passes, const CompileOptions &options);

} // namespace echelon

#endif

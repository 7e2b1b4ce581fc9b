// SPDX-License-Identifier: Apache-2.0
//
// What each phase promises of the IR it leaves.
#ifndef ECHELON_PASSES_CONTRACTS_H
#define ECHELON_PASSES_CONTRACTS_H

#include "mlir/IR/BuiltinOps.h"

namespace echelon {

enum class Phase { Import, Training, Planning, Distribution, Fusion, Lowering };

inline constexpr Phase kPhases[] = {Phase::Import,       Phase::Training, Phase::Planning,
                                    Phase::Distribution, Phase::Fusion,   Phase::Lowering};

llvm::StringRef phaseName(Phase phase);

/// Checks the row of `phase` in the table of contracts.cpp; a breach is an error at the op with the promise that it
/// breaks. A breach is our fault, never the user's.
mlir::LogicalResult checkContract(mlir::ModuleOp module, Phase phase);

} // namespace echelon

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Phase 1, training: passes from the imported forward graph to a training step.
#ifndef ECHELON_PASSES_TRAINING_PASSES_H
#define ECHELON_PASSES_TRAINING_PASSES_H

#include "dialects/graph/graph_dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace echelon::training {

#define GEN_PASS_DECL
#include "passes/training/passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/training/passes.h.inc"

/// Names of the metric variables that differentiate and attach-optimizer make.
inline constexpr llvm::StringLiteral kLossSum = "echelon.loss_sum";
inline constexpr llvm::StringLiteral kLossCount = "echelon.loss_count";
inline constexpr llvm::StringLiteral kGradientSquareSum = "echelon.gradient_square_sum";
inline constexpr llvm::StringLiteral kLearningRate = "echelon.learning_rate";

} // namespace echelon::training

#endif

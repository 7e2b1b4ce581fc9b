// SPDX-License-Identifier: Apache-2.0
//
// Chooses the groups of a block: greedily along the edges and shared operands that save the most bytes.
#ifndef ECHELON_PASSES_FUSION_FUSION_PLANNER_H
#define ECHELON_PASSES_FUSION_FUSION_PLANNER_H

#include "passes/fusion/fusion_graph.h"
#include "passes/fusion/fusion_group.h"
#include "llvm/ADT/DenseSet.h"

namespace echelon::fusion {

struct FusionLimits {
  int64_t ops = 64, tensors = 24;
};

/// A step of the fused block: one op that stays, or a group.
struct FusionStep {
  mlir::Operation *op = nullptr;
  std::optional<FusionGroup> group;
};

struct FusionPlan {
  std::vector<FusionStep> steps; // in an order that respects all dependencies
  /// Values whose readers in other groups compute them again from their operands.
  llvm::DenseSet<mlir::Value> recomputed;
};

/// Plans the ops of `block` except its terminator.
FusionPlan planFusion(mlir::Block &block, const FusionLimits &limits);

} // namespace echelon::fusion

#endif

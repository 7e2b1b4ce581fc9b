// SPDX-License-Identifier: Apache-2.0
//
// Phase 4, fusion: groups of ops that become one kernel.
#ifndef ECHELON_PASSES_FUSION_PASSES_H
#define ECHELON_PASSES_FUSION_PASSES_H

#include "dialects/graph/graph_dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace echelon::fusion {

#define GEN_PASS_DECL
#include "passes/fusion/passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/fusion/passes.h.inc"

} // namespace echelon::fusion

#endif

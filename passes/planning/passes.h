// SPDX-License-Identifier: Apache-2.0
//
// Phase 2, planning. The module gets dist.plan (JSON text) and dist.plan_hash (16 hex digits, XXH64 of that text).
#ifndef ECHELON_PASSES_PLANNING_PASSES_H
#define ECHELON_PASSES_PLANNING_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace echelon::planning {

#define GEN_PASS_DECL
#include "passes/planning/passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/planning/passes.h.inc"

} // namespace echelon::planning

#endif

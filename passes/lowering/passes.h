// SPDX-License-Identifier: Apache-2.0
//
// Phase 5, lowering: from a rank's graph to LLVM IR that calls the contract. What the passes leave on the module for
// codegen:
//   exec.inputs   array of {name, type, limit, role, ignore_index, offset}
//   exec.arenas   bytes by ech_arena_class
//   exec.flops    {palm, causal, hardware} of a microbatch
//   exec.logits   {offset, rows, classes} of the logits that @evaluate leaves in the activations, if it does
//   exec.packing  {peak, lower_bound} bytes of activations
//   exec.offset   on each graph.variable
#ifndef ECHELON_PASSES_LOWERING_PASSES_H
#define ECHELON_PASSES_LOWERING_PASSES_H

#include "dialects/exec/exec_dialect.h"
#include "dialects/graph/graph_dialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "passes/lowering/generate_kernels.h"

namespace echelon::lowering {

#define GEN_PASS_DECL
#include "passes/lowering/passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/lowering/passes.h.inc"

} // namespace echelon::lowering

#endif

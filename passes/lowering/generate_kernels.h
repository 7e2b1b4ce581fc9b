// SPDX-License-Identifier: Apache-2.0
//
// Generated kernels: every exec.kernel of a module becomes an LLVM function.
#ifndef ECHELON_PASSES_LOWERING_GENERATE_KERNELS_H
#define ECHELON_PASSES_LOWERING_GENERATE_KERNELS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace echelon::lowering {

#define GEN_PASS_DECL
#include "passes/lowering/generate_kernels.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/lowering/generate_kernels.h.inc"

} // namespace echelon::lowering

#endif

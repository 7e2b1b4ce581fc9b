// SPDX-License-Identifier: Apache-2.0
//
// Composite ops as primitives.
#ifndef ECHELON_PASSES_FUSION_DECOMPOSE_H
#define ECHELON_PASSES_FUSION_DECOMPOSE_H

#include "mlir/IR/Block.h"

namespace echelon::fusion {

/// Replaces softmax, layer_norm, rms_norm, adamw and mean reductions in `block` by elementwise ops, broadcasts, sums
/// and maxima; then moves elementwise ops whose operands are all one broadcast (or splats) in front of it.
void decompose(mlir::Block &block);

} // namespace echelon::fusion

#endif

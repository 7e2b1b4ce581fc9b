// SPDX-License-Identifier: Apache-2.0
//
// Patterns that put norms and activations back together from the pieces that exporters write.
#ifndef ECHELON_PASSES_TRAINING_RECOMPOSE_H
#define ECHELON_PASSES_TRAINING_RECOMPOSE_H

#include "mlir/IR/PatternMatch.h"

namespace echelon::training {

/// layer_norm and rms_norm over the last dim, gelu (erf and tanh forms), silu, rsqrt, in every commutation.
void populateRecomposePatterns(mlir::RewritePatternSet &patterns);

} // namespace echelon::training

#endif

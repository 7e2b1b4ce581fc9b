// SPDX-License-Identifier: Apache-2.0
//
// What a constant attention mask means, read off its values.
#ifndef ECHELON_PASSES_TRAINING_ATTENTION_MASK_H
#define ECHELON_PASSES_TRAINING_ATTENTION_MASK_H

#include "mlir/IR/Value.h"

namespace echelon::training {

struct MaskClass {
  enum Kind { Unknown, None, Causal, Window } kind = Unknown;
  int64_t window = 0; ///< Window: causal, and only the last `window` keys
};

/// What an element of a mask says about its key; a value that means neither gives Unknown.
enum class MaskForm {
  Additive,    ///< 0 seen; <= -1e4 hidden (exporters write -1e4, -1e9, finfo.min, -inf)
  SeenIfTrue,  ///< boolean
  HiddenIfTrue ///< boolean
};

/// Classifies a mask [.., queries, keys] that is a constant under views.
MaskClass classifyMask(mlir::Value mask, MaskForm form);

} // namespace echelon::training

#endif

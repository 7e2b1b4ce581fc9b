// SPDX-License-Identifier: Apache-2.0
//
// A sample of generated tokens from the model as it stands after training.
#ifndef ECHELON_RUNTIME_ENGINE_SAMPLE_H
#define ECHELON_RUNTIME_ENGINE_SAMPLE_H

#include "runtime/engine/session.h"

namespace echelon::runtime {

/// Whether the program can be sampled from: one token input [batch, sequence]
/// and logits for each of its positions. ECH_EXIT_USAGE with the reason if not.
Status checkSampling(const ech_program &program, const Options &options);

/// Continues the prompt by `options.sample` tokens, each drawn from
/// softmax(logits / 0.8) by a generator that depends on the seed and the
/// position only, and prints the text (bytes) or the token ids. The context is
/// the last `sequence` tokens.
Status printSample(Session &session);

} // namespace echelon::runtime

#endif

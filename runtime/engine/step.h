// SPDX-License-Identifier: Apache-2.0
//
// One training step in its two halves, and evaluation: the only places that
// call the program.
#ifndef ECHELON_RUNTIME_ENGINE_STEP_H
#define ECHELON_RUNTIME_ENGINE_STEP_H

#include "runtime/engine/session.h"

namespace echelon::runtime {

/// Runs all microbatches of the current step and fills loss and tokens of
/// `record`. Errors: bad indices and a step without any valid label
/// (ECH_EXIT_INPUT), a non-finite loss or a result found by the numeric check
/// (ECH_EXIT_NUMERIC), --check-numerics with a program that was not compiled
/// for it (ECH_EXIT_USAGE). Nothing was updated then.
Status runMicrobatches(Session &session, StepRecord &record);

/// Runs the update, fills gradient norm and learning rate, advances the state.
/// A non-finite norm is ECH_EXIT_NUMERIC; the parameters are spoilt then and
/// must not be saved.
Status runUpdate(Session &session, StepRecord &record);

/// Writes {"parameter": norm} of d(mean loss)/d(parameter) for the trainable
/// parameters, summed in f64; between runMicrobatches and runUpdate. `tokens`
/// is the step's count of valid labels.
Status writeGradientNorms(Session &session, double tokens, AtomicFile &file);

/// Mean loss over a fixed, evenly spread set of held-out microbatches.
Result<double> evaluate(Session &session);

} // namespace echelon::runtime

#endif

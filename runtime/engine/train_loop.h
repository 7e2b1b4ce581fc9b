// SPDX-License-Identifier: Apache-2.0
//
// The training loop: steps, evaluation, metrics, checkpoints, signals.
#ifndef ECHELON_RUNTIME_ENGINE_TRAIN_LOOP_H
#define ECHELON_RUNTIME_ENGINE_TRAIN_LOOP_H

#include "runtime/engine/checkpoint.h"
#include "runtime/engine/interrupts.h"
#include "runtime/observe/console.h"
#include "runtime/observe/metrics_file.h"

namespace echelon::runtime {

/// Seconds of a monotonic clock.
double monotonicSeconds();

/// The outputs of a run, opened before the first step.
struct RunOutputs {
  MetricsFile metrics;
  AtomicFile gradientNorms;
  CheckpointWriter checkpoints;
};

/// Trains from the session's state to its last step. After the first executed
/// step it neither allocates nor maps memory. ECH_EXIT_PREEMPTED if a signal
/// stopped it.
Status train(Session &session, RunOutputs &outputs,
             const Interrupts &interrupts);

} // namespace echelon::runtime

#endif

// SPDX-License-Identifier: Apache-2.0
//
// What one training step measured, as it goes to the console and to the metrics
// file.
#ifndef ECHELON_RUNTIME_OBSERVE_STEP_RECORD_H
#define ECHELON_RUNTIME_OBSERVE_STEP_RECORD_H

#include <cstdint>

namespace echelon::runtime {

struct StepRecord {
  int64_t step = 0; ///< 0-based
  double loss = 0;  ///< mean over the valid labels, before the update
  double gradientNorm =
      __builtin_nan(""); ///< of the mean loss, before clipping
  double learningRate = __builtin_nan("");
  double tokens = 0; ///< valid labels
  double seconds = 0;
  bool hasEvaluation = false;
  double evaluationLoss = 0;
};

/// Constants of a run that turn seconds into rates. FLOPs are per step;
/// `peakFlops` is per second over all workers, 0 if unknown.
struct RunRates {
  double flopsPalm = 0;
  double flopsCausal = 0;
  double flopsHardware = 0;
  double peakFlops = 0;
  uint64_t memoryBytes = 0;
};

} // namespace echelon::runtime

#endif

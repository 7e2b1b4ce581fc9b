// SPDX-License-Identifier: Apache-2.0
//
// The peak FLOP rate that MFU is measured against: given on the command line,
// or measured by `echelon doctor`, else unknown. It is never guessed.
#ifndef ECHELON_RUNTIME_OBSERVE_PEAK_H
#define ECHELON_RUNTIME_OBSERVE_PEAK_H

#include <string>

namespace echelon::runtime {

struct PeakRate {
  double flops = 0;   ///< per second, over all workers; 0 if unknown
  std::string source; ///< where it comes from, or why it is unknown
};

/// $XDG_CACHE_HOME/echelon/doctor.json, else $HOME/.cache/echelon/doctor.json;
/// empty if neither variable is set.
std::string doctorFilePath();

/// `peakTflops` if it is above 0, else the key "peak_flops_f32" (FLOP/s of one
/// thread) of `doctorFile` times `workers`.
PeakRate findPeakRate(double peakTflops, const std::string &doctorFile,
                      int workers);

} // namespace echelon::runtime

#endif

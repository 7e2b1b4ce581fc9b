// SPDX-License-Identifier: Apache-2.0
//
// The flags of the training binary. Each flag with a value may also come from
// the environment
// (--save-every from ECHELON_SAVE_EVERY); the command line wins.
#ifndef ECHELON_RUNTIME_ENGINE_OPTIONS_H
#define ECHELON_RUNTIME_ENGINE_OPTIONS_H

#include "runtime/base/status.h"

#include <string>
#include <vector>

namespace echelon::runtime {

/// Parsed flags; 0 or empty means "not given" where no default is named.
struct Options {
  std::string data;
  std::string tokenDtype;
  std::string batches;
  int64_t steps = 0;
  int64_t accumulate = 0;
  uint64_t seed = 0;
  bool hasSeed = false;
  std::string weights;
  std::string out;
  int64_t saveEvery = 0;
  std::string resume;
  std::string evalData;
  int64_t evalEvery = 0;
  int64_t evalBatches = 16;
  int64_t sample = 0;
  std::string prompt;
  std::string metrics;
  std::string gradientNorms;
  int64_t logEvery = 10;
  int64_t threads = 1;
  double peakTflops = 0;
  bool checkNumerics = false;
  bool printProgram = false;
  bool version = false;
  bool help = false;
};

/// Reads flags and ECHELON_* variables. Unknown names, bad values and
/// contradictions fail with ECH_EXIT_USAGE and name the nearest flag.
/// `environment` as in checkEnvironment.
Result<Options> parseOptions(const std::vector<std::string> &arguments,
                             const char *const *environment);

/// The text of --help; at most 40 lines.
std::string helpText(const char *binary);

} // namespace echelon::runtime

#endif

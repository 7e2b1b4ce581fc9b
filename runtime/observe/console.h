// SPDX-License-Identifier: Apache-2.0
//
// The console: the header block at start and one line every few steps, on
// standard output. Errors and notes go to standard error.
#ifndef ECHELON_RUNTIME_OBSERVE_CONSOLE_H
#define ECHELON_RUNTIME_OBSERVE_CONSOLE_H

#include "runtime/abi/abi.h"
#include "runtime/observe/step_record.h"

#include <string>

namespace echelon::runtime {

/// What the header block says about a run.
struct RunHeader {
  std::string data;  ///< one line about the data
  std::string start; ///< "step 0 of 200, seed 1, weights from ..."
  std::string peak;  ///< source of the peak
  int64_t accumulate = 1;
  int workers = 1;
  uint64_t workspaceBytes = 0;
};

/// The header block, several lines.
std::string headerText(const ech_program &program, const RunHeader &header,
                       const RunRates &rates);

/// Prints step lines. The rates in a line are means over the steps since the
/// previous line.
class Console {
public:
  /// `every`: a line each so many steps, and for the last one.
  Console(int64_t totalSteps, int64_t every, const RunRates &rates);

  /// Takes note of a step and prints its line when due or `always`; allocates
  /// nothing.
  void step(const StepRecord &record, bool always);

private:
  void print(const StepRecord &record);

  int64_t totalSteps;
  int64_t every;
  RunRates rates;
  std::string line;
  double secondsSince = 0;
  double tokensSince = 0;
  int64_t stepsSince = 0;
};

/// "note: ..." on standard error.
void printNote(const std::string &text);

} // namespace echelon::runtime

#endif

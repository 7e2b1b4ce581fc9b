// SPDX-License-Identifier: Apache-2.0
//
// Everything that one run of the training binary holds: the program, its
// device, its data and its place in the training. Opening a session does all
// checks and all allocation; the training loop only uses what is here.
#ifndef ECHELON_RUNTIME_ENGINE_SESSION_H
#define ECHELON_RUNTIME_ENGINE_SESSION_H

#include "runtime/device/cpu_device.h"
#include "runtime/engine/numeric_check.h"
#include "runtime/engine/options.h"
#include "runtime/io/batch_file.h"
#include "runtime/io/token_file.h"
#include "runtime/observe/step_record.h"

#include <optional>

namespace echelon::runtime {

/// Where a training stands. `samples` is the position in the data: global rows
/// whose update is done. The rest of the loader's state follows from it and the
/// seed.
struct RunState {
  int64_t step = 0; ///< updates done
  uint64_t seed = 0;
  uint64_t samples = 0;
  uint64_t tokens = 0; ///< valid labels so far
};

struct Session {
  Session(const ech_program &program, Options options)
      : program(program), options(std::move(options)) {}

  const ech_program &program;
  const Options options;
  CpuDevice device;
  NumericCheck check;
  std::optional<TokenFile> tokens;
  std::optional<BatchFile> batches;
  std::optional<TokenFile> evaluationTokens;
  int64_t steps = 0;
  int64_t accumulate = 1;
  uint64_t dataFingerprint = 0;
  RunState state;
  RunRates rates;
  std::string peakSource;
};

/// Opens and checks the data, resolves steps and accumulation.
Status openData(Session &session);

/// Maps the device and sets rates and launch state; after openData.
Status openDevice(Session &session);

/// Fills the inputs for microbatch `microbatch` of the step that the state
/// stands at.
Status fillInputs(Session &session, int64_t microbatch);

/// One line about the data, for the header.
std::string describeData(const Session &session);

} // namespace echelon::runtime

#endif

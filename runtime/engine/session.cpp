// SPDX-License-Identifier: Apache-2.0
//
// Opening of a session and its data order. Row i of step t has the global
// position samples + i; its epoch is position / N and its sample the epoch's
// permutation of the rest, so a batch may straddle two epochs and each epoch
// has every sample once.
#include "runtime/engine/session.h"

#include "runtime/base/text.h"
#include "runtime/io/permutation.h"
#include "runtime/observe/peak.h"

namespace echelon::runtime {

namespace {

Status openTokens(Session &session) {
  const Options &options = session.options;
  Result<TokenFile> file =
      TokenFile::open(options.data, options.tokenDtype, session.program);
  if (!file.isOk())
    return file.status();
  session.tokens = std::move(file.value());
  session.dataFingerprint = session.tokens->file().fingerprint();
  session.steps = options.steps;
  session.accumulate =
      options.accumulate ? options.accumulate : session.program.accumulate;
  return {};
}

Status openBatches(Session &session) {
  const Options &options = session.options;
  Result<BatchFile> file = BatchFile::open(options.batches, session.program,
                                           options.steps, options.accumulate);
  if (!file.isOk())
    return file.status();
  session.batches = std::move(file.value());
  session.dataFingerprint = session.batches->file().fingerprint();
  session.steps = options.steps ? options.steps : session.batches->steps();
  session.accumulate = session.batches->accumulate();
  return {};
}

Status openEvaluation(Session &session) {
  const ech_program &program = session.program;
  if (!program.evaluate)
    return failure(ECH_EXIT_USAGE,
                   "--eval-data: the program was compiled without evaluation");
  Result<TokenFile> file = TokenFile::open(session.options.evalData,
                                           session.options.tokenDtype, program);
  if (!file.isOk())
    return file.status();
  session.evaluationTokens = std::move(file.value());
  uint64_t samples = session.evaluationTokens->samples();
  if (samples < static_cast<uint64_t>(program.micro))
    return failure(ECH_EXIT_INPUT,
                   "'%s' has %llu samples, one microbatch of the evaluation "
                   "needs %lld",
                   session.options.evalData.c_str(),
                   static_cast<unsigned long long>(samples),
                   static_cast<long long>(program.micro));
  return {};
}

} // namespace

Status openData(Session &session) {
  const Options &options = session.options;
  ECH_RETURN_IF_FAILED(options.data.empty() ? openBatches(session)
                                            : openTokens(session));
  int64_t rows = 0;
  if (__builtin_mul_overflow(session.accumulate, session.program.micro, &rows))
    return failure(ECH_EXIT_USAGE, "--accumulate %lld is too large",
                   static_cast<long long>(session.accumulate));
  if (!options.evalData.empty())
    ECH_RETURN_IF_FAILED(openEvaluation(session));
  session.state.seed = options.hasSeed ? options.seed : session.program.seed;
  return {};
}

Status openDevice(Session &session) {
  const ech_program &program = session.program;
  int workers = static_cast<int>(session.options.threads);
  ECH_RETURN_IF_FAILED(session.device.start(program, workers));
  session.check.attach(session.device.launch());
  double microbatches = static_cast<double>(session.accumulate);
  session.rates.flopsPalm = program.flops_palm * microbatches;
  session.rates.flopsCausal = program.flops_causal * microbatches;
  session.rates.flopsHardware = program.flops_hardware * microbatches;
  session.rates.memoryBytes = session.device.arenas().mappedBytes();
  PeakRate peak =
      findPeakRate(session.options.peakTflops, doctorFilePath(), workers);
  session.rates.peakFlops = peak.flops;
  session.peakSource = peak.source;
  return {};
}

Status fillInputs(Session &session, int64_t microbatch) {
  const ech_program &program = session.program;
  const RunState &state = session.state;
  void *inputs = session.device.arenas().at(ECH_ARENA_INPUTS);
  if (session.batches) {
    session.batches->fill(program, inputs, state.step, microbatch);
    return {};
  }
  uint64_t count = session.tokens->samples();
  for (int64_t row = 0; row < program.micro; ++row) {
    uint64_t position =
        state.samples + static_cast<uint64_t>(microbatch * program.micro + row);
    Permutation order(count, state.seed, position / count);
    ECH_RETURN_IF_FAILED(session.tokens->fillRow(
        program, inputs, row, order(position % count), state.step));
  }
  return {};
}

std::string describeData(const Session &session) {
  std::string out;
  if (session.batches) {
    appendFormat(out, "%s, explicit batches for %lld steps",
                 session.options.batches.c_str(),
                 static_cast<long long>(session.batches->steps()));
  } else {
    const TokenFile &tokens = *session.tokens;
    appendFormat(out, "%s, ", session.options.data.c_str());
    appendGrouped(out, tokens.tokens());
    appendFormat(out, " tokens (%s), ", tokens.dtypeText());
    appendGrouped(out, tokens.samples());
    appendFormat(out, " samples of %llu + 1",
                 static_cast<unsigned long long>(tokens.sequence()));
  }
  if (session.evaluationTokens) {
    appendFormat(out, "; held out %s, ", session.options.evalData.c_str());
    appendGrouped(out, session.evaluationTokens->tokens());
    out += " tokens";
  }
  return out;
}

} // namespace echelon::runtime

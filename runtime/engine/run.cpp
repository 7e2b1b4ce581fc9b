// SPDX-License-Identifier: Apache-2.0
//
// From the command line to the exit code.
#include "runtime/engine/run.h"

#include "runtime/base/text.h"
#include "runtime/engine/describe.h"
#include "runtime/engine/program_check.h"
#include "runtime/engine/sample.h"
#include "runtime/engine/train_loop.h"
#include "runtime/engine/weights.h"

#include <optional>

namespace echelon::runtime {

namespace {

// Ignored for the length of a run: a full disk must come back as EFBIG and a
// closed log pipe as EPIPE, not as the end of the process.
class IgnoredSignals {
public:
  IgnoredSignals() {
    fileSize = signal(SIGXFSZ, SIG_IGN);
    pipe = signal(SIGPIPE, SIG_IGN);
  }
  ~IgnoredSignals() {
    signal(SIGXFSZ, fileSize);
    signal(SIGPIPE, pipe);
  }

private:
  void (*fileSize)(int);
  void (*pipe)(int);
};

Status openOutputs(Session &session, RunOutputs &outputs,
                   const FoundCheckpoint *resumed) {
  const Options &options = session.options;
  ECH_RETURN_IF_FAILED(outputs.checkpoints.open(session, resumed));
  ECH_RETURN_IF_FAILED(
      outputs.metrics.open(options.metrics, session.state.step));
  if (!options.gradientNorms.empty())
    ECH_RETURN_IF_FAILED(outputs.gradientNorms.open(options.gradientNorms));
  return {};
}

void printHeader(const Session &session, const FoundCheckpoint *resumed,
                 double startSeconds) {
  RunHeader header;
  header.data = describeData(session);
  header.peak = session.peakSource;
  header.accumulate = session.accumulate;
  header.workers = static_cast<int>(session.options.threads);
  header.workspaceBytes = session.device.arenas().workspaceBytes();
  header.start =
      formatText("step %lld of %lld, seed %llu, %s, ready after %.1f ms",
                 static_cast<long long>(session.state.step),
                 static_cast<long long>(session.steps),
                 static_cast<unsigned long long>(session.state.seed),
                 resumed ? ("resumed from " + resumed->path).c_str()
                 : session.options.weights.empty()
                     ? "initial values of the model"
                     : ("weights " + session.options.weights).c_str(),
                 1e3 * (monotonicSeconds() - startSeconds));
  printText(1, headerText(session.program, header, session.rates));
}

Status runSession(const ech_program &program, Options options) {
  double start = monotonicSeconds();
  ECH_RETURN_IF_FAILED(checkProgram(program));
  ECH_RETURN_IF_FAILED(checkSampling(program, options));
  Interrupts interrupts;
  ECH_RETURN_IF_FAILED(interrupts.start());
  Session session(program, std::move(options));
  std::optional<FoundCheckpoint> resumed;
  ECH_RETURN_IF_FAILED(openData(session));
  if (!session.options.resume.empty()) {
    Result<FoundCheckpoint> found = findCheckpoint(session.options.resume);
    if (!found.isOk())
      return found.status();
    resumed = std::move(found.value());
  }
  ECH_RETURN_IF_FAILED(openDevice(session));
  if (resumed)
    ECH_RETURN_IF_FAILED(loadCheckpoint(session, *resumed));
  else
    ECH_RETURN_IF_FAILED(initializeVariables(
        program, session.device, session.options.weights, session.state.seed));
  const FoundCheckpoint *from = resumed ? &*resumed : nullptr;
  if (session.state.step >= session.steps) {
    printNote(formatText("'%s' has %lld of %lld steps already: nothing to do",
                         resumed->path.c_str(),
                         static_cast<long long>(session.state.step),
                         static_cast<long long>(session.steps)));
    return {};
  }
  RunOutputs outputs;
  ECH_RETURN_IF_FAILED(openOutputs(session, outputs, from));
  printHeader(session, from, start);
  ECH_RETURN_IF_FAILED(train(session, outputs, interrupts));
  return session.options.sample ? printSample(session) : Status();
}

Status runCommand(const ech_program &program, int argc, const char *const *argv,
                  const char *const *environment) {
  std::vector<std::string> arguments(argv + (argc > 0), argv + argc);
  Result<Options> options = parseOptions(arguments, environment);
  if (!options.isOk())
    return options.status();
  if (options.value().help) {
    printText(1, helpText(argc > 0 ? argv[0] : "train"));
    return {};
  }
  if (options.value().version) {
    printText(1, formatText("%s, contract %d, model %s, plan %s\n",
                            program.compiler, ECH_ABI_VERSION, program.model,
                            program.plan_hash));
    return {};
  }
  if (options.value().printProgram) {
    ECH_RETURN_IF_FAILED(checkProgram(program));
    printText(1, describeProgram(program));
    return {};
  }
  return runSession(program, std::move(options.value()));
}

} // namespace

int runProgram(const ech_program &program, int argc, const char *const *argv,
               const char *const *environment) {
  IgnoredSignals ignored;
  Status status = runCommand(program, argc, argv, environment);
  if (!status.isOk())
    printFailure(status);
  return status.code;
}

} // namespace echelon::runtime

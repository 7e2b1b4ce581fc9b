// SPDX-License-Identifier: Apache-2.0
//
// The training loop.
#include "runtime/engine/train_loop.h"

#include "runtime/base/text.h"
#include "runtime/engine/step.h"

#include <cstring>
#include <ctime>

namespace echelon::runtime {

namespace {

class TrainLoop {
public:
  TrainLoop(Session &session, RunOutputs &outputs)
      : session(session), outputs(outputs),
        console(session.steps, session.options.logEvery, session.rates),
        firstStep(session.state.step) {}

  Status step() {
    StepRecord record;
    Status status = execute(record);
    bool isLast = session.state.step == session.steps;
    // A stopped step still leaves its line: the loss that went wrong is what
    // one looks for.
    if (status.code == ECH_EXIT_NUMERIC) {
      Status written = outputs.metrics.write(record, session.rates);
      return written.isOk() ? status : written;
    }
    if (!status.isOk())
      return status;
    if (session.evaluationTokens &&
        (isLast || isDue(session.options.evalEvery))) {
      Result<double> loss = evaluate(session);
      if (!loss.isOk())
        return loss.status();
      record.hasEvaluation = true;
      record.evaluationLoss = loss.value();
    }
    ECH_RETURN_IF_FAILED(outputs.metrics.write(record, session.rates));
    console.step(record,
                 record.step == firstStep || isLast || record.hasEvaluation);
    if (isLast || isDue(session.options.saveEvery))
      ECH_RETURN_IF_FAILED(outputs.checkpoints.save(session.state));
    return {};
  }

private:
  bool isDue(int64_t every) const {
    return every > 0 && session.state.step % every == 0;
  }

  Status execute(StepRecord &record) {
    double start = monotonicSeconds();
    double paused = 0;
    Status status = runMicrobatches(session, record);
    if (status.isOk() && record.step == firstStep &&
        !session.options.gradientNorms.empty()) {
      double before = monotonicSeconds();
      status =
          writeGradientNorms(session, record.tokens, outputs.gradientNorms);
      paused = monotonicSeconds() - before;
    }
    if (status.isOk())
      status = runUpdate(session, record);
    record.seconds = monotonicSeconds() - start - paused;
    return status;
  }

  Session &session;
  RunOutputs &outputs;
  Console console;
  int64_t firstStep;
};

Status preempt(Session &session, RunOutputs &outputs, int signalNumber) {
  bool isSaved = outputs.checkpoints.isOn() && session.state.step > 0;
  if (isSaved)
    ECH_RETURN_IF_FAILED(outputs.checkpoints.save(session.state));
  Status status =
      failure(ECH_EXIT_PREEMPTED, "stopped by %s after %lld of %lld steps",
              signalNumber == SIGINT ? "SIGINT" : "SIGTERM",
              static_cast<long long>(session.state.step),
              static_cast<long long>(session.steps));
  if (isSaved)
    appendFormat(status.message, "; continue with --resume '%s'",
                 session.options.out.c_str());
  else
    status.message += "; nothing was saved";
  return status;
}

} // namespace

double monotonicSeconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

Status train(Session &session, RunOutputs &outputs,
             const Interrupts &interrupts) {
  TrainLoop loop(session, outputs);
  while (session.state.step < session.steps) {
    if (int signalNumber = interrupts.requested())
      return preempt(session, outputs, signalNumber);
    ECH_RETURN_IF_FAILED(loop.step());
  }
  return {};
}

} // namespace echelon::runtime

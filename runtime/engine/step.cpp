// SPDX-License-Identifier: Apache-2.0
//
// Calls into the program, and what is read from its metrics.
#include "runtime/engine/step.h"

#include "runtime/base/json_writer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace echelon::runtime {

namespace {

double metric(const Session &session, uint64_t offset) {
  return *session.device.at<float>(ECH_ARENA_METRICS, offset);
}

void zeroMetrics(Session &session) {
  memset(session.device.arenas().at(ECH_ARENA_METRICS), 0,
         session.program.arenas[ECH_ARENA_METRICS].bytes);
}

Status notFinite(const char *what, double value, int64_t step,
                 bool checkNumerics) {
  Status status = failure(
      ECH_EXIT_NUMERIC, "%s is %g: stopped, earlier checkpoints are kept%s",
      what, value,
      checkNumerics ? ""
                    : "; to find the first op whose result is not finite, "
                      "compile and run with --check-numerics");
  status.step = step;
  return status;
}

Status checkCalled(const Session &session) {
  if (session.options.checkNumerics && !session.check.wasCalled())
    return failure(ECH_EXIT_USAGE,
                   "--check-numerics: the program was compiled without it and "
                   "makes no checks; compile with --check-numerics, too");
  return {};
}

} // namespace

Status runMicrobatches(Session &session, StepRecord &record) {
  const ech_program &program = session.program;
  ech_launch &launch = session.device.launch();
  launch.step = session.state.step;
  launch.seed = session.state.seed;
  record.step = session.state.step;
  zeroMetrics(session);
  for (int64_t i = 0; i < session.accumulate; ++i) {
    ECH_RETURN_IF_FAILED(fillInputs(session, i));
    launch.microbatch = static_cast<int32_t>(i);
    program.microbatch(&launch);
    ECH_RETURN_IF_FAILED(session.check.result());
  }
  ECH_RETURN_IF_FAILED(checkCalled(session));
  record.tokens = metric(session, program.metric_loss_count);
  record.loss = metric(session, program.metric_loss_sum) / record.tokens;
  if (record.tokens == 0) {
    Status status = failure(ECH_EXIT_INPUT,
                            "no valid label in the whole batch: every label "
                            "has the ignored value");
    status.step = record.step;
    return status;
  }
  if (!std::isfinite(record.loss))
    return notFinite("loss", record.loss, record.step,
                     session.options.checkNumerics);
  return {};
}

Status runUpdate(Session &session, StepRecord &record) {
  const ech_program &program = session.program;
  program.update(&session.device.launch());
  double squareSum = metric(session, program.metric_gradient_square_sum);
  record.gradientNorm = std::sqrt(squareSum) / record.tokens;
  record.learningRate = metric(session, program.metric_learning_rate);
  ECH_RETURN_IF_FAILED(session.check.result());
  if (!std::isfinite(record.gradientNorm))
    return notFinite("grad_norm", record.gradientNorm, record.step,
                     session.options.checkNumerics);
  session.state.step += 1;
  session.state.samples +=
      static_cast<uint64_t>(session.accumulate * program.micro);
  session.state.tokens += static_cast<uint64_t>(record.tokens);
  return {};
}

Status writeGradientNorms(Session &session, double tokens, AtomicFile &file) {
  const ech_program &program = session.program;
  std::string text;
  JsonWriter json(text);
  json.beginObject();
  for (uint32_t i = 0; i < program.variable_count; ++i) {
    const ech_variable &gradient = program.variables[i];
    if (gradient.arena != ECH_ARENA_GRADIENTS)
      continue;
    const ech_variable &parameter = program.variables[gradient.owner];
    if (!parameter.trainable)
      continue;
    const float *values =
        session.device.at<float>(ECH_ARENA_GRADIENTS, gradient.offset);
    double sum = 0;
    for (uint64_t j = 0; j < gradient.bytes / 4; ++j)
      sum += static_cast<double>(values[j]) * values[j];
    json.key(parameter.name);
    json.number(std::sqrt(sum) / tokens);
  }
  json.endObject();
  text += '\n';
  ECH_RETURN_IF_FAILED(file.write(text.data(), text.size()));
  return file.commit();
}

Result<double> evaluate(Session &session) {
  const ech_program &program = session.program;
  const TokenFile &tokens = *session.evaluationTokens;
  uint64_t micro = static_cast<uint64_t>(program.micro);
  uint64_t batches =
      std::min(static_cast<uint64_t>(session.options.evalBatches),
               tokens.samples() / micro);
  uint64_t stride = tokens.samples() / (batches * micro);
  ech_launch &launch = session.device.launch();
  launch.step = session.state.step;
  zeroMetrics(session);
  for (uint64_t i = 0; i < batches; ++i) {
    for (uint64_t row = 0; row < micro; ++row)
      ECH_RETURN_IF_FAILED(
          tokens.fillRow(program, session.device.arenas().at(ECH_ARENA_INPUTS),
                         static_cast<int64_t>(row), (i * micro + row) * stride,
                         session.state.step));
    launch.microbatch = static_cast<int32_t>(i);
    program.evaluate(&launch);
    ECH_RETURN_IF_FAILED(session.check.result());
  }
  double loss = metric(session, program.metric_loss_sum) /
                metric(session, program.metric_loss_count);
  if (!std::isfinite(loss))
    return notFinite("eval_loss", loss, session.state.step,
                     session.options.checkNumerics);
  return loss;
}

} // namespace echelon::runtime

// SPDX-License-Identifier: Apache-2.0
//
// Sampling through the program's evaluate entry: the first row of the
// microbatch holds the context, the logits of its last position give the next
// token.
#include "runtime/engine/sample.h"

#include "runtime/base/text.h"
#include "runtime/engine/initial_values.h"

#include <cmath>
#include <cstring>

namespace echelon::runtime {

namespace {

constexpr double kTemperature = 0.8;
constexpr uint64_t kSampleStream = 0x73616d706c65; // apart from every tensor's
constexpr int64_t kBytes = 256;

const ech_input *tokenInput(const ech_program &program) {
  for (uint32_t i = 0; i < program.input_count; ++i)
    if (program.inputs[i].role == ECH_ROLE_TOKENS &&
        program.inputs[i].rank == 2 && program.inputs[i].dtype == ECH_I64)
      return &program.inputs[i];
  return nullptr;
}

/// Bytes of the prompt for a byte vocabulary; otherwise token 0 starts.
std::vector<int64_t> promptTokens(const ech_program &program,
                                  const std::string &prompt) {
  std::vector<int64_t> tokens;
  if (program.logits_classes == kBytes)
    for (unsigned char byte : prompt.empty() ? std::string("The ") : prompt)
      tokens.push_back(byte);
  return tokens.empty() ? std::vector<int64_t>{0} : tokens;
}

/// Draws from softmax(logits / temperature) with `uniform` in [0, 1).
int64_t draw(const float *logits, int64_t classes, double uniform) {
  double most = logits[0], sum = 0;
  for (int64_t i = 1; i < classes; ++i)
    most = logits[i] > most ? logits[i] : most;
  for (int64_t i = 0; i < classes; ++i)
    sum += std::exp((logits[i] - most) / kTemperature);
  double left = uniform * sum;
  for (int64_t i = 0; i < classes; ++i) {
    left -= std::exp((logits[i] - most) / kTemperature);
    if (left < 0)
      return i;
  }
  return classes - 1;
}

/// Puts the last tokens that fit into row 0; returns how many.
int64_t fillContext(Session &session, const ech_input &input,
                    const std::vector<int64_t> &tokens) {
  char *inputs = static_cast<char *>(session.device.arenas().at(ECH_ARENA_INPUTS));
  const ech_program &program = session.program;
  for (uint32_t i = 0; i < program.input_count; ++i)
    std::memset(inputs + program.inputs[i].offset, 0, program.inputs[i].bytes);
  int64_t sequence = input.shape[1];
  int64_t count = static_cast<int64_t>(tokens.size());
  int64_t used = count < sequence ? count : sequence;
  std::memcpy(inputs + input.offset, tokens.data() + (count - used),
              static_cast<size_t>(used) * sizeof(int64_t));
  return used;
}

std::string render(const ech_program &program,
                   const std::vector<int64_t> &tokens) {
  std::string text = "sample  ";
  for (int64_t token : tokens) {
    if (program.logits_classes != kBytes)
      appendFormat(text, "%lld ", static_cast<long long>(token));
    else if (token == '\n' || (token >= ' ' && token < 127))
      text += static_cast<char>(token);
    else
      appendFormat(text, "\\x%02x", static_cast<unsigned>(token));
  }
  return text + "\n";
}

} // namespace

Status checkSampling(const ech_program &program, const Options &options) {
  if (options.sample == 0)
    return {};
  const ech_input *input = tokenInput(program);
  if (!program.evaluate || program.logits_classes <= 0 || !input ||
      program.logits_rows != input->shape[0] * input->shape[1])
    return failure(ECH_EXIT_USAGE,
                   "--sample needs a model with one token input [batch, "
                   "sequence] and logits [batch, sequence, classes]");
  if (!options.prompt.empty() && program.logits_classes != kBytes)
    return failure(ECH_EXIT_USAGE,
                   "--prompt needs a byte vocabulary of 256 classes, the model "
                   "has %lld",
                   static_cast<long long>(program.logits_classes));
  return {};
}

Status printSample(Session &session) {
  const ech_program &program = session.program;
  const ech_input &input = *tokenInput(program);
  std::vector<int64_t> tokens = promptTokens(program, session.options.prompt);
  const char *activations = static_cast<const char *>(
      session.device.arenas().at(ECH_ARENA_ACTIVATIONS));
  const float *logits =
      reinterpret_cast<const float *>(activations + program.logits_offset);
  for (int64_t i = 0; i < session.options.sample; ++i) {
    int64_t used = fillContext(session, input, tokens);
    program.evaluate(&session.device.launch());
    PhiloxBlock random = philox(static_cast<uint64_t>(i), kSampleStream,
                                session.state.seed);
    tokens.push_back(draw(logits + (used - 1) * program.logits_classes,
                          program.logits_classes, random.words[0] / 4294967296.0));
  }
  printText(1, render(program, tokens));
  return {};
}

} // namespace echelon::runtime

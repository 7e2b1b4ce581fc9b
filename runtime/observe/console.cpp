// SPDX-License-Identifier: Apache-2.0
//
// Console output of the training binary.
#include "runtime/observe/console.h"

#include "runtime/base/text.h"

#include <cmath>

namespace echelon::runtime {

namespace {

void appendPercent(std::string &out, const char *name, double ratio) {
  if (std::isfinite(ratio))
    appendFormat(out, "  %s %.1f%%", name, 100 * ratio);
  else
    appendFormat(out, "  %s n/a", name);
}

} // namespace

std::string headerText(const ech_program &program, const RunHeader &header,
                       const RunRates &rates) {
  std::string out;
  appendFormat(out, "%s  model %s  plan %s  ranks %u  threads %d\n",
               program.compiler, program.model, program.plan_hash,
               program.world_size, header.workers);
  appendFormat(out, "data    %s\n", header.data.c_str());
  appendFormat(out, "batch   %lld x %lld = %lld rows a step\n",
               static_cast<long long>(program.micro),
               static_cast<long long>(header.accumulate),
               static_cast<long long>(program.micro * header.accumulate));
  appendFormat(out, "flops   %.4g a step (palm), %.4g causal, %.4g executed\n",
               rates.flopsPalm, rates.flopsCausal, rates.flopsHardware);
  if (rates.peakFlops > 0)
    appendFormat(out, "peak    %.4g TFLOP/s f32, %s\n", rates.peakFlops / 1e12,
                 header.peak.c_str());
  else
    appendFormat(out, "peak    %s\n", header.peak.c_str());
  uint64_t planned = 0;
  for (const ech_arena &arena : program.arenas)
    planned += arena.bytes;
  out += "memory  planned ";
  appendGrouped(out, planned);
  out += " bytes, mapped ";
  appendGrouped(out, rates.memoryBytes);
  out += " (";
  bool first = true;
  for (const ech_arena &arena : program.arenas) {
    if (arena.bytes == 0)
      continue;
    appendFormat(out, first ? "%s " : ", %s ", arena.name);
    appendGrouped(out, arena.bytes);
    first = false;
  }
  out += "), workspaces ";
  appendGrouped(out, header.workspaceBytes);
  appendFormat(out, "\nstart   %s\n", header.start.c_str());
  return out;
}

Console::Console(int64_t totalSteps, int64_t every, const RunRates &rates)
    : totalSteps(totalSteps), every(every), rates(rates) {
  line.reserve(1024);
}

void Console::step(const StepRecord &record, bool always) {
  secondsSince += record.seconds;
  tokensSince += record.tokens;
  ++stepsSince;
  if (!always && (record.step + 1) % every != 0)
    return;
  print(record);
  secondsSince = tokensSince = 0;
  stepsSince = 0;
}

void Console::print(const StepRecord &record) {
  double stepsPerSecond = static_cast<double>(stepsSince) / secondsSince;
  double perPeak = rates.peakFlops > 0 ? stepsPerSecond / rates.peakFlops
                                       : static_cast<double>(NAN);
  line.clear();
  appendFormat(line, "step %5lld/%lld  loss %.5f  grad_norm %.4f  lr %.2e  ",
               static_cast<long long>(record.step + 1),
               static_cast<long long>(totalSteps), record.loss,
               record.gradientNorm, record.learningRate);
  appendFormat(line, "mem %.2fGiB  tok/s ",
               static_cast<double>(rates.memoryBytes) / (1 << 30));
  appendGrouped(line, static_cast<uint64_t>(tokensSince / secondsSince));
  appendFormat(line, "  tflop/s %.4f", rates.flopsPalm * stepsPerSecond / 1e12);
  appendPercent(line, "mfu", rates.flopsPalm * perPeak);
  appendPercent(line, "hfu", rates.flopsHardware * perPeak);
  if (record.hasEvaluation)
    appendFormat(line, "  eval_loss %.5f", record.evaluationLoss);
  line += '\n';
  printText(1, line);
}

void printNote(const std::string &text) {
  printText(2, "note: " + text + "\n");
}

} // namespace echelon::runtime

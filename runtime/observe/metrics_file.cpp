// SPDX-License-Identifier: Apache-2.0
//
// The metrics file.
#include "runtime/observe/metrics_file.h"

#include "runtime/base/json_reader.h"
#include "runtime/base/json_writer.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <unistd.h>

namespace echelon::runtime {

Status MetricsFile::open(const std::string &target, int64_t firstStep) {
  if (target.empty())
    return {};
  path = target;
  line.reserve(1024);
  if (firstStep > 0 && access(path.c_str(), F_OK) == 0)
    ECH_RETURN_IF_FAILED(keepLinesBefore(firstStep));
  return file.open(path.c_str(), firstStep > 0);
}

Status MetricsFile::keepLinesBefore(int64_t firstStep) {
  Result<MappedFile> old = MappedFile::open(path);
  if (!old.isOk())
    return old.status();
  std::string_view text(reinterpret_cast<const char *>(old.value().data()),
                        old.value().size());
  size_t kept = 0;
  while (kept < text.size()) {
    size_t end = text.find('\n', kept);
    if (end == std::string_view::npos)
      break;
    Result<JsonValue> value = parseJson(text.substr(kept, end - kept));
    const JsonValue *step = value.isOk() ? value.value().find("step") : nullptr;
    if (!step || step->number >= static_cast<double>(firstStep))
      break;
    kept = end + 1;
  }
  if (kept < text.size() && truncate(path.c_str(), static_cast<off_t>(kept)))
    return systemFailure(ECH_EXIT_DISK, "cannot shorten", path.c_str(), errno);
  return {};
}

Status MetricsFile::write(const StepRecord &record, const RunRates &rates) {
  if (!file.isOpen())
    return {};
  double perPeak = rates.peakFlops > 0 ? 1 / (record.seconds * rates.peakFlops)
                                       : static_cast<double>(NAN);
  line.clear();
  JsonWriter json(line);
  auto number = [&](const char *key, double value) {
    json.key(key);
    json.number(value);
  };
  json.beginObject();
  json.key("step");
  json.integer(record.step);
  number("loss", record.loss);
  number("grad_norm", record.gradientNorm);
  number("lr", record.learningRate);
  number("tokens", record.tokens);
  number("tokens_per_second", record.tokens / record.seconds);
  number("step_seconds", record.seconds);
  number("mfu", rates.flopsPalm * perPeak);
  number("mfu_causal", rates.flopsCausal * perPeak);
  number("hfu", rates.flopsHardware * perPeak);
  json.key("memory_bytes");
  json.unsignedInteger(rates.memoryBytes);
  if (record.hasEvaluation)
    number("eval_loss", record.evaluationLoss);
  json.endObject();
  line += '\n';
  return file.write(line.data(), line.size());
}

} // namespace echelon::runtime

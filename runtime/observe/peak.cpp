// SPDX-License-Identifier: Apache-2.0
//
// Where the peak FLOP rate comes from.
#include "runtime/observe/peak.h"

#include "runtime/base/file.h"
#include "runtime/base/json_reader.h"

#include <cstdlib>
#include <unistd.h>

namespace echelon::runtime {

std::string doctorFilePath() {
  const char *cache = getenv("XDG_CACHE_HOME");
  if (cache && *cache)
    return std::string(cache) + "/echelon/doctor.json";
  const char *home = getenv("HOME");
  return home && *home ? std::string(home) + "/.cache/echelon/doctor.json" : "";
}

PeakRate findPeakRate(double peakTflops, const std::string &doctorFile,
                      int workers) {
  if (peakTflops > 0)
    return {peakTflops * 1e12, "--peak-tflops"};
  if (doctorFile.empty() || access(doctorFile.c_str(), F_OK) != 0)
    return {0, "unknown: run 'echelon doctor' or pass --peak-tflops"};
  Result<std::string> text = readTextFile(doctorFile, size_t{1} << 20);
  if (!text.isOk())
    return {0, "unknown: " + text.status().message};
  Result<JsonValue> json = parseJson(text.value());
  if (!json.isOk())
    return {0, "unknown: '" + doctorFile + "': " + json.status().message};
  const JsonValue *peak = json.value().find("peak_flops_f32");
  if (!peak || peak->kind != JsonKind::Number || peak->number <= 0)
    return {0, "unknown: '" + doctorFile + "' has no peak_flops_f32"};
  return {peak->number * workers, "measured by 'echelon doctor'"};
}

} // namespace echelon::runtime

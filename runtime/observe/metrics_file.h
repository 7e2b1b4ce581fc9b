// SPDX-License-Identifier: Apache-2.0
//
// The metrics file: one JSON object a line and step. Each line is one write, so
// a crash tears at most the last line.
#ifndef ECHELON_RUNTIME_OBSERVE_METRICS_FILE_H
#define ECHELON_RUNTIME_OBSERVE_METRICS_FILE_H

#include "runtime/base/file.h"
#include "runtime/observe/step_record.h"

#include <string>

namespace echelon::runtime {

class MetricsFile {
public:
  /// Opens `path`; an empty path switches the file off. At `firstStep` 0 the
  /// file starts empty; a resumed run keeps the lines of earlier steps and
  /// drops the others, which it will write again. Errors carry ECH_EXIT_DISK.
  Status open(const std::string &path, int64_t firstStep);

  /// Appends one line; allocates nothing.
  Status write(const StepRecord &record, const RunRates &rates);

private:
  Status keepLinesBefore(int64_t firstStep);

  std::string path;
  std::string line;
  FileWriter file;
};

} // namespace echelon::runtime

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Construction and printing of failures.
#include "runtime/base/status.h"

#include "runtime/base/text.h"

#include <cstdarg>
#include <cstring>

namespace echelon::runtime {

Status failure(int code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Status status;
  status.code = code;
  appendFormatV(status.message, format, arguments);
  va_end(arguments);
  return status;
}

Status systemFailure(int code, const char *what, const char *path,
                     int errorNumber) {
  return failure(code, "%s '%s': %s", what, path, strerror(errorNumber));
}

void printFailure(const Status &status) {
  std::string line = "error: ";
  if (status.step >= 0)
    appendFormat(line, "step %lld: ", static_cast<long long>(status.step));
  line += status.message;
  if (!status.place.empty())
    appendFormat(line, " (at %s)", status.place.c_str());
  line += '\n';
  printText(2, line);
}

} // namespace echelon::runtime

// SPDX-License-Identifier: Apache-2.0
//
// Text without iostreams.
#include "runtime/base/text.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace echelon::runtime {

void appendFormatV(std::string &out, const char *format, va_list arguments) {
  // The stack buffer holds every line of the training loop, so that the loop
  // does not allocate.
  char buffer[1024];
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(buffer, sizeof(buffer), format, arguments);
  if (length >= 0 && static_cast<size_t>(length) < sizeof(buffer)) {
    out.append(buffer, static_cast<size_t>(length));
  } else if (length >= 0) {
    size_t start = out.size();
    out.resize(start + static_cast<size_t>(length) + 1);
    vsnprintf(&out[start], static_cast<size_t>(length) + 1, format, again);
    out.pop_back();
  }
  va_end(again);
}

void appendFormat(std::string &out, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  appendFormatV(out, format, arguments);
  va_end(arguments);
}

std::string formatText(const char *format, ...) {
  std::string out;
  va_list arguments;
  va_start(arguments, format);
  appendFormatV(out, format, arguments);
  va_end(arguments);
  return out;
}

void appendGrouped(std::string &out, uint64_t value) {
  char digits[24];
  int length = snprintf(digits, sizeof(digits), "%llu",
                        static_cast<unsigned long long>(value));
  for (int i = 0; i < length; ++i) {
    if (i > 0 && (length - i) % 3 == 0)
      out += ',';
    out += digits[i];
  }
}

void appendShape(std::string &out, const int64_t *shape, int64_t rank) {
  out += '[';
  for (int64_t i = 0; i < rank; ++i)
    appendFormat(out, i ? ",%lld" : "%lld", static_cast<long long>(shape[i]));
  out += ']';
}

void printText(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

bool parseUnsigned(std::string_view text, uint64_t &value) {
  if (text.empty())
    return false;
  uint64_t sum = 0;
  for (char c : text) {
    if (c < '0' || c > '9')
      return false;
    if (__builtin_mul_overflow(sum, uint64_t{10}, &sum) ||
        __builtin_add_overflow(sum, static_cast<uint64_t>(c - '0'), &sum))
      return false;
  }
  value = sum;
  return true;
}

bool parseReal(std::string_view text, double &value) {
  std::string copy(text);
  // strtod also reads hexadecimal, "inf", "nan" and leading blanks, none of
  // which is meant here.
  if (copy.empty() ||
      copy.find_first_not_of("0123456789+-.eE") != std::string::npos)
    return false;
  char *end = nullptr;
  double parsed = strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size() || !std::isfinite(parsed))
    return false;
  value = parsed;
  return true;
}

bool endsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() &&
         text.substr(text.size() - suffix.size()) == suffix;
}

std::string directoryOf(const std::string &path) {
  size_t slash = path.find_last_of('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string fileNameOf(const std::string &path) {
  size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

} // namespace echelon::runtime

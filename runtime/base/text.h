// SPDX-License-Identifier: Apache-2.0
//
// Text without iostreams: printf-style appending to strings, numbers as people
// read them, and unbuffered output. Appending to a string with enough capacity
// allocates nothing, which is how the training loop logs.
#ifndef ECHELON_RUNTIME_BASE_TEXT_H
#define ECHELON_RUNTIME_BASE_TEXT_H

#include <cstdarg>
#include <cstdint>
#include <string>
#include <string_view>

namespace echelon::runtime {

/// Appends a printf-style text.
void appendFormat(std::string &out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void appendFormatV(std::string &out, const char *format, va_list arguments);

/// A printf-style text as a new string.
std::string formatText(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/// Appends `value` with a comma between groups of three digits: 18,204.
void appendGrouped(std::string &out, uint64_t value);

/// Appends a tensor shape: [4,12].
void appendShape(std::string &out, const int64_t *shape, int64_t rank);

/// Writes all of `text` to a file descriptor. A failure is ignored: this is for
/// the console, whose loss must not end a training.
void printText(int descriptor, std::string_view text);

/// Reads a whole decimal number; false if `text` is anything else or does not
/// fit.
bool parseUnsigned(std::string_view text, uint64_t &value);

/// Reads a finite decimal floating-point number; false if `text` is anything
/// else.
bool parseReal(std::string_view text, double &value);

bool endsWith(std::string_view text, std::string_view suffix);

/// "a/b/c" -> "a/b", "c" -> ".", "/c" -> "/".
std::string directoryOf(const std::string &path);

/// "a/b/c" -> "c".
std::string fileNameOf(const std::string &path);

} // namespace echelon::runtime

#endif

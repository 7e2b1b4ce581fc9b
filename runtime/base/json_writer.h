// SPDX-License-Identifier: Apache-2.0
//
// Writes JSON to a string: metrics lines, state files, program descriptions. It
// keeps the commas; the caller keeps the brackets balanced. A string with
// enough capacity is not reallocated, so the training loop can write its lines
// without allocating.
#ifndef ECHELON_RUNTIME_BASE_JSON_WRITER_H
#define ECHELON_RUNTIME_BASE_JSON_WRITER_H

#include <cstdint>
#include <string>
#include <string_view>

namespace echelon::runtime {

class JsonWriter {
public:
  explicit JsonWriter(std::string &out) : out(out) {}

  void beginObject();
  void endObject();
  void beginArray();
  void endArray();
  void key(std::string_view name);

  void text(std::string_view value);
  void integer(int64_t value);
  void unsignedInteger(uint64_t value);
  /// 12 significant digits; infinities and NaN become null.
  void number(double value);
  void boolean(bool value);
  void null();
  /// A 64-bit word as 16 hexadecimal digits in quotes (JSON readers lose
  /// integers above 2^53).
  void hexadecimal(uint64_t value);

private:
  void separate();

  std::string &out;
  bool needsComma = false;
};

/// Appends `value` as a JSON string; control characters are escaped, other
/// bytes pass.
void appendJsonString(std::string &out, std::string_view value);

} // namespace echelon::runtime

#endif

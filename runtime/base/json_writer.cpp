// SPDX-License-Identifier: Apache-2.0
//
// The JSON writer.
#include "runtime/base/json_writer.h"

#include "runtime/base/text.h"

#include <cmath>

namespace echelon::runtime {

void appendJsonString(std::string &out, std::string_view value) {
  out += '"';
  for (char c : value) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      appendFormat(out, "\\u%04x", c);
    } else {
      out += c;
    }
  }
  out += '"';
}

void JsonWriter::separate() {
  if (needsComma)
    out += ", ";
  needsComma = true;
}

void JsonWriter::beginObject() {
  separate();
  out += '{';
  needsComma = false;
}

void JsonWriter::endObject() {
  out += '}';
  needsComma = true;
}

void JsonWriter::beginArray() {
  separate();
  out += '[';
  needsComma = false;
}

void JsonWriter::endArray() {
  out += ']';
  needsComma = true;
}

void JsonWriter::key(std::string_view name) {
  separate();
  appendJsonString(out, name);
  out += ": ";
  needsComma = false;
}

void JsonWriter::text(std::string_view value) {
  separate();
  appendJsonString(out, value);
}

void JsonWriter::integer(int64_t value) {
  separate();
  appendFormat(out, "%lld", static_cast<long long>(value));
}

void JsonWriter::unsignedInteger(uint64_t value) {
  separate();
  appendFormat(out, "%llu", static_cast<unsigned long long>(value));
}

void JsonWriter::number(double value) {
  if (!std::isfinite(value))
    return null();
  separate();
  appendFormat(out, "%.12g", value);
}

void JsonWriter::boolean(bool value) {
  separate();
  out += value ? "true" : "false";
}

void JsonWriter::null() {
  separate();
  out += "null";
}

void JsonWriter::hexadecimal(uint64_t value) {
  separate();
  appendFormat(out, "\"%016llx\"", static_cast<unsigned long long>(value));
}

} // namespace echelon::runtime

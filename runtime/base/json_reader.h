// SPDX-License-Identifier: Apache-2.0
//
// A small strict JSON reader for text that may be hostile: safetensors headers,
// state files. Limits on nesting and on the number of values bound its memory
// and stack; duplicate keys, broken UTF-8, lone surrogates, control characters
// and trailing text are refused.
#ifndef ECHELON_RUNTIME_BASE_JSON_READER_H
#define ECHELON_RUNTIME_BASE_JSON_READER_H

#include "runtime/base/status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace echelon::runtime {

enum class JsonKind { Null, Boolean, Number, Text, Array, Object };

/// One JSON value. An object keeps its members sorted by key: `keys[i]` belongs
/// to `items[i]`.
struct JsonValue {
  JsonKind kind = JsonKind::Null;
  bool boolean = false;
  bool isUnsigned = false; ///< the number is a whole one in [0, 2^64) without
                           ///< fraction or exponent
  double number = 0;
  uint64_t unsignedNumber = 0; ///< valid if isUnsigned
  std::string text;
  std::vector<std::string> keys;
  std::vector<JsonValue> items;

  /// The member `name` of an object, or null if there is none or this is no
  /// object.
  const JsonValue *find(std::string_view name) const;
};

struct JsonLimits {
  int depth = 32;
  size_t values = size_t{1} << 20;
};

/// Reads one JSON value that fills `text` but for white space. Errors carry
/// ECH_EXIT_INPUT and the byte offset.
Result<JsonValue> parseJson(std::string_view text, JsonLimits limits = {});

} // namespace echelon::runtime

#endif

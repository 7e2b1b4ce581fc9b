// SPDX-License-Identifier: Apache-2.0
//
// A strict JSON document as a tree whose nodes know their line and column, so
// that a reader can point at the value it refuses. Parsing is nlohmann's;
// comments, duplicate keys, trailing text and deep nesting are errors.
#ifndef ECHELON_COMPILER_SPEC_JSON_TREE_H
#define ECHELON_COMPILER_SPEC_JSON_TREE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

struct JsonNode {
  enum class Kind { Null, Boolean, Integer, Number, String, Array, Object };

  Kind kind = Kind::Null;
  int line = 0; ///< 1-based, of the key for members, else of the value
  int column = 0;
  bool boolean = false;
  double number = 0;   ///< Integer and Number
  int64_t integer = 0; ///< Integer; values above INT64_MAX are Number
  std::string text;    ///< String
  std::vector<JsonNode> elements; ///< Array
  std::vector<std::pair<std::string, JsonNode>>
      members; ///< Object, in file order

  /// "a number", "an array", ...: for messages.
  const char *kindName() const;
};

/// Parses the whole of `text`. `fileName` only serves messages, which read
/// `<fileName>:<line>:<column>: ...`. Nesting deeper than 16 is an error.
llvm::Expected<JsonNode> parseJsonTree(llvm::StringRef text,
                                       llvm::StringRef fileName);

/// The shortest text that reads back as the same double; integral values
/// without a fraction ("1", not "1.0"). Infinities and NaN give "null".
std::string jsonNumberText(double value);

} // namespace echelon

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Recursive descent with a depth limit; each parse function leaves `position`
// behind what it read.
#include "runtime/base/json_reader.h"

#include "runtime/base/text.h"

#include <algorithm>
#include <numeric>

namespace echelon::runtime {

namespace {

class JsonParser {
public:
  JsonParser(std::string_view text, JsonLimits limits)
      : text(text), limits(limits) {}

  bool parseDocument(JsonValue &value) {
    if (!parseValue(value, 0))
      return false;
    skipBlanks();
    return position == text.size() || fail("text after the end of the value");
  }

  Status error() const {
    return failure(ECH_EXIT_INPUT, "invalid JSON at byte %zu: %s", position,
                   reason);
  }

private:
  bool fail(const char *why) {
    reason = why;
    return false;
  }

  char peek() const { return position < text.size() ? text[position] : '\0'; }

  void skipBlanks() {
    while (position < text.size() &&
           (text[position] == ' ' || text[position] == '\t' ||
            text[position] == '\n' || text[position] == '\r'))
      ++position;
  }

  bool parseValue(JsonValue &value, int depth) {
    if (depth > limits.depth)
      return fail("nested too deeply");
    if (++count > limits.values)
      return fail("too many values");
    skipBlanks();
    switch (peek()) {
    case '{':
      return parseObject(value, depth);
    case '[':
      return parseArray(value, depth);
    case '"':
      value.kind = JsonKind::Text;
      return parseString(value.text);
    case 't':
      value.kind = JsonKind::Boolean;
      value.boolean = true;
      return parseWord("true");
    case 'f':
      value.kind = JsonKind::Boolean;
      return parseWord("false");
    case 'n':
      return parseWord("null");
    default:
      return parseNumber(value);
    }
  }

  bool parseWord(std::string_view word) {
    if (text.substr(position, word.size()) != word)
      return fail("unknown word");
    position += word.size();
    return true;
  }

  bool parseArray(JsonValue &value, int depth) {
    value.kind = JsonKind::Array;
    ++position;
    skipBlanks();
    if (peek() == ']')
      return ++position, true;
    while (true) {
      if (!parseValue(value.items.emplace_back(), depth + 1))
        return false;
      skipBlanks();
      if (peek() == ']')
        return ++position, true;
      if (peek() != ',')
        return fail("expected ',' or ']'");
      ++position;
    }
  }

  bool parseObject(JsonValue &value, int depth) {
    value.kind = JsonKind::Object;
    ++position;
    skipBlanks();
    if (peek() == '}')
      return ++position, true;
    while (true) {
      skipBlanks();
      if (peek() != '"')
        return fail("expected a key in quotes");
      if (!parseString(value.keys.emplace_back()))
        return false;
      skipBlanks();
      if (peek() != ':')
        return fail("expected ':'");
      ++position;
      if (!parseValue(value.items.emplace_back(), depth + 1))
        return false;
      skipBlanks();
      if (peek() == '}')
        return ++position, sortMembers(value);
      if (peek() != ',')
        return fail("expected ',' or '}'");
      ++position;
    }
  }

  bool sortMembers(JsonValue &value) {
    std::vector<size_t> order(value.keys.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return value.keys[a] < value.keys[b];
    });
    std::vector<std::string> keys;
    std::vector<JsonValue> items;
    keys.reserve(order.size());
    items.reserve(order.size());
    for (size_t index : order) {
      if (!keys.empty() && keys.back() == value.keys[index])
        return fail("duplicate key");
      keys.push_back(std::move(value.keys[index]));
      items.push_back(std::move(value.items[index]));
    }
    value.keys = std::move(keys);
    value.items = std::move(items);
    return true;
  }

  bool skipDigits() {
    size_t start = position;
    while (peek() >= '0' && peek() <= '9')
      ++position;
    return position > start;
  }

  bool parseNumber(JsonValue &value) {
    size_t start = position;
    bool isWhole = peek() != '-';
    if (!isWhole)
      ++position;
    size_t digits = position;
    if (!skipDigits())
      return fail("expected a value");
    if (text[digits] == '0' && position > digits + 1)
      return fail("number with a leading zero");
    if (peek() == '.') {
      isWhole = false;
      ++position;
      if (!skipDigits())
        return fail("expected a digit after '.'");
    }
    if (peek() == 'e' || peek() == 'E') {
      isWhole = false;
      ++position;
      if (peek() == '+' || peek() == '-')
        ++position;
      if (!skipDigits())
        return fail("expected a digit in the exponent");
    }
    std::string_view spelling = text.substr(start, position - start);
    value.kind = JsonKind::Number;
    if (!parseReal(spelling, value.number))
      return fail("number out of range");
    value.isUnsigned = isWhole && parseUnsigned(spelling, value.unsignedNumber);
    return true;
  }

  bool parseString(std::string &out) {
    ++position;
    while (position < text.size()) {
      unsigned char c = static_cast<unsigned char>(text[position]);
      if (c == '"')
        return ++position, true;
      if (c < 0x20)
        return fail("control character in a string");
      if (c == '\\') {
        if (!parseEscape(out))
          return false;
      } else if (c < 0x80) {
        out += static_cast<char>(c);
        ++position;
      } else if (!copyMultibyte(out)) {
        return false;
      }
    }
    return fail("string without an end");
  }

  bool parseEscape(std::string &out) {
    ++position;
    char c = peek();
    ++position;
    static constexpr char kFrom[] = "\"\\/bfnrt";
    static constexpr char kTo[] = "\"\\/\b\f\n\r\t";
    for (int i = 0; kFrom[i]; ++i) {
      if (c == kFrom[i]) {
        out += kTo[i];
        return true;
      }
    }
    if (c != 'u')
      return fail("unknown escape");
    uint32_t code = 0;
    if (!parseHex4(code))
      return false;
    if (code >= 0xDC00 && code < 0xE000)
      return fail("lone surrogate");
    if (code >= 0xD800 && code < 0xDC00) {
      uint32_t low = 0;
      if (text.substr(position, 2) != "\\u")
        return fail("lone surrogate");
      position += 2;
      if (!parseHex4(low))
        return false;
      if (low < 0xDC00 || low >= 0xE000)
        return fail("lone surrogate");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    appendUtf8(out, code);
    return true;
  }

  bool parseHex4(uint32_t &code) {
    for (int i = 0; i < 4; ++i, ++position) {
      char c = peek();
      uint32_t digit;
      if (c >= '0' && c <= '9')
        digit = static_cast<uint32_t>(c - '0');
      else if (c >= 'a' && c <= 'f')
        digit = static_cast<uint32_t>(c - 'a' + 10);
      else if (c >= 'A' && c <= 'F')
        digit = static_cast<uint32_t>(c - 'A' + 10);
      else
        return fail("expected four hexadecimal digits");
      code = code * 16 + digit;
    }
    return true;
  }

  static void appendUtf8(std::string &out, uint32_t code) {
    if (code < 0x80) {
      out += static_cast<char>(code);
      return;
    }
    if (code < 0x800) {
      out += static_cast<char>(0xC0 | (code >> 6));
    } else {
      if (code < 0x10000) {
        out += static_cast<char>(0xE0 | (code >> 12));
      } else {
        out += static_cast<char>(0xF0 | (code >> 18));
        out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
      }
      out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    }
    out += static_cast<char>(0x80 | (code & 0x3F));
  }

  // Copies one UTF-8 sequence of two to four bytes; refuses overlong forms and
  // surrogates.
  bool copyMultibyte(std::string &out) {
    unsigned char lead = static_cast<unsigned char>(text[position]);
    size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    static constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (lead < 0xC2 || lead > 0xF4 || position + length > text.size())
      return fail("invalid UTF-8");
    uint32_t code = lead & (0x7Fu >> length);
    for (size_t i = 1; i < length; ++i) {
      unsigned char next = static_cast<unsigned char>(text[position + i]);
      if ((next & 0xC0) != 0x80)
        return fail("invalid UTF-8");
      code = (code << 6) | (next & 0x3F);
    }
    if (code < kSmallest[length] || code > 0x10FFFF ||
        (code >= 0xD800 && code < 0xE000))
      return fail("invalid UTF-8");
    out.append(text.substr(position, length));
    position += length;
    return true;
  }

  std::string_view text;
  JsonLimits limits;
  size_t position = 0;
  size_t count = 0;
  const char *reason = "";
};

} // namespace

const JsonValue *JsonValue::find(std::string_view name) const {
  auto found = std::lower_bound(keys.begin(), keys.end(), name);
  if (kind != JsonKind::Object || found == keys.end() || *found != name)
    return nullptr;
  return &items[static_cast<size_t>(found - keys.begin())];
}

Result<JsonValue> parseJson(std::string_view text, JsonLimits limits) {
  JsonParser parser(text, limits);
  JsonValue value;
  if (!parser.parseDocument(value))
    return parser.error();
  return value;
}

} // namespace echelon::runtime

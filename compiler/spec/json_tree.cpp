// SPDX-License-Identifier: Apache-2.0
//
// nlohmann's SAX parser driven over an iterator that remembers how far it has
// read: that position, mapped to line and column, is what the tree adds.
#include "compiler/spec/json_tree.h"
#include "llvm/ADT/Twine.h"
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

namespace echelon {

const char *JsonNode::kindName() const {
  switch (kind) {
  case Kind::Null:
    return "null";
  case Kind::Boolean:
    return "a boolean";
  case Kind::Integer:
    return "an integer";
  case Kind::Number:
    return "a number";
  case Kind::String:
    return "a string";
  case Kind::Array:
    return "an array";
  case Kind::Object:
    return "an object";
  }
  return "a value";
}

namespace {

constexpr size_t kMaxDepth = 16;

/// Reads characters and publishes how many have been taken.
class CountingIterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  CountingIterator(const char *at, const char **cursor)
      : at(at), cursor(cursor) {}
  reference operator*() const { return *at; }
  CountingIterator &operator++() {
    *cursor = ++at;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator &other) const {
    return at == other.at;
  }
  bool operator!=(const CountingIterator &other) const {
    return at != other.at;
  }

private:
  const char *at;
  const char **cursor;
};

class TreeBuilder {
public:
  using json = nlohmann::json;

  TreeBuilder(llvm::StringRef text, const char *const &cursor)
      : text(text), cursor(cursor) {}

  JsonNode root;
  std::string message;
  size_t errorOffset = 0;

  bool null() {
    add(JsonNode::Kind::Null);
    return true;
  }
  bool boolean(bool value) {
    add(JsonNode::Kind::Boolean)->boolean = value;
    return true;
  }
  bool number_integer(json::number_integer_t value) {
    JsonNode *node = add(JsonNode::Kind::Integer);
    node->integer = value;
    node->number = static_cast<double>(value);
    return true;
  }
  bool number_unsigned(json::number_unsigned_t value) {
    if (value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return number_integer(static_cast<int64_t>(value));
    add(JsonNode::Kind::Number)->number = static_cast<double>(value);
    return true;
  }
  bool number_float(json::number_float_t value, const json::string_t &) {
    add(JsonNode::Kind::Number)->number = value;
    return true;
  }
  bool string(json::string_t &value) {
    add(JsonNode::Kind::String)->text = std::move(value);
    return true;
  }
  bool binary(json::binary_t &) { return fail("binary value"); }
  bool start_object(std::size_t) { return open(JsonNode::Kind::Object); }
  bool start_array(std::size_t) { return open(JsonNode::Kind::Array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(json::string_t &name) {
    for (const auto &member : stack.back()->members)
      if (member.first == name)
        return fail("the key \"" + name + "\" occurs twice in one object");
    pendingKey = name;
    pendingOffset = keyStart();
    return true;
  }

  bool parse_error(std::size_t, const std::string &, const json::exception &e) {
    // nlohmann's text reads "[json.exception...] parse error at line 1, column
    // 2: syntax error while ...": what follows the position is the reason.
    llvm::StringRef reason(e.what());
    size_t colon = reason.find(": ");
    if (colon != llvm::StringRef::npos)
      reason = reason.drop_front(colon + 2);
    return fail(("not valid JSON: " + reason).str());
  }

private:
  bool fail(std::string why) {
    if (message.empty()) {
      message = std::move(why);
      errorOffset = offset() > 0 ? offset() - 1 : 0;
    }
    return false;
  }

  size_t offset() const { return static_cast<size_t>(cursor - text.data()); }

  /// The offset of the opening quote of the key that was just read.
  size_t keyStart() const {
    size_t at = offset();
    if (at < 2)
      return 0;
    size_t quote = text.rfind('"', at - 2);
    while (quote != llvm::StringRef::npos && quote > 0 &&
           text[quote - 1] == '\\')
      quote = text.rfind('"', quote - 1);
    return quote == llvm::StringRef::npos ? 0 : quote;
  }

  /// Appends a value to the open container; the first becomes the root.
  JsonNode *add(JsonNode::Kind kind) {
    JsonNode *node = &root;
    size_t at = offset() > 0 ? offset() - 1 : 0;
    if (!stack.empty() && stack.back()->kind == JsonNode::Kind::Object) {
      auto &members = stack.back()->members;
      members.emplace_back(pendingKey, JsonNode());
      node = &members.back().second;
      at = pendingOffset;
    } else if (!stack.empty()) {
      stack.back()->elements.emplace_back();
      node = &stack.back()->elements.back();
    }
    node->kind = kind;
    llvm::StringRef before = text.take_front(at);
    size_t lineStart = before.rfind('\n');
    node->line = static_cast<int>(before.count('\n')) + 1;
    node->column = static_cast<int>(
        lineStart == llvm::StringRef::npos ? at + 1 : at - lineStart);
    return node;
  }

  bool open(JsonNode::Kind kind) {
    if (stack.size() >= kMaxDepth)
      return fail("nested deeper than " + std::to_string(kMaxDepth) +
                  " levels");
    stack.push_back(add(kind));
    return true;
  }

  // A parent's vector never grows while one of its children is open, so the
  // pointers on the stack stay valid.
  bool close() {
    stack.pop_back();
    return true;
  }

  llvm::StringRef text;
  const char *const &cursor;
  std::vector<JsonNode *> stack;
  std::string pendingKey;
  size_t pendingOffset = 0;
};

} // namespace

llvm::Expected<JsonNode> parseJsonTree(llvm::StringRef text,
                                       llvm::StringRef fileName) {
  const char *cursor = text.begin();
  TreeBuilder builder(text, cursor);
  try {
    bool parsed = nlohmann::json::sax_parse(
        CountingIterator(text.begin(), &cursor),
        CountingIterator(text.end(), &cursor), &builder);
    if (parsed)
      return std::move(builder.root);
  } catch (const std::exception &e) {
    if (builder.message.empty())
      builder.message = e.what();
  }
  llvm::StringRef before = text.take_front(builder.errorOffset);
  size_t lineStart = before.rfind('\n');
  size_t column = lineStart == llvm::StringRef::npos
                      ? before.size() + 1
                      : before.size() - lineStart;
  return llvm::createStringError(
      llvm::inconvertibleErrorCode(),
      fileName + ":" + llvm::Twine(before.count('\n') + 1) + ":" +
          llvm::Twine(column) + ": " + builder.message);
}

std::string jsonNumberText(double value) {
  std::string text = nlohmann::json(value).dump();
  llvm::StringRef shortened = text;
  shortened.consume_back(".0");
  return shortened.str();
}

} // namespace echelon

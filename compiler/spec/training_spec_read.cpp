// SPDX-License-Identifier: Apache-2.0
//
// Reading: a JSON tree is walked against the key list; each leaf is checked and
// stored with its origin, each fault becomes one line. `--set` goes the same
// way with a tree of one leaf.
#include "compiler/spec/json_tree.h"
#include "compiler/spec/parameter_globs.h"
#include "compiler/spec/suggest.h"
#include "compiler/spec/training_spec.h"
#include "compiler/spec/training_spec_keys.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <set>

namespace echelon {

using namespace spec_keys;

namespace {

std::string describe(const Range &range) {
  if (range.low == 0 && std::isinf(range.high))
    return range.lowOpen ? "a positive number" : "zero or a positive number";
  return (range.lowOpen ? "in (" : "in [") + jsonNumberText(range.low) + ", " +
         jsonNumberText(range.high) + (range.highOpen ? ")" : "]");
}

/// Why a leaf was refused; empty: it was stored.
using Fault = std::string;

Fault expected(const char *what, const JsonNode &node) {
  return std::string("expects ") + what + ", not " + node.kindName();
}

Fault checkRange(double value, const Range &range) {
  if (std::isfinite(value) && range.contains(value))
    return "";
  return "is " + jsonNumberText(value) + ", but must be " + describe(range);
}

Fault readStrings(const JsonNode &node, const char *what,
                  std::vector<std::string> &into) {
  if (node.kind != JsonNode::Kind::Array)
    return expected(what, node);
  std::vector<std::string> result;
  for (const JsonNode &element : node.elements) {
    if (element.kind != JsonNode::Kind::String)
      return expected(what, element) + " inside it";
    if (element.text.empty())
      return "holds an empty string";
    result.push_back(element.text);
  }
  into = std::move(result);
  return "";
}

/// Stores `node` in the key named `path`; `found` tells whether there is one.
class LeafReader {
public:
  LeafReader(llvm::StringRef path, const JsonNode &node)
      : path(path), node(node) {}

  bool found = false;
  Fault fault;

  template <class Enum, size_t N>
  void choice(llvm::StringRef key, Enum &field, const Word<Enum> (&words)[N]) {
    if (!claim(key))
      return;
    llvm::SmallVector<llvm::StringRef> known;
    for (const Word<Enum> &word : words)
      known.push_back(word.text);
    if (node.kind != JsonNode::Kind::String) {
      fault =
          expected("a string", node) + "; known: " + llvm::join(known, ", ");
      return;
    }
    for (const Word<Enum> &word : words)
      if (word.text == node.text) {
        field = word.value;
        return;
      }
    fault =
        "does not know \"" + node.text + "\"" + suggestion(node.text, known);
  }

  void text(llvm::StringRef key, std::string &field, Nullable nullable) {
    if (!claim(key))
      return;
    if (nullable == Nullable::Yes && node.kind == JsonNode::Kind::Null)
      field.clear();
    else if (node.kind != JsonNode::Kind::String)
      fault = expected("a string", node);
    else if (node.text.empty())
      fault = "is empty; leave the key out instead";
    else
      field = node.text;
  }

  void boolean(llvm::StringRef key, bool &field) {
    if (!claim(key))
      return;
    if (node.kind != JsonNode::Kind::Boolean)
      fault = expected("true or false", node);
    else
      field = node.boolean;
  }

  void integer(llvm::StringRef key, int64_t &field, Range range,
               Nullable nullable) {
    if (!claim(key) || isNull(nullable, field))
      return;
    if (node.kind != JsonNode::Kind::Integer) {
      fault = expected("an integer", node);
      return;
    }
    fault = checkRange(static_cast<double>(node.integer), range);
    if (fault.empty())
      field = node.integer;
  }

  void number(llvm::StringRef key, double &field, Range range,
              Nullable nullable) {
    if (!claim(key) || isNull(nullable, field))
      return;
    if (!isNumber(node)) {
      fault = expected("a number", node);
      return;
    }
    fault = checkRange(node.number, range);
    if (fault.empty())
      field = node.number;
  }

  void numbers(llvm::StringRef key, std::array<double, 2> &field, Range range) {
    if (!claim(key))
      return;
    if (node.kind != JsonNode::Kind::Array) {
      fault = expected("an array of two numbers", node);
      return;
    }
    if (node.elements.size() != 2) {
      fault = "has " + std::to_string(node.elements.size()) +
              " elements, but must have 2";
      return;
    }
    for (const JsonNode &element : node.elements) {
      fault = isNumber(element) ? checkRange(element.number, range)
                                : expected("numbers", element);
      if (!fault.empty())
        return;
    }
    field = {node.elements[0].number, node.elements[1].number};
  }

  void globs(llvm::StringRef key, std::vector<std::string> &field,
             Roles roles) {
    if (!claim(key))
      return;
    std::vector<std::string> patterns;
    fault = readStrings(node, "an array of globs", patterns);
    if (!fault.empty())
      return;
    llvm::Expected<ParameterGlobs> parsed =
        ParameterGlobs::create(patterns, roles == Roles::Yes);
    if (!parsed) {
      fault = "has a wrong entry: " + llvm::toString(parsed.takeError());
      return;
    }
    field = std::move(patterns);
  }

  void names(llvm::StringRef key, std::vector<std::string> &field) {
    if (claim(key))
      fault = readStrings(node, "an array of parameter names", field);
  }

  void groups(llvm::StringRef key,
              std::vector<std::vector<std::string>> &field) {
    if (!claim(key))
      return;
    if (node.kind != JsonNode::Kind::Array) {
      fault = expected("an array of groups of parameter names", node);
      return;
    }
    std::vector<std::vector<std::string>> result;
    std::set<std::string> seen;
    for (const JsonNode &element : node.elements) {
      std::vector<std::string> group;
      fault = readStrings(element, "an array of parameter names", group);
      if (fault.empty() && group.size() < 2)
        fault = "has a group of fewer than two names";
      for (const std::string &name : group)
        if (fault.empty() && !seen.insert(name).second)
          fault = "names \"" + name + "\" twice";
      if (!fault.empty())
        return;
      result.push_back(std::move(group));
    }
    field = std::move(result);
  }

  /// `symbols` itself is a group; the key is `symbols.<name>`.
  void sizes(llvm::StringRef key, std::map<std::string, int64_t> &field) {
    llvm::StringRef rest = path;
    if (!rest.consume_front(key) || !rest.consume_front("."))
      return;
    found = true;
    if (rest.empty()) {
      fault = "lacks the symbol's name";
      return;
    }
    if (node.kind != JsonNode::Kind::Integer) {
      fault = expected("an integer", node);
      return;
    }
    fault = checkRange(static_cast<double>(node.integer), positiveCount());
    if (fault.empty())
      field[rest.str()] = node.integer;
  }

private:
  static bool isNumber(const JsonNode &node) {
    return node.kind == JsonNode::Kind::Integer ||
           node.kind == JsonNode::Kind::Number;
  }

  bool claim(llvm::StringRef key) {
    if (key != path)
      return false;
    found = true;
    return true;
  }

  template <class Field> bool isNull(Nullable nullable, Field &field) {
    if (nullable != Nullable::Yes || node.kind != JsonNode::Kind::Null)
      return false;
    field = 0;
    return true;
  }

  llvm::StringRef path;
  const JsonNode &node;
};

/// Walks a tree into a spec and gathers the faults.
class SpecReader {
public:
  SpecReader(TrainingSpec &spec, Origin::Kind kind, llvm::StringRef place)
      : spec(spec), kind(kind), place(place) {
    for (SpecKey &key : trainingSpecKeys())
      paths.push_back(key.path == "symbols.*" ? "symbols" : key.path);
  }

  std::vector<std::string> faults;

  void assign(const std::string &path, const JsonNode &node) {
    if (path == "parameters.init" && node.kind == JsonNode::Kind::String)
      return assignModelInit(node);
    if (isGroup(path))
      return assignGroup(path, node);
    LeafReader reader(path, node);
    visitKeys(spec, reader);
    if (!reader.found)
      return addFault(node, unknownKey(path));
    if (!reader.fault.empty())
      return addFault(node, path + " " + reader.fault);
    if (path == "parameters.init.kind" && node.text == "model" &&
        kind == Origin::Kind::File)
      return addFault(node, "parameters.init.kind does not know \"model\"; "
                            "write \"init\": \"model\"");
    spec.origins[path] = {kind, where(node)};
  }

private:
  /// The root, every proper prefix of a key, and the map of symbols.
  bool isGroup(llvm::StringRef path) const {
    return path.empty() || path == "symbols" ||
           llvm::any_of(paths, [&](llvm::StringRef key) {
             return key.consume_front(path) && key.starts_with(".");
           });
  }

  void assignGroup(const std::string &path, const JsonNode &node) {
    if (node.kind != JsonNode::Kind::Object)
      return addFault(node, (path.empty() ? "the training spec" : path) + " " +
                                expected("an object", node));
    for (const auto &[name, child] : node.members) {
      bool isSchemaLink = path.empty() && name == "$schema";
      if (isSchemaLink && child.kind == JsonNode::Kind::String)
        continue; // editors read it
      assign(path.empty() ? name : path + "." + name, child);
    }
  }

  void assignModelInit(const JsonNode &node) {
    if (node.text != "model")
      return addFault(node, "parameters.init is \"" + node.text +
                                "\", but must be \"model\" or an object such "
                                "as {\"kind\": \"normal\", \"std\": 0.02}");
    spec.parameters.init.kind = InitSpec::Kind::Model;
    spec.origins["parameters.init.kind"] = {kind, where(node)};
  }

  std::string unknownKey(llvm::StringRef path) const {
    auto [group, name] = path.rsplit('.');
    if (name.empty())
      std::swap(group, name); // rsplit without a dot leaves the whole in front
    llvm::SmallVector<llvm::StringRef> siblings;
    for (llvm::StringRef key : paths) {
      if (!group.empty() && !(path.contains('.') && key.consume_front(group) &&
                              key.consume_front(".")))
        continue;
      llvm::StringRef first = key.split('.').first;
      if (!llvm::is_contained(siblings, first))
        siblings.push_back(first);
    }
    std::string message = path.str() + " is not a known key";
    // An override may be wrong in an earlier part; then the whole path is what
    // there is to compare.
    if (siblings.empty())
      return message + suggestion(path, llvm::SmallVector<llvm::StringRef>(
                                            paths.begin(), paths.end()));
    return message + suggestion(name, siblings);
  }

  std::string where(const JsonNode &node) const {
    if (kind == Origin::Kind::Flag)
      return place.str();
    return place.str() + ":" + std::to_string(node.line) + ":" +
           std::to_string(node.column);
  }

  void addFault(const JsonNode &node, const std::string &message) {
    faults.push_back(where(node) + ": " + message);
  }

  TrainingSpec &spec;
  Origin::Kind kind;
  llvm::StringRef place;
  std::vector<std::string> paths;
};

llvm::Error toError(const std::vector<std::string> &faults) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 llvm::join(faults, "\n"));
}

} // namespace

llvm::Expected<TrainingSpec> parseTrainingSpec(llvm::StringRef json,
                                               llvm::StringRef fileName) {
  llvm::Expected<JsonNode> root = parseJsonTree(json, fileName);
  if (!root)
    return root.takeError();
  TrainingSpec spec;
  SpecReader reader(spec, Origin::Kind::File, fileName);
  reader.assign("", *root);
  if (!reader.faults.empty())
    return toError(reader.faults);
  return spec;
}

llvm::Error applyOverride(TrainingSpec &spec, llvm::StringRef assignment) {
  auto [path, value] = assignment.split('=');
  path = path.trim();
  std::string place = "--set " + assignment.str();
  if (path.empty() || !assignment.contains('='))
    return llvm::createStringError(
        llvm::inconvertibleErrorCode(),
        place + ": expects path=value, for example optimizer.lr=3e-4");
  JsonNode node;
  if (llvm::Expected<JsonNode> parsed = parseJsonTree(value, place)) {
    node = std::move(*parsed);
  } else {
    llvm::consumeError(parsed.takeError());
    node.kind = JsonNode::Kind::String;
    node.text = value.str();
  }
  TrainingSpec changed = spec;
  SpecReader reader(changed, Origin::Kind::Flag, place);
  reader.assign(path.str(), node);
  if (!reader.faults.empty())
    return toError(reader.faults);
  spec = std::move(changed);
  return llvm::Error::success();
}

} // namespace echelon

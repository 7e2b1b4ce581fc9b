// SPDX-License-Identifier: Apache-2.0
//
// Parsing `pkg.torch.onnx.*` node metadata. All of it is text made for people,
// so everything here answers "unknown" rather than fails.
#include "compiler/onnx/metadata.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace echelon::onnx_import {

static StringRef entry(const Node &node, const char *key) {
  auto at = node.metadata.find(key);
  return at == node.metadata.end() ? StringRef() : StringRef(at->second);
}

/// Splits at commas outside brackets, up to the bracket that closes the list.
static std::vector<std::string> splitArguments(StringRef text) {
  std::vector<std::string> result;
  std::string current;
  int depth = 0;
  for (char c : text) {
    if (c == '(' || c == '[' || c == '{')
      ++depth;
    if (c == ')' || c == ']' || c == '}')
      if (--depth < 0)
        break;
    if (c == ',' && depth == 0) {
      result.push_back(StringRef(current).trim().str());
      current.clear();
      continue;
    }
    current += c;
  }
  if (!StringRef(current).trim().empty())
    result.push_back(StringRef(current).trim().str());
  return result;
}

FxCall parseFxCall(const Node &node) {
  FxCall call;
  StringRef text = entry(node, "pkg.torch.onnx.fx_node");
  size_t target = text.find("target=torch.ops.");
  size_t arguments = text.find("](args = (");
  if (target == StringRef::npos || arguments == StringRef::npos)
    return call;
  StringRef name = text.slice(target + strlen("target=torch.ops."), arguments);
  auto [space, rest] = name.split('.');
  call.target = (space + "." + rest.split('.').first).str();
  call.arguments =
      splitArguments(text.substr(arguments + strlen("](args = (")));
  return call;
}

/// The FX argument that stands at the ONNX input, -1: not known.
static int argumentOf(const FxCall &call, const Node &node, unsigned index) {
  StringRef op = node.op;
  bool isBias = op == "Add" || index == 2;
  return StringSwitch<int>(call.target)
      .Case("aten.layer_norm",
            op == "LayerNormalization" && index >= 1 ? int(index) + 1 : -1)
      .Case("aten.addmm", op == "Gemm" ? (index == 2 ? 0 : int(index) + 1) : -1)
      .Case("aten.linear", isBias ? 2 : 1)
      .Cases("aten.conv1d", "aten.conv2d", "aten.conv3d", "aten.convolution",
             op == "Conv" ? int(index) : -1)
      .Case("aten.embedding", op == "Gather" ? 0 : -1)
      .Case("aten.group_norm",
            op == "GroupNormalization" && index >= 1 ? int(index) + 1 : -1)
      .Default(-1);
}

static FxOperand classify(StringRef argument) {
  FxOperand result;
  if (argument == "None")
    result.kind = FxOperand::Kind::Absent;
  else if (argument.consume_front("%")) {
    if (argument.starts_with("p_"))
      result.kind = FxOperand::Kind::Parameter;
    else if (argument.starts_with("b_") || argument.starts_with("c_"))
      result.kind = FxOperand::Kind::Buffer;
    result.placeholder = argument.str();
  }
  return result;
}

FxOperand fxOperand(const Node &node, unsigned index,
                    const std::string &ownName) {
  FxCall call = parseFxCall(node);
  if (call.target.empty())
    return {};
  int argument = argumentOf(call, node, index);
  if (argument >= 0)
    return argument < int(call.arguments.size())
               ? classify(call.arguments[argument])
               : FxOperand();
  std::vector<FxOperand> named;
  for (const std::string &text : call.arguments) {
    FxOperand operand = classify(text);
    if (operand.kind != FxOperand::Kind::Parameter &&
        operand.kind != FxOperand::Kind::Buffer)
      continue;
    if (mangle(operand.placeholder.substr(2)) == mangle(ownName))
      return operand;
    named.push_back(operand);
  }
  return named.size() == 1 ? named[0] : FxOperand();
}

std::string fxBias(const Node &node) {
  FxCall call = parseFxCall(node);
  int argument = StringSwitch<int>(call.target)
                     .Case("aten.addmm", 0)
                     .Cases("aten.linear", "aten.conv1d", "aten.conv2d",
                            "aten.conv3d", "aten.convolution", 2)
                     .Default(-1);
  if (argument < 0 || argument >= int(call.arguments.size()))
    return "";
  FxOperand operand = classify(call.arguments[argument]);
  return operand.kind == FxOperand::Kind::Parameter ? operand.placeholder : "";
}

std::string mangle(const std::string &name) {
  std::string result;
  for (char c : name)
    result += isAlnum(c) ? toLower(c) : '_';
  return result;
}

std::string unmangle(const Node &node, const std::string &placeholder) {
  std::string lower = mangle(placeholder);
  StringRef name(lower);
  if (!name.consume_front("p_"))
    return "";
  // "['', 'm', 'm.h.0', 'm.h.0.ln_1', 'layer_norm']"
  SmallVector<StringRef> pieces;
  entry(node, "pkg.torch.onnx.name_scopes").split(pieces, '\'');
  std::string best;
  size_t bestLength = 0;
  for (size_t i = 1; i < pieces.size(); i += 2) {
    std::string scope = pieces[i].str();
    std::string prefix = mangle(scope) + "_";
    if (scope.size() > bestLength && name.starts_with(prefix)) {
      best = scope + "." + name.drop_front(prefix.size()).str();
      bestLength = scope.size();
    }
  }
  return best;
}

std::string pythonLine(const Node &node) {
  StringRef trace = entry(node, "pkg.torch.onnx.stack_trace");
  size_t at = trace.rfind("File \"");
  if (at == StringRef::npos)
    return "";
  // File "model.py", line 50, in forward
  auto [file, rest] = trace.substr(at + 6).split('"');
  StringRef line = rest.ltrim(", ");
  if (!line.consume_front("line "))
    return "";
  auto [number, after] = line.split(',');
  after = after.split('\n').first.trim();
  after.consume_front("in ");
  return (file + ":" + number + " in " + after).str();
}

} // namespace echelon::onnx_import

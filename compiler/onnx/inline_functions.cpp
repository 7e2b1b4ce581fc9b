// SPDX-License-Identifier: Apache-2.0
//
// Calls of functions local to the model become their bodies (ONNX IR.md,
// "Functions"): keyed by domain, name and overload; attribute references take
// the call's value, else the function's default; each function has its own
// opset imports. A work list, no recursion.
#include "compiler/onnx/model.h"
#include "compiler/onnx/wire.h"
#include "llvm/ADT/STLExtras.h"
#include <tuple>

using namespace llvm;

namespace echelon::onnx_import {

/// Bodies within bodies can grow exponentially; no real model comes near.
static constexpr size_t kMaxNodes = 2000000;
static constexpr int kMaxDepth = 64;

namespace {

using FunctionKey = std::tuple<std::string, std::string, std::string>;
using Opsets = std::map<std::string, int64_t>;

struct Function {
  const onnx::FunctionProto *proto;
  Opsets opsets;
};

/// A node still to be looked at, with what encloses it.
struct Pending {
  const onnx::NodeProto *proto;
  int fileIndex;
  int depth;
  std::string name;
  const Opsets *opsets;
};

class Inliner {
public:
  explicit Inliner(Model &model) : model(model) {}
  std::vector<FlatNode> run();

private:
  void expand(const Pending &call, const Function &function,
              std::vector<Pending> &todo);
  onnx::NodeProto &
  copyBodyNode(const onnx::NodeProto &inner, const onnx::NodeProto &call,
               const onnx::FunctionProto &function, const std::string &prefix,
               const std::map<std::string, std::string> &bound);
  Model &model;
  std::map<FunctionKey, Function> functions;
};

} // namespace

static std::string plainDomain(const std::string &domain) {
  return domain == "ai.onnx" ? "" : domain;
}

static Opsets readOpsets(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto> &list) {
  Opsets result;
  for (const onnx::OperatorSetIdProto &opset : list)
    result[plainDomain(opset.domain())] = opset.version();
  return result;
}

/// Replaces an attribute that refers to one of the function's by its value; an
/// attribute without value is dropped, as if absent.
static void bindAttributes(onnx::NodeProto &node, const onnx::NodeProto &call,
                           const onnx::FunctionProto &function) {
  onnx::NodeProto bound = node;
  node.clear_attribute();
  for (const onnx::AttributeProto &attribute : bound.attribute()) {
    if (attribute.ref_attr_name().empty()) {
      *node.add_attribute() = attribute;
      continue;
    }
    auto hasName = [&](const onnx::AttributeProto &other) {
      return other.name() == attribute.ref_attr_name();
    };
    const auto &given = call.attribute();
    auto at = find_if(given, hasName);
    if (at == given.end()) {
      // attribute_proto (defaults, IR 9) is FunctionProto field 11.
      const google::protobuf::UnknownFieldSet &unknown =
          function.GetReflection()->GetUnknownFields(function);
      for (int i = 0; i < unknown.field_count(); ++i) {
        onnx::AttributeProto value;
        if (unknown.field(i).number() == 11 &&
            unknown.field(i).type() ==
                google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED &&
            value.ParseFromString(unknown.field(i).length_delimited()) &&
            hasName(value)) {
          value.set_name(attribute.name());
          *node.add_attribute() = value;
        }
      }
      continue;
    }
    onnx::AttributeProto value = *at;
    value.set_name(attribute.name());
    *node.add_attribute() = value;
  }
}

onnx::NodeProto &
Inliner::copyBodyNode(const onnx::NodeProto &inner, const onnx::NodeProto &call,
                      const onnx::FunctionProto &function,
                      const std::string &prefix,
                      const std::map<std::string, std::string> &bound) {
  onnx::NodeProto &copy = model.inlined.emplace_back(inner);
  bindAttributes(copy, call, function);
  auto rename = [&](std::string &value) {
    auto at = bound.find(value);
    if (at != bound.end())
      value = at->second;
    else if (!value.empty())
      value = prefix + value;
  };
  for (std::string &value : *copy.mutable_input())
    rename(value);
  for (std::string &value : *copy.mutable_output())
    rename(value);
  return copy;
}

void Inliner::expand(const Pending &call, const Function &function,
                     std::vector<Pending> &todo) {
  const onnx::FunctionProto &body = *function.proto;
  if (call.depth >= kMaxDepth)
    fail("node \"" + call.name + "\" calls function '" + body.name() +
         "' more than " + Twine(kMaxDepth) +
         " deep; a function must not call itself");
  if (call.proto->input_size() > body.input_size() ||
      call.proto->output_size() > body.output_size())
    fail("node \"" + call.name +
         "\" has more inputs or outputs than function '" + body.name() +
         "', which it calls");
  std::map<std::string, std::string> bound;
  for (int i = 0; i < body.input_size(); ++i)
    bound[body.input(i)] =
        i < call.proto->input_size() ? call.proto->input(i) : "";
  for (int i = 0; i < call.proto->output_size(); ++i) {
    if (bound.count(body.output(i)))
      fail("function '" + body.name() + "' returns its input '" +
           body.output(i) + "' directly, which ONNX does not allow");
    if (!call.proto->output(i).empty())
      bound[body.output(i)] = call.proto->output(i);
  }
  std::string prefix = call.name + "/";
  for (const onnx::NodeProto &inner : reverse(body.node())) {
    const onnx::NodeProto &copy =
        copyBodyNode(inner, *call.proto, body, prefix, bound);
    std::string name =
        prefix + (inner.name().empty() ? inner.op_type() : inner.name());
    todo.push_back(
        {&copy, call.fileIndex, call.depth + 1, name, &function.opsets});
  }
  if (model.inlined.size() > kMaxNodes)
    fail("functions expand to more than " + Twine(kMaxNodes) + " nodes");
}

std::vector<FlatNode> Inliner::run() {
  Opsets opsets = readOpsets(model.proto->opset_import());
  for (const onnx::FunctionProto &function : model.proto->functions())
    functions[{plainDomain(function.domain()), function.name(),
               readOverload(function, 13)}] = {
        &function, readOpsets(function.opset_import())};
  std::vector<Pending> todo;
  const auto &nodes = model.proto->graph().node();
  for (int index = nodes.size(); index-- > 0;) {
    const onnx::NodeProto &node = nodes[index];
    std::string name = node.name();
    if (name.empty())
      name = node.op_type() + "_" + std::to_string(index);
    todo.push_back({&node, index, 0, name, &opsets});
  }
  std::vector<FlatNode> result;
  while (!todo.empty()) {
    Pending node = todo.back();
    todo.pop_back();
    std::string domain = plainDomain(node.proto->domain());
    auto function = functions.find(
        {domain, node.proto->op_type(), readOverload(*node.proto, 8)});
    if (function != functions.end()) {
      expand(node, function->second, todo);
      continue;
    }
    auto version = node.opsets->find(domain);
    result.push_back({node.proto, node.fileIndex, node.name,
                      version == node.opsets->end() ? 0 : version->second,
                      domain});
  }
  return result;
}

std::vector<FlatNode> inlineFunctions(Model &model) {
  return Inliner(model).run();
}

} // namespace echelon::onnx_import

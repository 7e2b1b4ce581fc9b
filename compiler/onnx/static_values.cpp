// SPDX-License-Identifier: Apache-2.0
//
// Types and values of static tensors: evaluated on the host when first asked
// for, with everything they depend on. The type of a view is known without
// evaluating it.
#include "compiler/onnx/graph_importer.h"
#include "compiler/onnx/shape_rules.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using mlir::Value;

namespace echelon::onnx_import {

/// Bytes that all folded constants of a model may take together.
static constexpr int64_t kMaxFoldedTotal = int64_t(2) << 30;

static DataType typeOf(mlir::Type type) {
  if (type.isF64())
    return DataType::F64;
  if (type.isBF16())
    return DataType::BF16;
  if (type.isInteger(1))
    return DataType::Bool;
  if (type.isInteger(32))
    return DataType::I32;
  return type.isInteger(64) ? DataType::I64 : DataType::F32;
}

std::string GraphImporter::missingResult(int value,
                                         const std::string &reader) const {
  const Node &producer = model.nodes[model.values[value].producer];
  return reader + " reads '" + model.values[value].name + "', result " +
         std::to_string(model.values[value].output) + " of " + producer.op +
         " at " + model.describe(producer) +
         ", which is not supported or no tensor";
}

TensorInfo GraphImporter::infoOf(int value) {
  auto known = values.find(value);
  if (known != values.end()) {
    Value result = known->second;
    return {typeOf(graph::elementOf(result)), graph::shapeOf(result)};
  }
  int tensor = model.values[value].tensor;
  if (tensor >= 0)
    return {computeType(model.tensors[tensor].values.type),
            model.tensors[tensor].values.shape};
  if (dynamic[value])
    fail(missingResult(value, "a node"));
  if (!folded.count(value))
    if (std::optional<TensorInfo> view = viewInfo(value))
      return *view;
  if (!folded.count(value) && lacksData(value)) {
    // Parameters that are only declared cannot be evaluated, but imported.
    int producer = model.values[value].producer;
    importStaticPath(value, parameters.traceRoots(value, producer, 0));
    return infoOf(value);
  }
  int producer = model.values[value].producer;
  const HostTensor &host = hostValue(value, model.nodes[producer]);
  return {computeType(host.type), host.shape};
}

namespace {
/// A view op whose operand's type is known but not its elements.
class ViewCall : public OpCall {
public:
  ViewCall(GraphImporter &importer, const Node &node, TensorInfo input)
      : OpCall(importer.model, node), importer(importer),
        input(std::move(input)) {}
  TensorInfo info(unsigned index) override {
    return index == 0 ? input : importer.infoOf(node.inputs[index]);
  }
  const HostTensor &constant(unsigned index) override {
    require(index);
    return importer.hostValue(node.inputs[index], node);
  }
  bool isConstant(unsigned index) override { return index > 0; }

  /// The view's type, or nothing if the op is no view.
  std::optional<TensorInfo> result() {
    StringRef op = node.op;
    if (op == "Identity")
      return input;
    if (op == "Reshape")
      return TensorInfo{input.type, reshapeShape(*this)};
    if (op == "Flatten")
      return TensorInfo{input.type, flattenShape(*this)};
    if (op == "Squeeze")
      return TensorInfo{input.type, squeezeShape(*this)};
    if (op == "Unsqueeze")
      return TensorInfo{input.type, unsqueezeShape(*this)};
    if (op != "Transpose")
      return std::nullopt;
    TensorInfo result{input.type, {}};
    for (int64_t dim : permutationOf(*this))
      result.shape.push_back(input.shape[dim]);
    return result;
  }

private:
  GraphImporter &importer;
  TensorInfo input;
};
} // namespace

std::optional<TensorInfo> GraphImporter::viewInfo(int value) {
  // Back along first operands to something of known type, then forth.
  std::vector<int> chain;
  int at = value;
  while (model.values[at].tensor < 0 && !viewInfos.count(at) &&
         !folded.count(at) && !values.count(at)) {
    const Node &producer = model.nodes[model.values[at].producer];
    bool isView = StringSwitch<bool>(producer.domain.empty() ? producer.op : "")
                      .Cases("Identity", "Reshape", "Flatten", "Squeeze",
                             "Unsqueeze", "Transpose", true)
                      .Default(false);
    if (!isView || producer.inputs.empty() || producer.inputs[0] < 0 ||
        dynamic[at])
      return std::nullopt;
    chain.push_back(at);
    at = producer.inputs[0];
  }
  auto known = viewInfos.find(at);
  TensorInfo info = known != viewInfos.end() ? known->second : infoOf(at);
  for (int next : reverse(chain)) {
    const Node &producer = model.nodes[model.values[next].producer];
    info = *ViewCall(*this, producer, info).result();
    viewInfos[next] = info;
  }
  return info;
}

bool GraphImporter::lacksData(int value) {
  int producer = model.values[value].producer;
  if (producer < 0)
    return !model.tensors[model.values[value].tensor].values.data;
  return any_of(parameters.traceRoots(value, producer, 0),
                [&](const RootUse &root) {
                  int tensor = model.values[root.value].tensor;
                  return !model.tensors[tensor].values.data;
                });
}

const HostTensor &GraphImporter::hostValue(int value, const Node &user) {
  int tensor = model.values[value].tensor;
  if (tensor >= 0) {
    const HostTensor &host = model.tensors[tensor].values;
    if (!host.data)
      fail("initializer '" + model.values[value].name +
           "' has no stored values, only a rule for its first ones; " +
           (user.name.empty() ? "it" : model.describe(user)) +
           " needs them as a constant");
    return host;
  }
  auto known = folded.find(value);
  if (known == folded.end()) {
    evaluate(value, user);
    known = folded.find(value);
    if (known == folded.end())
      fail("value '" + model.values[value].name + "' cannot be evaluated");
  }
  return known->second;
}

void GraphImporter::evaluate(int value, const Node &user) {
  std::vector<int> todo{value}, nodes;
  DenseSet<int> seen;
  while (!todo.empty()) {
    int current = todo.back();
    todo.pop_back();
    int producer = model.values[current].producer;
    if (producer < 0 || folded.count(current) || dynamic[current] ||
        !seen.insert(producer).second)
      continue;
    nodes.push_back(producer);
    for (auto [index, input] : enumerate(model.nodes[producer].inputs))
      if (input >= 0 && !readsTypeOnly(model.nodes[producer], index))
        todo.push_back(input);
  }
  llvm::sort(nodes);
  for (int node : nodes)
    foldNode(node, user);
}

void GraphImporter::foldNode(int index, const Node &user) {
  const Node &node = model.nodes[index];
  const OpRow *row = rowOf[index];
  if (!row || !row->fold)
    fail(model.describe(node) + ": " + node.op +
         " on constants is not supported" +
         (user.name.empty() ? ""
                            : "; " + model.describe(user) +
                                  " needs its value as a constant"));
  std::vector<const HostTensor *> inputs;
  std::vector<TensorInfo> infos;
  for (auto [position, input] : enumerate(node.inputs)) {
    bool isTypeOnly = readsTypeOnly(node, position);
    inputs.push_back(input < 0 || isTypeOnly ? nullptr
                                             : &hostValue(input, node));
    if (input < 0)
      infos.push_back({});
    else if (isTypeOnly)
      infos.push_back(infoOf(input));
    else
      infos.push_back({inputs.back()->type, inputs.back()->shape});
  }
  FoldCall call(model, node, std::move(inputs), std::move(infos));
  row->fold(call);
  for (auto [output, value] : enumerate(node.outputs))
    if (value >= 0 && call.results[output]) {
      const HostTensor &result = *call.results[output];
      foldedBytes += result.bytes();
      if (foldedBytes > kMaxFoldedTotal)
        fail(model.describe(node) +
             ": the constants of this model take more "
             "than " +
             Twine(kMaxFoldedTotal >> 20) + " MiB when folded");
      folded[value] = result;
    }
}

} // namespace echelon::onnx_import

// SPDX-License-Identifier: Apache-2.0
//
// How a node gets its operands: results of earlier nodes, parameters,
// constants. Constants are evaluated when first asked for and written without
// the dims along which they repeat (a causal mask is [S, S], not [B, 1, S, S]).
#include "compiler/onnx/graph_importer.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using mlir::Value;

namespace echelon::onnx_import {

DataType computeType(DataType type) {
  switch (type) {
  case DataType::F16:
    return DataType::F32;
  case DataType::U8:
  case DataType::I8:
  case DataType::U16:
  case DataType::I16:
    return DataType::I32;
  case DataType::U32:
  case DataType::U64:
    return DataType::I64;
  default:
    return type;
  }
}

/// Whether the dim's slices are all equal.
static bool repeatsAlong(const HostTensor &tensor, size_t dim) {
  int64_t stride = stridesOf(tensor.shape)[dim] * bytesOf(tensor.type);
  int64_t size = tensor.shape[dim], block = stride * size;
  for (int64_t at = 0, end = tensor.bytes(); at < end; at += block)
    if (std::memcmp(tensor.data + at, tensor.data + at + stride,
                    block - stride))
      return false;
  return true;
}

Compressed compress(const HostTensor &tensor) {
  Compressed result{tensor, {}};
  for (size_t dim = 0; dim < tensor.shape.size(); ++dim)
    result.dims.push_back(dim);
  if (tensor.size() == 0)
    return result;
  for (size_t dim = tensor.shape.size(); dim-- > 0;) {
    HostTensor &now = result.tensor;
    if (now.shape[dim] != 1 && !repeatsAlong(now, dim))
      continue;
    Shape strides = stridesOf(now.shape), shape = now.shape;
    bool isView = shape[dim] == 1;
    shape.erase(shape.begin() + dim);
    strides.erase(strides.begin() + dim);
    if (isView) {
      now.shape = shape;
    } else {
      uint8_t *bytes;
      HostTensor narrow = HostTensor::allocate(now.type, shape, bytes);
      int64_t inner = elementsOf(ArrayRef<int64_t>(shape).drop_front(dim)) *
                      bytesOf(now.type);
      int64_t outer = elementsOf(ArrayRef<int64_t>(shape).take_front(dim));
      for (int64_t row = 0; row < outer; ++row)
        std::memcpy(bytes + row * inner,
                    now.data + row * inner * now.shape[dim], inner);
      now = narrow;
    }
    result.dims.erase(result.dims.begin() + dim);
  }
  return result;
}

static mlir::DenseElementsAttr elementsAttr(const HostTensor &tensor,
                                            mlir::RankedTensorType type) {
  if (tensor.type == DataType::Bool) {
    SmallVector<bool> values;
    for (int64_t i = 0, count = tensor.size(); i < count; ++i)
      values.push_back(tensor.integer(i) != 0);
    return mlir::DenseElementsAttr::get(type, ArrayRef<bool>(values));
  }
  HostTensor converted = tensor;
  DataType to = computeType(tensor.type);
  if (to != tensor.type)
    converted =
        isFloat(to)
            ? HostTensor::fromReals(to, tensor.shape, tensor.reals())
            : HostTensor::fromIntegers(to, tensor.shape, tensor.integers());
  return mlir::DenseElementsAttr::getFromRawBuffer(
      type, ArrayRef(reinterpret_cast<const char *>(converted.data),
                     size_t(converted.bytes())));
}

Value GraphImporter::materialize(const HostTensor &tensor, ArrayRef<int64_t> to,
                                 mlir::OpBuilder &at, mlir::Location loc) {
  Shape shape = to.empty() ? tensor.shape : Shape(to);
  if (elementsOf(shape) == 0)
    fail("an empty tensor of shape " + textOf(shape) +
         " cannot be part of the computation");
  if (!tensor.data)
    fail("a constant of shape " + textOf(tensor.shape) +
         " has no stored values");
  mlir::Type element = elementType(at, tensor.type);
  Compressed small = compress(tensor);
  if (small.dims.empty()) {
    // A splat costs nothing at any shape.
    auto type = mlir::RankedTensorType::get(shape, element);
    auto one =
        elementsAttr(small.tensor, mlir::RankedTensorType::get({}, element));
    auto splat = mlir::SplatElementsAttr::get(
        type, one.getSplatValue<mlir::Attribute>());
    return at.create<graph::ConstantOp>(loc, type, splat);
  }
  auto type = mlir::RankedTensorType::get(small.tensor.shape, element);
  Value value =
      at.create<graph::ConstantOp>(loc, type, elementsAttr(small.tensor, type));
  return spread({value, small.dims, tensor.shape.size()}, shape, at, loc);
}

Value GraphImporter::spread(const Written &constant, ArrayRef<int64_t> shape,
                            mlir::OpBuilder &at, mlir::Location loc) {
  int64_t lead = int64_t(shape.size()) - int64_t(constant.rank);
  SmallVector<int64_t> dims;
  for (int64_t dim : constant.dims)
    dims.push_back(dim + lead);
  return graph::GraphBuilder(at, loc).broadcast(constant.value, shape, dims);
}

void GraphImporter::importStaticPath(int value, ArrayRef<RootUse> roots) {
  DenseSet<int> path, seen;
  for (const RootUse &root : roots)
    parameterRoots.insert(root.value);
  // A static node is on the path if a root reaches it; nodes are ordered, so
  // one pass over the producers of `value` finds them.
  std::vector<int> todo{value}, nodes;
  while (!todo.empty()) {
    int current = todo.back();
    todo.pop_back();
    int producer = model.values[current].producer;
    if (producer < 0 || values.count(current) || !seen.insert(producer).second)
      continue;
    nodes.push_back(producer);
    for (int input : model.nodes[producer].inputs)
      if (input >= 0)
        todo.push_back(input);
  }
  llvm::sort(nodes);
  DenseSet<int> rootNodes;
  for (const RootUse &root : roots)
    rootNodes.insert(root.node);
  for (int index : nodes) {
    const Node &node = model.nodes[index];
    bool isOnPath = rootNodes.contains(index);
    for (auto [position, input] : enumerate(node.inputs))
      isOnPath |= input >= 0 && !readsTypeOnly(node, position) &&
                  (values.count(input) || sequences.count(input));
    if (isOnPath)
      importNode(index);
  }
  if (!values.count(value))
    fail("value '" + model.values[value].name +
         "' could not be traced to its parameters");
}

/// What a parameter is to the weight-decay roles.
static std::string roleOf(const Model &model, const Node &frontier,
                          Position position, ArrayRef<int64_t> shape) {
  switch (position) {
  case Position::Bias:
    return "bias";
  case Position::Norm:
  case Position::Mul:
    return "norm";
  case Position::Embedding:
  case Position::Concat:
    return "embedding";
  case Position::Add: {
    if (count_if(shape, [](int64_t size) { return size != 1; }) > 1)
      return "embedding";
    for (int value : frontier.inputs) {
      int producer = value < 0 ? -1 : model.values[value].producer;
      if (producer >= 0 && model.nodes[producer].op == "Mul")
        return "norm"; // shift of a decomposed normalization
    }
    return "bias";
  }
  default:
    return "weight";
  }
}

Value GraphImporter::readParameter(const RootUse &use, Position position,
                                   const Node &frontier, mlir::OpBuilder &at,
                                   mlir::Location loc) {
  const Tensor &tensor = model.tensors[model.values[use.value].tensor];
  int64_t batch =
      inputShapes.empty() || inputShapes[0].empty() ? 0 : inputShapes[0][0];
  std::string role = roleOf(model, frontier, position, tensor.values.shape);
  if (auto known = rootRoles.find({use.value, use.node});
      known != rootRoles.end() && position != Position::Embedding)
    role = known->second;
  ParameterUse found = parameters.resolve(use, position, role, batch);
  const Parameter &parameter = parameters.all[found.parameter];
  graph::GraphBuilder g(at, loc);
  Value &read = reads[found.parameter];
  if (!read)
    read = at.create<graph::ReadOp>(
        loc,
        mlir::RankedTensorType::get(parameter.shape,
                                    elementType(at, parameter.type)),
        mlir::FlatSymbolRefAttr::get(&context, parameter.name));
  Value value = read;
  if (found.isTransposed)
    value = g.transpose(value, {1, 0});
  if (found.copies)
    value = g.broadcastTo(value, tensor.values.shape);
  return value;
}

Value GraphImporter::operand(const Node &node, unsigned index,
                             Position position, ArrayRef<int64_t> to,
                             mlir::OpBuilder &at, mlir::Location loc) {
  int value = node.inputs[index];
  if (auto known = values.find(value); known != values.end())
    return known->second;
  if (dynamic[value])
    fail(missingResult(value, model.describe(node)));
  int self = int(&node - model.nodes.data());
  std::vector<RootUse> roots = parameters.traceRoots(value, self, index);
  bool isDirect = model.values[value].tensor >= 0;
  if (isDirect && node.op == "Identity" && !roots.empty())
    roots[0].identity = node.outputs[0];
  bool isStaticNode =
      node.outputs.empty() || node.outputs[0] < 0 || !dynamic[node.outputs[0]];
  bool trains;
  if (isStaticNode) {
    // On the way from a parameter: its roots were chosen at the frontier.
    trains = isDirect && !roots.empty() && parameterRoots.count(value);
  } else {
    trains = parameters.isTrained(
        position, roots, infoOf(value), [&]() -> const HostTensor * {
          return lacksData(value) ? nullptr : &hostValue(value, node);
        });
    trains |= isDirect && !roots.empty() && parameterRoots.count(value);
  }
  // infoOf may have imported it.
  if (auto known = values.find(value); known != values.end())
    return known->second;
  if (trains && isDirect) {
    parameterRoots.insert(value);
    return readParameter(roots[0], position, node, at, loc);
  }
  if (trains) {
    for (const RootUse &root : roots)
      rootRoles.try_emplace({root.value, root.node},
                            roleOf(model, node, position, infoOf(value).shape));
    importStaticPath(value, roots);
    return values[value];
  }
  const HostTensor &host = hostValue(value, node);
  if (auto known = written.find(value); known != written.end())
    return spread(known->second,
                  to.empty() ? ArrayRef<int64_t>(host.shape) : to, at, loc);
  Value result = materialize(host, to, at, loc);
  // Remember a large one, which would be compressed again for every layer.
  Value small = result;
  if (auto broadcast = result.getDefiningOp<graph::BroadcastOp>()) {
    small = broadcast.getInput();
    int64_t lead =
        int64_t(graph::shapeOf(result).size()) - int64_t(host.shape.size());
    Shape dims;
    for (int64_t dim : broadcast.getDims())
      dims.push_back(dim - lead);
    written[value] = {small, dims, host.shape.size()};
  }
  return result;
}

Value GraphImporter::removedBias(const Node &node, int64_t size, DataType type,
                                 mlir::OpBuilder &at, mlir::Location loc) {
  int index = parameters.removedBias(node, size, type);
  if (index < 0)
    return {};
  const Parameter &parameter = parameters.all[index];
  if (parameter.shape != Shape{size})
    fail(model.describe(node) + ": its removed bias '" + parameter.name +
         "' has shape " + textOf(parameter.shape) + " elsewhere");
  Value &read = reads[index];
  if (!read)
    read = at.create<graph::ReadOp>(
        loc, mlir::RankedTensorType::get({size}, elementType(at, type)),
        mlir::FlatSymbolRefAttr::get(&context, parameter.name));
  return read;
}

} // namespace echelon::onnx_import

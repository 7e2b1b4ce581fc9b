// SPDX-License-Identifier: Apache-2.0
//
// What import functions see of their node.
#include "compiler/onnx/graph_importer.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using mlir::Value;

namespace echelon::onnx_import {

bool ImportCall::honoursDropout() const { return importer.honoursDropout(); }

ImportCall::ImportCall(GraphImporter &importer, const Node &node,
                       mlir::OpBuilder &builder, mlir::Location loc)
    : OpCall(importer.model, node), importer(importer), g(builder, loc) {}

TensorInfo ImportCall::info(unsigned index) {
  require(index);
  return importer.infoOf(node.inputs[index]);
}

bool ImportCall::isConstant(unsigned index) {
  return has(index) && importer.isConstant(node.inputs[index]);
}

const HostTensor &ImportCall::constant(unsigned index) {
  require(index);
  int value = node.inputs[index];
  if (!importer.isStatic(value))
    fail("needs input " + Twine(index) + " ('" + model.values[value].name +
         "') as a constant, but it depends on the graph's inputs");
  return importer.hostValue(value, node);
}

Value ImportCall::value(unsigned index, Position position) {
  require(index);
  return importer.operand(node, index, position, {}, g.builder, g.loc);
}

Value ImportCall::value(unsigned index, ArrayRef<int64_t> shape,
                        Position position) {
  require(index);
  Shape own = this->shape(index);
  if (commonShape(own, shape, *this) != Shape(shape))
    fail("cannot broadcast shape " + textOf(own) + " to " + textOf(shape));
  return g.broadcastTo(
      importer.operand(node, index, position, shape, g.builder, g.loc), shape);
}

Value ImportCall::materialize(const HostTensor &tensor) {
  return importer.materialize(tensor, {}, g.builder, g.loc);
}

void ImportCall::requireFloats(std::initializer_list<unsigned> inputs) {
  DataType first = type(*inputs.begin());
  for (unsigned index : inputs) {
    if (!has(index))
      continue;
    if (!isFloat(type(index)))
      fail("needs floats as input " + Twine(index) + ", but it is " +
           nameOf(type(index)));
    if (type(index) != first)
      fail(Twine("mixes ") + nameOf(first) + " and " + nameOf(type(index)));
  }
}

std::optional<double> ImportCall::splat(unsigned index) {
  if (!isConstant(index))
    return std::nullopt;
  const HostTensor &tensor = constant(index);
  if (tensor.size() == 0 || !tensor.allEqual())
    return std::nullopt;
  return tensor.real(0);
}

Value ImportCall::removedBias(int64_t size) {
  return importer.removedBias(node, size, type(0), g.builder, g.loc);
}

void ImportCall::set(unsigned output, Value value) {
  if (!wants(output))
    return;
  Shape shape = graph::shapeOf(value);
  if (elementsOf(shape) == 0)
    fail("makes an empty tensor of shape " + textOf(shape));
  importer.define(node.outputs[output], value);
}

void ImportCall::setSequence(unsigned output, std::vector<Value> values) {
  if (wants(output))
    importer.sequences[node.outputs[output]] = std::move(values);
}

const std::vector<Value> &ImportCall::sequence(unsigned index) {
  require(index);
  auto at = importer.sequences.find(node.inputs[index]);
  if (at == importer.sequences.end())
    fail("needs a sequence as input " + Twine(index));
  return at->second;
}

void ImportCall::noteLogSoftmax(Value value, Value logits) {
  importer.logSoftmaxInputs[value] = logits;
}

/// Follows transposes back to a log-softmax over the last dim; its operand
/// under the same transposes, if that dim is dim 1 of `logSoftmax`.
Value ImportCall::logitsOf(Value logSoftmax) {
  Shape order;
  for (size_t dim = 0; dim < graph::shapeOf(logSoftmax).size(); ++dim)
    order.push_back(dim);
  Value at = logSoftmax;
  while (auto transpose = at.getDefiningOp<graph::TransposeOp>()) {
    for (int64_t &dim : order)
      dim = transpose.getPermutation()[dim];
    at = transpose.getInput();
  }
  auto known = importer.logSoftmaxInputs.find(at);
  if (known == importer.logSoftmaxInputs.end() || order.size() < 2 ||
      order[1] != int64_t(order.size()) - 1)
    return {};
  return g.transpose(known->second, order);
}

} // namespace echelon::onnx_import

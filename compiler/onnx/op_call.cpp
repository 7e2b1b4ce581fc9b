// SPDX-License-Identifier: Apache-2.0
//
// Attributes and axes of a node, and the op table.
#include "compiler/onnx/op_call.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace llvm;

namespace echelon::onnx_import {

void OpCall::fail(const Twine &message) const {
  onnx_import::fail(model.describe(node) + ": " + node.op + " " + message);
}

void OpCall::require(unsigned index) const {
  if (!has(index))
    fail("lacks input " + Twine(index));
}

const onnx::AttributeProto *OpCall::find(StringRef name) const {
  for (const onnx::AttributeProto &attribute : node.proto->attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

int64_t OpCall::intAttr(StringRef name, int64_t whenAbsent) const {
  const onnx::AttributeProto *attribute = find(name);
  return attribute ? attribute->i() : whenAbsent;
}

double OpCall::floatAttr(StringRef name, double whenAbsent) const {
  const onnx::AttributeProto *attribute = find(name);
  return attribute ? double(attribute->f()) : whenAbsent;
}

std::string OpCall::textAttr(StringRef name, StringRef whenAbsent) const {
  const onnx::AttributeProto *attribute = find(name);
  return attribute ? attribute->s() : whenAbsent.str();
}

std::optional<Shape> OpCall::intsAttr(StringRef name) const {
  const onnx::AttributeProto *attribute = find(name);
  if (!attribute)
    return std::nullopt;
  return Shape(attribute->ints().begin(), attribute->ints().end());
}

const onnx::TensorProto *OpCall::tensorAttr(StringRef name) const {
  const onnx::AttributeProto *attribute = find(name);
  return attribute && attribute->has_t() ? &attribute->t() : nullptr;
}

Shape OpCall::ints(unsigned index) {
  const HostTensor &tensor = constant(index);
  if (isFloat(tensor.type))
    fail("input " + Twine(index) + " must be integers, but is " +
         nameOf(tensor.type));
  std::vector<int64_t> values = tensor.integers();
  return Shape(values.begin(), values.end());
}

std::optional<Shape> OpCall::intsAt(unsigned index, StringRef attribute) {
  if (has(index))
    return ints(index);
  return intsAttr(attribute);
}

int64_t OpCall::axis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank)
    fail("has axis " + Twine(axis) + ", but its operand has rank " +
         Twine(rank));
  return axis < 0 ? axis + rank : axis;
}

Shape OpCall::axes(ArrayRef<int64_t> axes, int64_t rank) const {
  Shape result;
  for (int64_t each : axes)
    result.push_back(axis(each, rank));
  llvm::sort(result);
  if (std::unique(result.begin(), result.end()) != result.end())
    fail("names an axis twice in " + textOf(axes));
  return result;
}

Shape commonShape(ArrayRef<int64_t> a, ArrayRef<int64_t> b,
                  const OpCall &call) {
  Shape result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
    int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (left != right && left != 1 && right != 1)
      call.fail("cannot broadcast shapes " + textOf(a) + " and " + textOf(b));
    result[result.size() - 1 - i] = left == 1 ? right : left;
  }
  return result;
}

OpTable::OpTable() {
  for (ArrayRef<OpRow> family :
       {contractionRows(), elementwiseRows(), reductionRows(),
        normalizationRows(), attentionRows(), indexingRows(), shapeRows(),
        lossRows(), constantRows()})
    rows.insert(rows.end(), family.begin(), family.end());
  llvm::sort(rows, [](const OpRow &a, const OpRow &b) {
    int order = StringRef(a.op).compare(b.op);
    return order ? order < 0 : a.sinceVersion < b.sinceVersion;
  });
}

const OpRow *OpTable::find(const Node &node) const {
  if (!node.domain.empty())
    return nullptr;
  const OpRow *best = nullptr;
  for (const OpRow &row : rows)
    if (node.op == row.op && row.sinceVersion <= node.version)
      best = &row;
  return best;
}

bool OpTable::knows(StringRef op) const {
  return any_of(rows, [&](const OpRow &row) { return op == row.op; });
}

mlir::Type elementType(mlir::Builder &builder, DataType type) {
  switch (type) {
  case DataType::F32:
  case DataType::F16:
    return builder.getF32Type();
  case DataType::F64:
    return builder.getF64Type();
  case DataType::BF16:
    return builder.getBF16Type();
  case DataType::Bool:
    return builder.getI1Type();
  case DataType::I64:
  case DataType::U64:
  case DataType::U32:
    return builder.getI64Type();
  default:
    return builder.getI32Type();
  }
}

} // namespace echelon::onnx_import

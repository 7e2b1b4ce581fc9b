// SPDX-License-Identifier: Apache-2.0
//
// Short ways to build graph ops.
#include "dialects/graph/builders.h"

using namespace mlir;
using namespace llvm;

namespace echelon::graph {

Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

static RankedTensorType typeLike(Value value, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, elementOf(value));
}

Value GraphBuilder::unary(UnaryKind kind, Value input) {
  return builder.create<UnaryOp>(loc, input.getType(), kind, input);
}

Value GraphBuilder::binary(BinaryKind kind, Value lhs, Value rhs) {
  return builder.create<BinaryOp>(loc, lhs.getType(), kind, lhs, rhs);
}

Value GraphBuilder::scale(Value input, double factor) { return mul(input, splat(input.getType(), factor)); }

Value GraphBuilder::addScalar(Value input, double term) { return add(input, splat(input.getType(), term)); }

Value GraphBuilder::compare(Predicate predicate, Value lhs, Value rhs) {
  auto type = cast<RankedTensorType>(lhs.getType());
  return builder.create<CompareOp>(loc, type.clone(builder.getI1Type()), predicate, lhs, rhs);
}

Value GraphBuilder::select(Value condition, Value onTrue, Value onFalse) {
  return builder.create<SelectOp>(loc, onTrue.getType(), condition, onTrue, onFalse);
}

Value GraphBuilder::convert(Value input, Type element) {
  auto type = cast<RankedTensorType>(input.getType());
  return type.getElementType() == element ? input : builder.create<ConvertOp>(loc, type.clone(element), input);
}

Value GraphBuilder::splat(Type like, double value) {
  auto type = cast<RankedTensorType>(like);
  Type element = type.getElementType();
  Attribute attribute = isa<FloatType>(element) ? Attribute(FloatAttr::get(element, value))
                                                : Attribute(IntegerAttr::get(element, int64_t(value)));
  return builder.create<ConstantOp>(loc, type, SplatElementsAttr::get(type, attribute));
}

Value GraphBuilder::einsum(StringRef spec, Value lhs, Value rhs) {
  auto space = cantFail(IterationSpace::parse(spec));
  Shape left = shapeOf(lhs), right = shapeOf(rhs);
  for (auto [dim, size] : zip_equal(space.operands[0], left))
    space.names[dim[0]].size = size;
  for (auto [dim, size] : zip_equal(space.operands[1], right))
    space.names[dim[0]].size = size;
  Shape shape = space.results.empty() ? Shape() : space.shapeOf(space.results[0]);
  return builder.create<EinsumOp>(loc, typeLike(lhs, shape), spec, lhs, rhs);
}

Value GraphBuilder::reduce(ReduceKind kind, Value input, ArrayRef<int64_t> dims) {
  if (dims.empty())
    return input;
  Shape shape;
  for (auto [index, size] : enumerate(shapeOf(input)))
    if (!is_contained(dims, int64_t(index)))
      shape.push_back(size);
  return builder.create<ReduceOp>(loc, typeLike(input, shape), kind, dims, input);
}

Value GraphBuilder::reshape(Value input, ArrayRef<int64_t> shape) {
  if (ArrayRef<int64_t>(shapeOf(input)) == shape)
    return input;
  return builder.create<ReshapeOp>(loc, typeLike(input, shape), input);
}

Value GraphBuilder::transpose(Value input, ArrayRef<int64_t> permutation) {
  Shape from = shapeOf(input), shape;
  bool identity = true;
  for (auto [index, dim] : enumerate(permutation)) {
    shape.push_back(from[dim]);
    identity &= int64_t(index) == dim;
  }
  return identity ? input : builder.create<TransposeOp>(loc, typeLike(input, shape), input, permutation);
}

Value GraphBuilder::broadcast(Value input, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  if (ArrayRef<int64_t>(shapeOf(input)) == shape)
    return input;
  return builder.create<BroadcastOp>(loc, typeLike(input, shape), input, dims);
}

Value GraphBuilder::broadcastTo(Value input, ArrayRef<int64_t> shape) {
  Shape from = shapeOf(input), kept;
  SmallVector<int64_t> dims;
  size_t lead = shape.size() - from.size();
  for (auto [index, size] : enumerate(from))
    if (size == shape[lead + index]) {
      kept.push_back(size);
      dims.push_back(lead + index);
    }
  if (ArrayRef<int64_t>(from) == shape)
    return input;
  return broadcast(reshape(input, kept), shape, dims);
}

Value GraphBuilder::unreduce(Value input, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < int64_t(shape.size()); ++dim)
    if (!is_contained(dims, dim))
      kept.push_back(dim);
  return broadcast(input, shape, kept);
}

Value GraphBuilder::slice(Value input, ArrayRef<int64_t> sizes, ArrayRef<int64_t> offsets,
                          ArrayRef<int64_t> strides) {
  return builder.create<SliceOp>(loc, typeLike(input, sizes), input, offsets, strides);
}

Value GraphBuilder::pad(Value input, ArrayRef<int64_t> sizes, ArrayRef<int64_t> offsets,
                        ArrayRef<int64_t> strides) {
  return builder.create<PadOp>(loc, typeLike(input, sizes), input, offsets, strides);
}

Value GraphBuilder::concat(ValueRange inputs, int64_t dim) {
  if (inputs.size() == 1)
    return inputs[0];
  Shape shape = shapeOf(inputs[0]);
  shape[dim] = 0;
  for (Value input : inputs)
    shape[dim] += shapeOf(input)[dim];
  return builder.create<ConcatOp>(loc, typeLike(inputs[0], shape), inputs, dim);
}

bool matchSplat(Value value, double &splat) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<BroadcastOp, ReshapeOp, TransposeOp, SliceOp>(op)) {
      value = op->getOperand(0);
      continue;
    }
    auto constant = dyn_cast<ConstantOp>(op);
    auto elements = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : nullptr;
    if (!elements)
      return false;
    if (isa<FloatType>(elements.getElementType()))
      splat = elements.getSplatValue<APFloat>().convertToDouble();
    else
      splat = double(elements.getSplatValue<APInt>().getSExtValue());
    return true;
  }
  return false;
}

} // namespace echelon::graph

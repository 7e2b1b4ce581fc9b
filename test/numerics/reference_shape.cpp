// SPDX-License-Identifier: Apache-2.0
//
// Ops of the reference interpreter that move elements: views, concat,
// constants, rows of a table.
#include "test/numerics/reference_ops.h"

using namespace llvm;

namespace echelon::test {

using Results = std::vector<RefTensor>;

Shape shapeOfType(mlir::Type type) {
  return Shape(mlir::cast<mlir::RankedTensorType>(type).getShape());
}

RefTensor zeros(mlir::Type type) {
  auto tensor = mlir::cast<mlir::RankedTensorType>(type);
  return {Shape(tensor.getShape()),
          std::vector<double>(size_t(tensor.getNumElements()), 0)};
}

Shape refStrides(const Shape &shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0; stride *= shape[dim])
    strides[dim] = stride;
  return strides;
}

/// The elements of `input` that lie at `strides` a result dim.
static RefResults gather(mlir::Type type, const RefTensor &input,
                         int64_t offset, const Shape &strides) {
  RefTensor result{shapeOfType(type), {}};
  forEachPlace(result.shape, strides, offset, [&](int64_t place) {
    result.values.push_back(input.values[place]);
  });
  return Results{std::move(result)};
}

RefResults evaluate(graph::ReshapeOp op, RefOperands in) {
  return Results{{shapeOfType(op.getType()), in[0].values}};
}

RefResults evaluate(graph::TransposeOp op, RefOperands in) {
  Shape own = refStrides(in[0].shape), strides;
  for (int64_t dim : op.getPermutation())
    strides.push_back(own[dim]);
  return gather(op.getType(), in[0], 0, strides);
}

RefResults evaluate(graph::BroadcastOp op, RefOperands in) {
  Shape own = refStrides(in[0].shape),
        strides(shapeOfType(op.getType()).size(), 0);
  for (auto [index, dim] : enumerate(op.getDims()))
    strides[dim] = own[index];
  return gather(op.getType(), in[0], 0, strides);
}

namespace {
/// Places offsets[d] + j * steps[d] of each dim of a row-major tensor.
struct Window {
  int64_t offset = 0;
  Shape strides;
  Window(const Shape &outer, ArrayRef<int64_t> offsets,
         ArrayRef<int64_t> steps) {
    strides = refStrides(outer);
    for (size_t dim = 0; dim < outer.size(); ++dim) {
      offset += offsets[dim] * strides[dim];
      strides[dim] *= steps[dim];
    }
  }
};
} // namespace

RefResults evaluate(graph::SliceOp op, RefOperands in) {
  Window window(in[0].shape, op.getOffsets(), op.getStrides());
  return gather(op.getType(), in[0], window.offset, window.strides);
}

RefResults evaluate(graph::PadOp op, RefOperands in) {
  RefTensor result = zeros(op.getType());
  Window window(result.shape, op.getOffsets(), op.getStrides());
  size_t next = 0;
  forEachPlace(in[0].shape, window.strides, window.offset, [&](int64_t place) {
    result.values[place] = in[0].values[next++];
  });
  return Results{std::move(result)};
}

RefResults evaluate(graph::ConcatOp op, RefOperands in) {
  RefTensor result{shapeOfType(op.getType()), {}};
  int64_t outer = 1;
  for (size_t dim = 0; dim < op.getDim(); ++dim)
    outer *= result.shape[dim];
  for (int64_t row = 0; row < outer; ++row)
    for (const RefTensor &part : in) {
      int64_t piece = int64_t(part.values.size()) / outer;
      auto from = part.values.begin() + row * piece;
      result.values.insert(result.values.end(), from, from + piece);
    }
  return Results{std::move(result)};
}

RefResults evaluate(graph::ConstantOp op, RefOperands) {
  RefTensor result{shapeOfType(op.getType()), {}};
  auto elements = mlir::dyn_cast<mlir::DenseElementsAttr>(op.getValue());
  if (!elements)
    return createStringError("a constant's elements are not in memory");
  if (mlir::isa<mlir::FloatType>(elements.getElementType()))
    for (APFloat value : elements.getValues<APFloat>())
      result.values.push_back(value.convertToDouble());
  else
    for (APInt value : elements.getValues<APInt>())
      result.values.push_back(value.getBitWidth() == 1
                                  ? double(value.getZExtValue())
                                  : double(value.getSExtValue()));
  return Results{std::move(result)};
}

/// Row of a table of `rows` that `index` names, counting from the end if
/// negative.
static Expected<int64_t> rowOf(double index, int64_t rows) {
  int64_t row = int64_t(index) + (index < 0 ? rows : 0);
  if (row < 0 || row >= rows)
    return createStringError("index " + Twine(int64_t(index)) +
                             " is outside a table of " + Twine(rows) + " rows");
  return row;
}

RefResults evaluate(graph::EmbeddingOp op, RefOperands in) {
  int64_t width = in[0].shape[1];
  RefTensor result{shapeOfType(op.getType()), {}};
  for (double index : in[1].values) {
    Expected<int64_t> row = rowOf(index, in[0].shape[0]);
    if (!row)
      return row.takeError();
    auto from = in[0].values.begin() + *row * width;
    result.values.insert(result.values.end(), from, from + width);
  }
  return Results{std::move(result)};
}

RefResults evaluate(graph::EmbeddingGradOp op, RefOperands in) {
  RefTensor result = zeros(op.getTableGradient().getType());
  int64_t width = result.shape[1];
  for (auto [position, index] : enumerate(in[0].values)) {
    Expected<int64_t> row = rowOf(index, result.shape[0]);
    if (!row)
      return row.takeError();
    for (int64_t d = 0; d < width; ++d)
      result.values[*row * width + d] +=
          in[1].values[int64_t(position) * width + d];
  }
  return Results{std::move(result)};
}

} // namespace echelon::test

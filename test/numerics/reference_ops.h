// SPDX-License-Identifier: Apache-2.0
//
// One function an op: its results from its operands, in double, from the
// definition in dialects/graph. The families stand in reference_<family>.cpp.
#ifndef ECHELON_TEST_NUMERICS_REFERENCE_OPS_H
#define ECHELON_TEST_NUMERICS_REFERENCE_OPS_H

#include "test/numerics/reference_interpreter.h"

namespace echelon::test {

using RefOperands = llvm::ArrayRef<RefTensor>;
using RefResults = llvm::Expected<std::vector<RefTensor>>;

/// A tensor of zeros of the type's shape.
RefTensor zeros(mlir::Type type);
Shape shapeOfType(mlir::Type type);
/// Row-major strides, in elements.
Shape refStrides(const Shape &shape);
/// Calls `visit(place)` for each index of `sizes` in row-major order, with
/// place = offset + sum index[d] * strides[d].
template <typename Visit>
void forEachPlace(const Shape &sizes, const Shape &strides, int64_t offset,
                  Visit visit) {
  Shape index(sizes.size(), 0);
  for (int64_t size : sizes)
    if (size == 0)
      return;
  while (true) {
    visit(offset);
    size_t dim = sizes.size();
    for (; dim > 0; --dim) {
      offset += strides[dim - 1];
      if (++index[dim - 1] < sizes[dim - 1])
        break;
      offset -= index[dim - 1] * strides[dim - 1];
      index[dim - 1] = 0;
    }
    if (dim == 0)
      return;
  }
}

RefResults evaluate(graph::UnaryOp op, RefOperands in);
RefResults evaluate(graph::BinaryOp op, RefOperands in);
RefResults evaluate(graph::CompareOp op, RefOperands in);
RefResults evaluate(graph::SelectOp op, RefOperands in);
RefResults evaluate(graph::ConvertOp op, RefOperands in);

RefResults evaluate(graph::EinsumOp op, RefOperands in);
RefResults evaluate(graph::ReduceOp op, RefOperands in);
RefResults evaluate(graph::SoftmaxOp op, RefOperands in);
RefResults evaluate(graph::LayerNormOp op, RefOperands in);
RefResults evaluate(graph::RmsNormOp op, RefOperands in);

RefResults evaluate(graph::AttentionOp op, RefOperands in);
RefResults evaluate(graph::AttentionGradOp op, RefOperands in);

RefResults evaluate(graph::ReshapeOp op, RefOperands in);
RefResults evaluate(graph::TransposeOp op, RefOperands in);
RefResults evaluate(graph::BroadcastOp op, RefOperands in);
RefResults evaluate(graph::SliceOp op, RefOperands in);
RefResults evaluate(graph::PadOp op, RefOperands in);
RefResults evaluate(graph::ConcatOp op, RefOperands in);
RefResults evaluate(graph::ConstantOp op, RefOperands in);
/// An index outside the table is an error.
RefResults evaluate(graph::EmbeddingOp op, RefOperands in);
RefResults evaluate(graph::EmbeddingGradOp op, RefOperands in);

/// A label outside the classes is an error.
RefResults evaluate(graph::SoftmaxCrossEntropyOp op, RefOperands in);
RefResults evaluate(graph::SoftmaxCrossEntropyGradOp op, RefOperands in);
RefResults evaluate(graph::AdamWOp op, RefOperands in);
/// The formulas of runtime/abi/kernels.h; `step` from 0.
double learningRate(graph::LearningRateOp op, int64_t step);
RefTensor adamBias(graph::AdamBiasOp op, int64_t step);

} // namespace echelon::test

#endif

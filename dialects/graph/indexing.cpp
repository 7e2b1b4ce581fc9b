// SPDX-License-Identifier: Apache-2.0
//
// embedding and its adjoint.
#include "dialects/graph/builders.h"

using namespace mlir;
using namespace llvm;

#define GET_OP_CLASSES
#include "dialects/graph/indexing.cpp.inc"

namespace echelon::graph {

void addIndexingOps(GraphDialect &dialect) {
  dialect.addFamilyOps<
#define GET_OP_LIST
#include "dialects/graph/indexing.cpp.inc"
      >();
}

/// "v d, i0 i1 -> i0 i1 d" or its adjoint, for any rank of the indices (0: one row).
static FailureOr<IterationSpace> indexSpace(Operation *op, Value table, Value indices, bool adjoint) {
  IterationSpace space;
  Shape tableShape = shapeOf(table);
  if (tableShape.size() != 2)
    return failure();
  unsigned v = space.addName("v", tableShape[0], true), d = space.addName("d", tableShape[1]);
  SpaceTensor rows, index;
  for (auto [i, size] : enumerate(shapeOf(indices)))
    index.push_back({space.addName("i" + std::to_string(i), size)});
  rows = index;
  rows.push_back({d});
  if (adjoint) {
    space.operands = {index, rows};
    space.results = {{{v}, {d}}};
  } else {
    space.operands = {{{v}, {d}}, index};
    space.results = {rows};
  }
  return bindIterationSpace(op, Expected<IterationSpace>(std::move(space)));
}

FailureOr<IterationSpace> EmbeddingOp::getIterationSpace() {
  return indexSpace(getOperation(), getTable(), getIndices(), false);
}
FailureOr<IterationSpace> EmbeddingGradOp::getIterationSpace() {
  return indexSpace(getOperation(), getTableGradient(), getIndices(), true);
}

LogicalResult EmbeddingOp::verify() { return verifyIterationSpace(getOperation()); }
LogicalResult EmbeddingGradOp::verify() { return verifyIterationSpace(getOperation()); }

SmallVector<Value> EmbeddingOp::buildGradient(OpBuilder &builder, ValueRange gradients) {
  return {builder.create<EmbeddingGradOp>(getLoc(), getTable().getType(), getIndices(), gradients[0]), Value()};
}

/// Fields of ech_embedding for indices and rows laid out as given.
static FailureOr<KernelCall> describe(StringRef kernel, const StridedView &table, const StridedView &indices,
                                      const StridedView &rows) {
  unsigned lead = rows.sizes.size() - 1;
  auto merged = rows.merge(0, lead);
  if (!table.isDense() || !indices.isDense() || !merged || (rows.sizes[lead] != 1 && rows.strides[lead] != 1))
    return failure();
  KernelCall call{kernel, {}, {}};
  call.descriptor.assign({merged->first, table.sizes[0], table.sizes[1],
                          merged->first == 1 ? table.sizes[1] : merged->second, int64_t(0)});
  return call;
}

FailureOr<KernelCall> EmbeddingOp::describeKernel(ArrayRef<StridedView> operands, ArrayRef<StridedView> results) {
  if (!elementOf(getResult()).isF32() || !elementOf(getIndices()).isInteger(64))
    return failure();
  FailureOr<KernelCall> call = describe("embedding_f32", operands[0], operands[1], results[0]);
  if (succeeded(call))
    call->arguments = {{KernelArgument::Operand, 0}, {KernelArgument::Operand, 1}, {KernelArgument::Result, 0}};
  return call;
}

FailureOr<KernelCall> EmbeddingGradOp::describeKernel(ArrayRef<StridedView> operands,
                                                      ArrayRef<StridedView> results) {
  if (!elementOf(getTableGradient()).isF32() || !elementOf(getIndices()).isInteger(64))
    return failure();
  FailureOr<KernelCall> call = describe("embedding_grad_f32", results[0], operands[0], operands[1]);
  if (succeeded(call))
    call->arguments = {{KernelArgument::Operand, 0}, {KernelArgument::Operand, 1}, {KernelArgument::Result, 0}};
  return call;
}

} // namespace echelon::graph

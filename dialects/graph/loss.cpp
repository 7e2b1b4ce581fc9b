// SPDX-License-Identifier: Apache-2.0
//
// softmax cross-entropy as (sum, count).
#include "dialects/graph/builders.h"

using namespace mlir;
using namespace llvm;

#define GET_OP_CLASSES
#include "dialects/graph/loss.cpp.inc"

namespace echelon::graph {

void addLossOps(GraphDialect &dialect) {
  dialect.addFamilyOps<
#define GET_OP_LIST
#include "dialects/graph/loss.cpp.inc"
      >();
}

/// logits [i.., v], labels [i..]; v whole.
static FailureOr<IterationSpace> lossSpace(Operation *op, Value logits, bool gradient) {
  IterationSpace space;
  SpaceTensor rows, full;
  Shape shape = shapeOf(logits);
  if (shape.empty())
    return failure();
  for (size_t i = 0; i + 1 < shape.size(); ++i)
    rows.push_back({space.addName("i" + std::to_string(i), shape[i])});
  full = rows;
  full.push_back({space.addName("v", shape.back(), true)});
  if (gradient) {
    space.operands = {full, rows, rows, {}};
    space.results = {full};
  } else {
    space.operands = {full, rows};
    space.results = {{}, {}, rows};
  }
  return bindIterationSpace(op, Expected<IterationSpace>(std::move(space)));
}

FailureOr<IterationSpace> SoftmaxCrossEntropyOp::getIterationSpace() {
  return lossSpace(getOperation(), getLogits(), false);
}
FailureOr<IterationSpace> SoftmaxCrossEntropyGradOp::getIterationSpace() {
  return lossSpace(getOperation(), getLogits(), true);
}
LogicalResult SoftmaxCrossEntropyOp::verify() { return verifyIterationSpace(getOperation()); }
LogicalResult SoftmaxCrossEntropyGradOp::verify() { return verifyIterationSpace(getOperation()); }

SmallVector<Value> SoftmaxCrossEntropyOp::buildGradient(OpBuilder &builder, ValueRange gradients) {
  if (!gradients[0])
    return {Value(), Value()};
  return {builder.create<SoftmaxCrossEntropyGradOp>(getLoc(), getLogits().getType(), getLogits(), getLabels(),
                                                    getLse(), gradients[0], getIgnoreIndexAttr(),
                                                    getLabelSmoothingAttr()),
          Value()};
}

/// Fields of ech_cross_entropy.
template <typename Op>
static FailureOr<KernelCall> describe(Op op, StringRef kernel, const StridedView &logits, const StridedView &labels,
                                      const StridedView *gradient) {
  unsigned lead = logits.sizes.size() - 1;
  auto rows = logits.merge(0, lead);
  auto gradientRows = gradient ? gradient->merge(0, lead) : rows;
  auto contiguous = [&](const StridedView &view) { return view.sizes[lead] == 1 || view.strides[lead] == 1; };
  if (!elementOf(op.getLogits()).isF32() || !elementOf(op.getLabels()).isInteger(64) || !rows || !gradientRows ||
      !labels.isDense() || !contiguous(logits) || (gradient && !contiguous(*gradient)))
    return failure();
  KernelCall call{kernel, {}, {}};
  call.descriptor.assign({rows->first, logits.sizes[lead], rows->second, gradientRows->second,
                          int64_t(op.getIgnoreIndex()), op.getLabelSmoothing().convertToDouble()});
  return call;
}

FailureOr<KernelCall> SoftmaxCrossEntropyOp::describeKernel(ArrayRef<StridedView> operands, ArrayRef<StridedView>) {
  FailureOr<KernelCall> call = describe(*this, "cross_entropy_f32", operands[0], operands[1], nullptr);
  if (succeeded(call))
    call->arguments = {{KernelArgument::Operand, 0}, {KernelArgument::Operand, 1}, {KernelArgument::Result, 0},
                       {KernelArgument::Result, 1}, {KernelArgument::Result, 2}};
  return call;
}

FailureOr<KernelCall> SoftmaxCrossEntropyGradOp::describeKernel(ArrayRef<StridedView> operands,
                                                                ArrayRef<StridedView> results) {
  FailureOr<KernelCall> call = describe(*this, "cross_entropy_grad_f32", operands[0], operands[1], &results[0]);
  if (succeeded(call))
    call->arguments = {{KernelArgument::Operand, 0}, {KernelArgument::Operand, 1}, {KernelArgument::Operand, 2},
                       {KernelArgument::Operand, 3}, {KernelArgument::Result, 0}};
  return call;
}

} // namespace echelon::graph

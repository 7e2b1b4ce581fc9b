// SPDX-License-Identifier: Apache-2.0
//
// Update ops: schedule, bias correction, AdamW.
#include "dialects/graph/builders.h"

using namespace mlir;
using namespace llvm;

#define GET_OP_CLASSES
#include "dialects/graph/optimizer.cpp.inc"

namespace echelon::graph {

void addOptimizerOps(GraphDialect &dialect) {
  dialect.addFamilyOps<
#define GET_OP_LIST
#include "dialects/graph/optimizer.cpp.inc"
      >();
}

FailureOr<IterationSpace> LearningRateOp::getIterationSpace() {
  IterationSpace space;
  space.results.emplace_back();
  return bindIterationSpace(getOperation(), Expected<IterationSpace>(std::move(space)));
}

FailureOr<IterationSpace> AdamBiasOp::getIterationSpace() {
  IterationSpace space;
  space.results.push_back({{space.addName("two", 2, true)}});
  return bindIterationSpace(getOperation(), Expected<IterationSpace>(std::move(space)));
}

FailureOr<IterationSpace> AdamWOp::getIterationSpace() {
  IterationSpace space;
  SpaceTensor full;
  for (auto [i, size] : enumerate(shapeOf(getParameter())))
    full.push_back({space.addName("i" + std::to_string(i), size)});
  SpaceTensor two = {{space.addName("two", 2, true)}};
  space.operands = {full, full, full, full, {}, {}, two};
  space.results = {full, full, full};
  return bindIterationSpace(getOperation(), Expected<IterationSpace>(std::move(space)));
}

LogicalResult LearningRateOp::verify() { return verifyIterationSpace(getOperation()); }
LogicalResult AdamBiasOp::verify() { return verifyIterationSpace(getOperation()); }
LogicalResult AdamWOp::verify() { return verifyIterationSpace(getOperation()); }

FailureOr<KernelCall> LearningRateOp::describeKernel(ArrayRef<StridedView>, ArrayRef<StridedView>) {
  KernelCall call{"learning_rate_f32", {}, {{KernelArgument::Result, 0}}};
  call.descriptor.assign({int64_t(getSchedule()), int64_t(getWarmupSteps()), int64_t(getTotalSteps())});
  call.descriptor.push_back(getBase().convertToDouble());
  call.descriptor.push_back(getMinLr().convertToDouble());
  return call;
}

FailureOr<KernelCall> AdamBiasOp::describeKernel(ArrayRef<StridedView>, ArrayRef<StridedView>) {
  KernelCall call{"adam_bias_f32", {}, {{KernelArgument::Result, 0}}};
  call.descriptor.push_back(getBeta1().convertToDouble());
  call.descriptor.push_back(getBeta2().convertToDouble());
  return call;
}

} // namespace echelon::graph

// SPDX-License-Identifier: Apache-2.0
//
// A fused group: verifier, iteration space, FLOPs.
#include "dialects/graph/builders.h"

using namespace mlir;
using namespace llvm;

#define GET_OP_CLASSES
#include "dialects/graph/fused.cpp.inc"

namespace echelon::graph {

void addFusedOps(GraphDialect &dialect) {
  dialect.addFamilyOps<
#define GET_OP_LIST
#include "dialects/graph/fused.cpp.inc"
      >();
}

/// The named dims of a group follow from its body; from outside every dim stays whole, since groups are formed after
/// distribution and are never cut again.
FailureOr<IterationSpace> FusedOp::getIterationSpace() {
  IterationSpace space;
  auto add = [&](Value value, char letter, size_t index) {
    SpaceTensor tensor;
    for (auto [dim, size] : enumerate(shapeOf(value)))
      tensor.push_back({space.addName(letter + std::to_string(index) + "_" + std::to_string(dim), size, true)});
    return tensor;
  };
  for (auto [index, input] : enumerate(getInputs()))
    space.operands.push_back(add(input, 'i', index));
  for (auto [index, result] : enumerate(getResults()))
    space.results.push_back(add(result, 'o', index));
  return bindIterationSpace(getOperation(), Expected<IterationSpace>(std::move(space)));
}

int64_t FusedOp::getFlops() {
  int64_t flops = 0;
  for (Operation &op : getBody().front().without_terminator())
    if (auto counted = dyn_cast<IterationSpaceOpInterface>(op))
      flops += counted.getFlops();
  return flops;
}

Operation *FusedOp::buildLocal(OpBuilder &, ValueRange, ArrayRef<int64_t>, std::string &why) {
  why = "fused groups are formed after distribution";
  return nullptr;
}

LogicalResult FusedOp::verify() {
  Block &body = getBody().front();
  if (body.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("region arguments and operands have different types");
  auto yield = body.empty() ? YieldOp() : dyn_cast<YieldOp>(body.back());
  if (!yield || yield.getValues().getTypes() != getResultTypes())
    return emitOpError("yields other types than its results");
  if (getOuter() > getDomain().size())
    return emitOpError("has ") << getOuter() << " row dims in a domain of rank " << getDomain().size();
  for (Operation &op : body.without_terminator())
    if (!isa<UnaryOp, BinaryOp, CompareOp, SelectOp, ConvertOp, ReduceOp, BroadcastOp, ConstantOp, ReshapeOp>(op))
      return emitOpError("may not hold '") << op.getName() << "'";
  return success();
}

} // namespace echelon::graph

// SPDX-License-Identifier: Apache-2.0
//
// Default bodies of the op interfaces.
#include "dialects/graph/graph_interfaces.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace llvm;

#include "dialects/graph/graph_interfaces.cpp.inc"

namespace echelon::graph {

Shape shapeOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return Shape(type.getShape().begin(), type.getShape().end());
}

static SmallVector<Shape> shapesOf(ValueRange values) {
  SmallVector<Shape> shapes;
  for (Value value : values)
    shapes.push_back(shapeOf(value));
  return shapes;
}

/// Rank of "..." : of the first tensor that has it, less its other dims.
static unsigned ellipsisRank(Operation *op, StringRef text) {
  SmallVector<StringRef, 4> parts;
  auto [left, right] = text.split("->");
  left.split(parts, ',');
  if (left.trim().empty())
    parts.clear();
  size_t operandParts = parts.size();
  right.split(':').first.split(parts, ',');
  for (auto [index, part] : enumerate(parts)) {
    if (!part.contains("..."))
      continue;
    size_t other = 0;
    SmallVector<StringRef, 4> words;
    part.split(words, ' ', -1, false);
    for (StringRef word : words)
      other += word != "...";
    Value value = index < operandParts ? op->getOperand(index) : op->getResult(index - operandParts);
    size_t rank = shapeOf(value).size();
    return rank >= other ? rank - other : 0;
  }
  return 0;
}

static Error bindSpace(Operation *op, IterationSpace &space) {
  return space.bind(shapesOf(op->getOperands()), shapesOf(op->getResults()));
}

FailureOr<IterationSpace> bindIterationSpace(Operation *op, Expected<IterationSpace> space) {
  if (!space) {
    consumeError(space.takeError());
    return failure();
  }
  if (Error error = bindSpace(op, *space)) {
    consumeError(std::move(error));
    return failure();
  }
  return std::move(*space);
}

FailureOr<IterationSpace> bindIterationSpace(Operation *op, StringRef text) {
  return bindIterationSpace(op, IterationSpace::parse(text, ellipsisRank(op, text)));
}

LogicalResult verifyIterationSpace(Operation *op) {
  auto interface = cast<IterationSpaceOpInterface>(op);
  FailureOr<IterationSpace> space = interface.getIterationSpace();
  if (failed(space))
    return op->emitOpError("operand and result shapes do not fit its iteration space");
  return success();
}

int64_t countFlops(Operation *op, int64_t flopsPerPoint) {
  if (!flopsPerPoint)
    return 0;
  FailureOr<IterationSpace> space = cast<IterationSpaceOpInterface>(op).getIterationSpace();
  return failed(space) ? 0 : space->points() * flopsPerPoint;
}

Operation *cloneLocal(Operation *op, OpBuilder &builder, ValueRange operands, ArrayRef<int64_t> sizes,
                      std::string &why) {
  FailureOr<IterationSpace> space = cast<IterationSpaceOpInterface>(op).getIterationSpace();
  if (failed(space)) {
    why = "its shapes do not fit its iteration space";
    return nullptr;
  }
  for (auto [index, name] : enumerate(space->names))
    if (name.whole && sizes[index] != name.size) {
      why = "its dim '" + name.text + "' must stay whole";
      return nullptr;
    }
  Operation *local = builder.clone(*op);
  local->setOperands(operands); // by position: one value may have two local forms
  for (auto [index, result] : enumerate(local->getResults())) {
    auto type = cast<RankedTensorType>(result.getType());
    result.setType(type.clone(space->shapeOf(space->results[index], sizes)));
  }
  return local;
}

} // namespace echelon::graph

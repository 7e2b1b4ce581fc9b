// SPDX-License-Identifier: Apache-2.0
//
// reduce: sum, mean, max over dims.
#include "dialects/graph/builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace llvm;

#define GET_OP_CLASSES
#include "dialects/graph/reduction.cpp.inc"

namespace echelon::graph {

void addReductionOps(GraphDialect &dialect) {
  dialect.addFamilyOps<
#define GET_OP_LIST
#include "dialects/graph/reduction.cpp.inc"
      >();
}

FailureOr<IterationSpace> ReduceOp::getIterationSpace() {
  std::string operand, result;
  for (int64_t dim = 0, rank = shapeOf(getInput()).size(); dim < rank; ++dim) {
    std::string name = "i" + utostr(dim) + " ";
    operand += name;
    if (!is_contained(getDims(), dim))
      result += name;
  }
  // A scalar result still is one tensor: the parser reads an empty list as none.
  Expected<IterationSpace> space = IterationSpace::parse(operand + "->" + result);
  if (space && space->results.empty())
    space->results.emplace_back();
  return bindIterationSpace(getOperation(), std::move(space));
}

LogicalResult ReduceOp::verify() {
  int64_t rank = shapeOf(getInput()).size(), last = -1;
  for (int64_t dim : getDims()) {
    if (dim <= last || dim >= rank)
      return emitOpError("dims must be sorted, distinct and below the rank ") << rank;
    last = dim;
  }
  return verifyIterationSpace(getOperation());
}

SmallVector<Value> ReduceOp::buildGradient(OpBuilder &builder, ValueRange gradients) {
  GraphBuilder g(builder, getLoc());
  Shape shape = shapeOf(getInput());
  Value spread = g.unreduce(gradients[0], shape, getDims());
  if (getKind() == ReduceKind::Sum)
    return {spread};
  if (getKind() == ReduceKind::Mean) {
    double count = 1;
    for (int64_t dim : getDims())
      count *= shape[dim];
    return {g.scale(spread, 1.0 / count)};
  }
  Value attains = g.compare(Predicate::Eq, getInput(), g.unreduce(getResult(), shape, getDims()));
  Value ones = g.convert(attains, elementOf(getInput()));
  Value ties = g.unreduce(g.reduce(ReduceKind::Sum, ones, getDims()), shape, getDims());
  return {g.div(g.mul(spread, ones), ties)};
}

} // namespace echelon::graph

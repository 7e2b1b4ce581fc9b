// SPDX-License-Identifier: Apache-2.0
//
// softmax, layer_norm, rms_norm over the last dim. Gradients recompute the row statistics from the input, so that
// nothing but the input outlives the forward pass.
#include "dialects/graph/builders.h"

using namespace mlir;
using namespace llvm;

#define GET_OP_CLASSES
#include "dialects/graph/normalization.cpp.inc"

namespace echelon::graph {

void addNormalizationOps(GraphDialect &dialect) {
  dialect.addFamilyOps<
#define GET_OP_LIST
#include "dialects/graph/normalization.cpp.inc"
      >();
}

LogicalResult SoftmaxOp::verify() { return verifyIterationSpace(getOperation()); }
LogicalResult LayerNormOp::verify() { return verifyIterationSpace(getOperation()); }
LogicalResult RmsNormOp::verify() { return verifyIterationSpace(getOperation()); }

namespace {
/// Row helpers over the last dim of one shape.
struct Rows {
  GraphBuilder g;
  Shape shape;
  int64_t last;
  Rows(OpBuilder &builder, Location loc, Value like)
      : g(builder, loc), shape(shapeOf(like)), last(int64_t(shape.size()) - 1) {}
  Value mean(Value x) { return g.reduce(ReduceKind::Mean, x, {last}); }
  Value sum(Value x) { return g.reduce(ReduceKind::Sum, x, {last}); }
  Value spread(Value row) { return g.unreduce(row, shape, {last}); }
  /// Repeats a [d] vector over the rows.
  Value perColumn(Value vector) { return g.broadcast(vector, shape, {last}); }
  /// Sums over the rows.
  Value overRows(Value x) { return g.reduce(ReduceKind::Sum, x, llvm::to_vector(llvm::seq<int64_t>(0, last))); }
};
} // namespace

SmallVector<Value> SoftmaxOp::buildGradient(OpBuilder &builder, ValueRange gradients) {
  Rows rows(builder, getLoc(), getInput());
  // y (dy - sum dy y)
  Value dot = rows.spread(rows.sum(rows.g.mul(gradients[0], getResult())));
  return {rows.g.mul(getResult(), rows.g.sub(gradients[0], dot))};
}

SmallVector<Value> LayerNormOp::buildGradient(OpBuilder &builder, ValueRange gradients) {
  Rows rows(builder, getLoc(), getInput());
  GraphBuilder &g = rows.g;
  Value centred = g.sub(getInput(), rows.spread(rows.mean(getInput())));
  Value variance = rows.mean(g.mul(centred, centred));
  Value rstd = g.unary(UnaryKind::Rsqrt, g.addScalar(variance, getEpsilon().convertToDouble()));
  Value normal = g.mul(centred, rows.spread(rstd));
  Value dNormal = g.mul(gradients[0], rows.perColumn(getScale()));
  // dx = rstd (dn - mean dn - n mean(dn n))
  Value meanGradient = rows.spread(rows.mean(dNormal));
  Value projection = rows.spread(rows.mean(g.mul(dNormal, normal)));
  Value inner = g.sub(g.sub(dNormal, meanGradient), g.mul(normal, projection));
  return {g.mul(inner, rows.spread(rstd)), rows.overRows(g.mul(gradients[0], normal)), rows.overRows(gradients[0])};
}

SmallVector<Value> RmsNormOp::buildGradient(OpBuilder &builder, ValueRange gradients) {
  Rows rows(builder, getLoc(), getInput());
  GraphBuilder &g = rows.g;
  Value square = rows.mean(g.mul(getInput(), getInput()));
  Value rrms = g.unary(UnaryKind::Rsqrt, g.addScalar(square, getEpsilon().convertToDouble()));
  Value normal = g.mul(getInput(), rows.spread(rrms));
  Value dNormal = g.mul(gradients[0], rows.perColumn(getScale()));
  Value projection = rows.spread(rows.mean(g.mul(dNormal, normal)));
  Value dInput = g.mul(g.sub(dNormal, g.mul(normal, projection)), rows.spread(rrms));
  return {dInput, rows.overRows(g.mul(gradients[0], normal))};
}

} // namespace echelon::graph

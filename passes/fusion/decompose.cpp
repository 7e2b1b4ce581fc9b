// SPDX-License-Identifier: Apache-2.0
//
// Composite ops as primitives: row statistics become reductions, scalars become broadcasts.
#include "passes/fusion/decompose.h"
#include "dialects/graph/builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace echelon::graph;

namespace echelon::fusion {
namespace {

/// Helpers over the last dim of one shape.
struct Rows {
  GraphBuilder g;
  Shape shape;
  int64_t last;
  Rows(OpBuilder &builder, Location loc, Value like)
      : g(builder, loc), shape(shapeOf(like)), last(int64_t(shape.size()) - 1) {}
  Value reduce(ReduceKind kind, Value x) { return g.reduce(kind, x, {last}); }
  Value mean(Value x) { return g.scale(reduce(ReduceKind::Sum, x), 1.0 / double(shape[last])); }
  Value spread(Value row) { return g.unreduce(row, shape, {last}); }
  Value perColumn(Value vector) { return g.broadcast(vector, shape, {last}); }
};

void expand(SoftmaxOp op, OpBuilder &builder) {
  Rows rows(builder, op.getLoc(), op.getInput());
  Value largest = rows.reduce(ReduceKind::Max, op.getInput());
  Value e = rows.g.unary(UnaryKind::Exp, rows.g.sub(op.getInput(), rows.spread(largest)));
  Value inverse = rows.g.unary(UnaryKind::Reciprocal, rows.reduce(ReduceKind::Sum, e));
  op.replaceAllUsesWith(rows.g.mul(e, rows.spread(inverse)));
}

void expand(LayerNormOp op, OpBuilder &builder) {
  Rows rows(builder, op.getLoc(), op.getInput());
  GraphBuilder &g = rows.g;
  Value centred = g.sub(op.getInput(), rows.spread(rows.mean(op.getInput())));
  Value variance = rows.mean(g.mul(centred, centred));
  Value rstd = g.unary(UnaryKind::Rsqrt, g.addScalar(variance, op.getEpsilon().convertToDouble()));
  Value normal = g.mul(centred, rows.spread(rstd));
  op.replaceAllUsesWith(g.add(g.mul(normal, rows.perColumn(op.getScale())), rows.perColumn(op.getBias())));
}

void expand(RmsNormOp op, OpBuilder &builder) {
  Rows rows(builder, op.getLoc(), op.getInput());
  GraphBuilder &g = rows.g;
  Value square = rows.mean(g.mul(op.getInput(), op.getInput()));
  Value rrms = g.unary(UnaryKind::Rsqrt, g.addScalar(square, op.getEpsilon().convertToDouble()));
  op.replaceAllUsesWith(g.mul(g.mul(op.getInput(), rows.spread(rrms)), rows.perColumn(op.getScale())));
}

void expand(AdamWOp op, OpBuilder &builder) {
  GraphBuilder g(builder, op.getLoc());
  Shape shape = shapeOf(op.getParameter());
  auto spread = [&](Value scalar) { return g.broadcast(scalar, shape, {}); };
  auto correction = [&](int64_t index) { return g.reshape(g.slice(op.getBias(), {1}, {index}, {1}), {}); };
  double beta1 = op.getBeta1().convertToDouble(), beta2 = op.getBeta2().convertToDouble();
  Value lr = op.getLearningRate();
  Value gradient = g.mul(op.getGradient(), spread(op.getGradientScale()));
  Value mean = g.add(g.scale(op.getMean(), beta1), g.scale(gradient, 1 - beta1));
  Value variance = g.add(g.scale(op.getVariance(), beta2), g.scale(g.mul(gradient, gradient), 1 - beta2));
  Value one = g.splat(lr.getType(), 1);
  Value decay = g.sub(one, g.scale(lr, op.getWeightDecay().convertToDouble()));
  Value step = g.mul(lr, correction(0));
  Value root = g.mul(g.unary(UnaryKind::Sqrt, variance), spread(correction(1)));
  Value change = g.div(g.mul(spread(step), mean), g.addScalar(root, op.getEpsilon().convertToDouble()));
  Value parameter = op.getParameter();
  if (!op.getWeightDecay().isZero())
    parameter = g.mul(parameter, spread(decay));
  op->replaceAllUsesWith(ValueRange{g.sub(parameter, change), mean, variance});
}

void expand(ReduceOp op, OpBuilder &builder) {
  GraphBuilder g(builder, op.getLoc());
  Shape shape = shapeOf(op.getInput());
  double count = 1;
  for (int64_t dim : op.getDims())
    count *= double(shape[dim]);
  op.replaceAllUsesWith(g.scale(g.reduce(ReduceKind::Sum, op.getInput(), op.getDims()), 1 / count));
}

/// f(broadcast a, splat, ...) = broadcast f(a, splat, ...): fewer points to compute.
void hoist(Operation *op, OpBuilder &builder) {
  BroadcastOp first;
  double value;
  for (Value operand : op->getOperands()) {
    auto broadcast = operand.getDefiningOp<BroadcastOp>();
    if (matchSplat(operand, value))
      continue;
    if (!broadcast || (first && (first.getDims() != broadcast.getDims() ||
                                 shapeOf(first.getInput()) != shapeOf(broadcast.getInput()))))
      return;
    first = first ? first : broadcast;
  }
  if (!first)
    return;
  GraphBuilder g(builder, op->getLoc());
  Shape shape = shapeOf(first.getInput());
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    auto small = RankedTensorType::get(shape, elementOf(operand));
    auto broadcast = operand.getDefiningOp<BroadcastOp>();
    bool splat = matchSplat(operand, value);
    operands.push_back(splat ? g.splat(small, value) : broadcast.getInput());
  }
  Value result = op->getResult(0);
  OperationState state(op->getLoc(), op->getName(), operands, {RankedTensorType::get(shape, elementOf(result))},
                       op->getAttrs());
  Value computed = builder.create(state)->getResult(0);
  result.replaceAllUsesWith(g.broadcast(computed, shapeOf(result), first.getDims()));
}

} // namespace

void decompose(Block &block) {
  OpBuilder builder(block.getParent()->getContext());
  for (Operation &op : llvm::make_early_inc_range(block)) {
    builder.setInsertionPoint(&op);
    bool expanded = llvm::TypeSwitch<Operation *, bool>(&op)
                        .Case<SoftmaxOp, LayerNormOp, RmsNormOp, AdamWOp>([&](auto composite) {
                          expand(composite, builder);
                          return true;
                        })
                        .Case([&](ReduceOp reduce) {
                          bool mean = reduce.getKind() == ReduceKind::Mean;
                          if (mean)
                            expand(reduce, builder);
                          return mean;
                        })
                        .Default(false);
    if (expanded)
      op.erase();
  }
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isa<UnaryOp, BinaryOp, CompareOp, SelectOp, ConvertOp>(op))
      continue;
    builder.setInsertionPoint(&op);
    hoist(&op, builder);
    if (op.use_empty())
      op.erase();
  }
}

} // namespace echelon::fusion

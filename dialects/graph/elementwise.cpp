// SPDX-License-Identifier: Apache-2.0
//
// Pointwise ops: folds and gradients.
#include "dialects/graph/builders.h"

using namespace mlir;
using namespace llvm;

#define GET_OP_CLASSES
#include "dialects/graph/elementwise.cpp.inc"

namespace echelon::graph {

void addElementwiseOps(GraphDialect &dialect) {
  dialect.addFamilyOps<
#define GET_OP_LIST
#include "dialects/graph/elementwise.cpp.inc"
      >();
}

static bool isFloat(Value value) { return isa<FloatType>(elementOf(value)); }

LogicalResult UnaryOp::verify() {
  bool onBool = elementOf(getInput()).isInteger(1);
  if ((getKind() == UnaryKind::Not) != onBool)
    return emitOpError("'") << stringifyUnaryKind(getKind()) << "' does not work on " << elementOf(getInput());
  return verifyIterationSpace(getOperation());
}

LogicalResult BinaryOp::verify() {
  bool logical = getKind() == BinaryKind::And || getKind() == BinaryKind::Or;
  if (logical != elementOf(getLhs()).isInteger(1))
    return emitOpError("'") << stringifyBinaryKind(getKind()) << "' does not work on " << elementOf(getLhs());
  return verifyIterationSpace(getOperation());
}

LogicalResult CompareOp::verify() { return verifyIterationSpace(getOperation()); }
LogicalResult SelectOp::verify() { return verifyIterationSpace(getOperation()); }
LogicalResult ConvertOp::verify() { return verifyIterationSpace(getOperation()); }

OpFoldResult UnaryOp::fold(FoldAdaptor) {
  // neg(neg x) = x, not(not x) = x
  auto inner = getInput().getDefiningOp<UnaryOp>();
  if (inner && inner.getKind() == getKind() && (getKind() == UnaryKind::Neg || getKind() == UnaryKind::Not))
    return inner.getInput();
  return {};
}

OpFoldResult BinaryOp::fold(FoldAdaptor) {
  double value;
  bool right = matchSplat(getRhs(), value);
  switch (getKind()) {
  case BinaryKind::Add:
    if (right && value == 0)
      return getLhs();
    return matchSplat(getLhs(), value) && value == 0 ? OpFoldResult(getRhs()) : OpFoldResult();
  case BinaryKind::Mul:
    if (right && value == 1)
      return getLhs();
    return matchSplat(getLhs(), value) && value == 1 ? OpFoldResult(getRhs()) : OpFoldResult();
  case BinaryKind::Sub:
    return right && value == 0 ? OpFoldResult(getLhs()) : OpFoldResult();
  case BinaryKind::Div:
  case BinaryKind::Pow:
    return right && value == 1 ? OpFoldResult(getLhs()) : OpFoldResult();
  default:
    return {};
  }
}

OpFoldResult ConvertOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? OpFoldResult(getInput()) : OpFoldResult();
}

/// d gelu_tanh / dx, with u = sqrt(2/pi) (x + 0.044715 x^3), t = tanh u: (1 + t)/2 + x (1 - t^2) u' / 2.
static Value geluTanhSlope(GraphBuilder &g, Value x) {
  constexpr double kRoot2OverPi = 0.79788456080286535588, kCubic = 0.044715;
  Value square = g.mul(x, x);
  Value u = g.scale(g.mul(x, g.addScalar(g.scale(square, kCubic), 1.0)), kRoot2OverPi);
  Value t = g.unary(UnaryKind::Tanh, u);
  Value slope = g.scale(g.addScalar(g.scale(square, 3 * kCubic), 1.0), kRoot2OverPi);
  Value sech2 = g.sub(g.splat(x.getType(), 1.0), g.mul(t, t));
  return g.scale(g.add(g.addScalar(t, 1.0), g.mul(g.mul(x, sech2), slope)), 0.5);
}

/// d gelu / dx = (1 + erf(x / sqrt 2)) / 2 + x exp(-x^2 / 2) / sqrt(2 pi).
static Value geluSlope(GraphBuilder &g, Value x) {
  constexpr double kRootHalf = 0.70710678118654752440, kRoot2Pi = 2.50662827463100050242;
  Value cdf = g.scale(g.addScalar(g.unary(UnaryKind::Erf, g.scale(x, kRootHalf)), 1.0), 0.5);
  Value density = g.scale(g.unary(UnaryKind::Exp, g.scale(g.mul(x, x), -0.5)), 1 / kRoot2Pi);
  return g.add(cdf, g.mul(x, density));
}

/// The slope of each kind as a value; null where it is zero everywhere.
static Value unarySlope(GraphBuilder &g, UnaryOp op) {
  Value x = op.getInput(), y = op.getResult();
  Type type = x.getType();
  switch (op.getKind()) {
  case UnaryKind::Neg: return g.splat(type, -1);
  case UnaryKind::Exp: return y;
  case UnaryKind::Log: return g.unary(UnaryKind::Reciprocal, x);
  case UnaryKind::Sqrt: return g.div(g.splat(type, 0.5), y);
  case UnaryKind::Rsqrt: return g.scale(g.div(y, x), -0.5);
  case UnaryKind::Reciprocal: return g.unary(UnaryKind::Neg, g.mul(y, y));
  case UnaryKind::Tanh: return g.sub(g.splat(type, 1), g.mul(y, y));
  case UnaryKind::Erf: // 2 / sqrt(pi) exp(-x^2)
    return g.scale(g.unary(UnaryKind::Exp, g.unary(UnaryKind::Neg, g.mul(x, x))), 1.12837916709551257390);
  case UnaryKind::Sigmoid: return g.mul(y, g.sub(g.splat(type, 1), y));
  case UnaryKind::Sin: return g.unary(UnaryKind::Cos, x);
  case UnaryKind::Cos: return g.unary(UnaryKind::Neg, g.unary(UnaryKind::Sin, x));
  case UnaryKind::Abs: return g.unary(UnaryKind::Sign, x);
  case UnaryKind::Gelu: return geluSlope(g, x);
  case UnaryKind::GeluTanh: return geluTanhSlope(g, x);
  case UnaryKind::Silu: { // s (1 + x (1 - s))
    Value s = g.unary(UnaryKind::Sigmoid, x);
    return g.mul(s, g.addScalar(g.mul(x, g.sub(g.splat(type, 1), s)), 1));
  }
  case UnaryKind::Sign:
  case UnaryKind::Not:
  case UnaryKind::Relu:
    return {};
  }
  return {};
}

SmallVector<Value> UnaryOp::buildGradient(OpBuilder &builder, ValueRange gradients) {
  GraphBuilder g(builder, getLoc());
  if (!isFloat(getInput()))
    return {Value()};
  if (getKind() == UnaryKind::Neg)
    return {g.unary(UnaryKind::Neg, gradients[0])};
  if (getKind() == UnaryKind::Relu) {
    Value zero = g.splat(getType(), 0);
    return {g.select(g.compare(Predicate::Gt, getInput(), zero), gradients[0], zero)};
  }
  Value slope = unarySlope(g, *this);
  return {slope ? g.mul(gradients[0], slope) : g.splat(getType(), 0)};
}

/// pow: b constant: b x^(b-1), 0 for b = 0; otherwise also y log(x) for the exponent, 0 where x is 0 or less.
static SmallVector<Value> powGradient(GraphBuilder &g, BinaryOp op, Value gradient) {
  Value base = op.getLhs(), exponent = op.getRhs();
  double constant;
  if (matchSplat(exponent, constant)) {
    if (constant == 0)
      return {g.splat(base.getType(), 0), Value()};
    Value reduced = constant == 2   ? base
                    : constant == 1 ? g.splat(base.getType(), 1)
                                    : g.binary(BinaryKind::Pow, base, g.splat(base.getType(), constant - 1));
    return {g.mul(gradient, g.scale(reduced, constant)), Value()};
  }
  Value one = g.splat(base.getType(), 1), zero = g.splat(base.getType(), 0);
  // At x = 0 an exponent of 0 would give 0 times infinity.
  Value slope = g.mul(exponent, g.binary(BinaryKind::Pow, base, g.sub(exponent, one)));
  Value dBase = g.mul(gradient, g.select(g.compare(Predicate::Eq, exponent, zero), zero, slope));
  Value positive = g.compare(Predicate::Gt, base, zero);
  Value logarithm = g.unary(UnaryKind::Log, g.select(positive, base, one));
  return {dBase, g.select(positive, g.mul(gradient, g.mul(op.getResult(), logarithm)), zero)};
}

SmallVector<Value> BinaryOp::buildGradient(OpBuilder &builder, ValueRange gradients) {
  GraphBuilder g(builder, getLoc());
  Value dy = gradients[0], a = getLhs(), b = getRhs();
  if (!isFloat(a))
    return {Value(), Value()};
  switch (getKind()) {
  case BinaryKind::Add: return {dy, dy};
  case BinaryKind::Sub: return {dy, g.unary(UnaryKind::Neg, dy)};
  case BinaryKind::Mul: return {g.mul(dy, b), g.mul(dy, a)};
  case BinaryKind::Div: {
    Value scaled = g.div(dy, b);
    return {scaled, g.unary(UnaryKind::Neg, g.mul(scaled, getResult()))};
  }
  case BinaryKind::Max:
  case BinaryKind::Min: {
    Predicate wins = getKind() == BinaryKind::Max ? Predicate::Gt : Predicate::Lt;
    Value zero = g.splat(a.getType(), 0), half = g.scale(dy, 0.5);
    Value tie = g.compare(Predicate::Eq, a, b);
    return {g.select(tie, half, g.select(g.compare(wins, a, b), dy, zero)),
            g.select(tie, half, g.select(g.compare(wins, b, a), dy, zero))};
  }
  case BinaryKind::Pow: return powGradient(g, *this, dy);
  case BinaryKind::And:
  case BinaryKind::Or: return {Value(), Value()};
  }
  return {Value(), Value()};
}

SmallVector<Value> SelectOp::buildGradient(OpBuilder &builder, ValueRange gradients) {
  GraphBuilder g(builder, getLoc());
  if (!isFloat(getOnTrue()))
    return {Value(), Value(), Value()};
  Value zero = g.splat(getType(), 0);
  return {Value(), g.select(getCondition(), gradients[0], zero), g.select(getCondition(), zero, gradients[0])};
}

SmallVector<Value> ConvertOp::buildGradient(OpBuilder &builder, ValueRange gradients) {
  GraphBuilder g(builder, getLoc());
  if (!isFloat(getInput()) || !isFloat(getResult()))
    return {Value()};
  return {g.convert(gradients[0], elementOf(getInput()))};
}

} // namespace echelon::graph

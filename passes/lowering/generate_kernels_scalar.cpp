// SPDX-License-Identifier: Apache-2.0
//
// Scalar bodies of the elementwise graph ops.
#include "dialects/graph/builders.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/lowering/generate_kernels_emit.h"
#include <cmath>

using namespace mlir;
using namespace mlir::arith;
using namespace echelon::graph;

namespace echelon::lowering {

constexpr double kRootHalf = 0.70710678118654752440, kRoot8OverPi = 1.59576912160573071176, kGeluCubic = 0.044715;

/// Functions of floats that exist in every width.
static Value simpleUnary(ScalarMath &m, UnaryKind kind, Value x) {
  Type type = x.getType();
  switch (kind) {
  case UnaryKind::Neg: return m.builder.create<NegFOp>(m.loc, x);
  case UnaryKind::Abs: return m.abs(x);
  case UnaryKind::Sqrt: return m.sqrt(x);
  case UnaryKind::Rsqrt: return m.div(m.constant(type, 1), m.sqrt(x));
  case UnaryKind::Reciprocal: return m.div(m.constant(type, 1), x);
  case UnaryKind::Sign: {
    Value zero = m.constant(type, 0), one = m.copySign(m.constant(type, 1), x);
    // Zero and NaN stay what they are.
    return m.select(m.compare(CmpFPredicate::ONE, x, zero), one, x);
  }
  case UnaryKind::Relu: {
    Value zero = m.constant(type, 0);
    return m.select(m.compare(CmpFPredicate::OLT, x, zero), zero, x);
  }
  default: return {};
  }
}

static Value floatUnary(ScalarMath &m, UnaryKind kind, Value x) {
  if (Value simple = simpleUnary(m, kind, x))
    return simple;
  if (!x.getType().isF32())
    return {};
  switch (kind) {
  case UnaryKind::Exp: return m.exp(x);
  case UnaryKind::Log: return m.log(x);
  case UnaryKind::Tanh: return m.tanh(x);
  case UnaryKind::Erf: return m.erf(x);
  case UnaryKind::Sigmoid: return m.sigmoid(x);
  case UnaryKind::Sin: return m.sin(x);
  case UnaryKind::Cos: return m.cos(x);
  case UnaryKind::Silu: return m.mul(x, m.sigmoid(x));
  case UnaryKind::Gelu: {
    Value cdf = m.add(m.erf(m.mul(x, m.f32(kRootHalf))), m.f32(1));
    return m.mul(m.mul(x, m.f32(0.5)), cdf);
  }
  case UnaryKind::GeluTanh: {
    // (1 + tanh u) / 2 = sigmoid(2u), which keeps its digits in the left tail.
    Value cubic = m.fma(m.mul(x, x), m.f32(kGeluCubic), m.f32(1));
    return m.mul(x, m.sigmoid(m.mul(m.mul(x, m.f32(kRoot8OverPi)), cubic)));
  }
  default: return {};
  }
}

static Value integerUnary(ScalarMath &m, UnaryKind kind, Value x) {
  OpBuilder &b = m.builder;
  Value zero = m.constant(x.getType(), 0);
  auto below = [&](Value a, Value c) -> Value { return b.create<CmpIOp>(m.loc, CmpIPredicate::slt, a, c); };
  switch (kind) {
  case UnaryKind::Not: return b.create<XOrIOp>(m.loc, x, m.constant(x.getType(), 1));
  case UnaryKind::Neg: return b.create<SubIOp>(m.loc, zero, x);
  case UnaryKind::Abs: return m.select(below(x, zero), b.create<SubIOp>(m.loc, zero, x), x);
  case UnaryKind::Relu: return m.select(below(x, zero), zero, x);
  case UnaryKind::Sign: {
    Value positive = b.create<ExtUIOp>(m.loc, x.getType(), below(zero, x));
    Value negative = b.create<ExtUIOp>(m.loc, x.getType(), below(x, zero));
    return b.create<SubIOp>(m.loc, positive, negative);
  }
  default: return {};
  }
}

static Value floatBinary(ScalarMath &m, BinaryOp op, Value a, Value c) {
  switch (op.getKind()) {
  case BinaryKind::Add: return m.add(a, c);
  case BinaryKind::Sub: return m.sub(a, c);
  case BinaryKind::Mul: return m.mul(a, c);
  case BinaryKind::Div: return m.div(a, c);
  case BinaryKind::Max: return m.builder.create<MaximumFOp>(m.loc, a, c);
  case BinaryKind::Min: return m.builder.create<MinimumFOp>(m.loc, a, c);
  case BinaryKind::Pow: {
    double exponent;
    if (matchSplat(op.getRhs(), exponent))
      if (Value simple = m.powConstant(a, exponent))
        return simple;
    return a.getType().isF32() ? m.pow(a, c) : Value();
  }
  default: return {};
  }
}

static Value integerBinary(ScalarMath &m, BinaryKind kind, Value a, Value c) {
  OpBuilder &b = m.builder;
  switch (kind) {
  case BinaryKind::Add: return b.create<AddIOp>(m.loc, a, c);
  case BinaryKind::Sub: return b.create<SubIOp>(m.loc, a, c);
  case BinaryKind::Mul: return b.create<MulIOp>(m.loc, a, c);
  case BinaryKind::Div: return b.create<DivSIOp>(m.loc, a, c);
  case BinaryKind::Max: return b.create<MaxSIOp>(m.loc, a, c);
  case BinaryKind::Min: return b.create<MinSIOp>(m.loc, a, c);
  case BinaryKind::And: return b.create<AndIOp>(m.loc, a, c);
  case BinaryKind::Or: return b.create<OrIOp>(m.loc, a, c);
  case BinaryKind::Pow: return {};
  }
  return {};
}

static Value compareScalars(ScalarMath &m, Predicate predicate, Value a, Value c) {
  static constexpr CmpFPredicate kFloat[] = {CmpFPredicate::OEQ, CmpFPredicate::UNE, CmpFPredicate::OLT,
                                             CmpFPredicate::OLE, CmpFPredicate::OGT, CmpFPredicate::OGE};
  static constexpr CmpIPredicate kSigned[] = {CmpIPredicate::eq,  CmpIPredicate::ne,  CmpIPredicate::slt,
                                              CmpIPredicate::sle, CmpIPredicate::sgt, CmpIPredicate::sge};
  static constexpr CmpIPredicate kBool[] = {CmpIPredicate::eq,  CmpIPredicate::ne,  CmpIPredicate::ult,
                                            CmpIPredicate::ule, CmpIPredicate::ugt, CmpIPredicate::uge};
  size_t index = size_t(predicate);
  if (isa<FloatType>(a.getType()))
    return m.compare(kFloat[index], a, c);
  return m.builder.create<CmpIOp>(m.loc, a.getType().isInteger(1) ? kBool[index] : kSigned[index], a, c);
}

/// Between compute types; rounding to bf16 is done by the caller.
static Value convertScalar(ScalarMath &m, Value x, Type to) {
  OpBuilder &b = m.builder;
  Type from = x.getType();
  if (from == to)
    return x;
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  unsigned fromWidth = from.getIntOrFloatBitWidth(), toWidth = to.getIntOrFloatBitWidth();
  if (fromFloat && toFloat)
    return fromWidth < toWidth ? Value(b.create<ExtFOp>(m.loc, to, x)) : Value(b.create<TruncFOp>(m.loc, to, x));
  if (to.isInteger(1)) {
    Value zero = m.constant(from, 0);
    return fromFloat ? m.compare(CmpFPredicate::UNE, x, zero)
                     : Value(b.create<CmpIOp>(m.loc, CmpIPredicate::ne, x, zero));
  }
  if (fromFloat)
    return b.create<FPToSIOp>(m.loc, to, x);
  if (toFloat)
    return from.isInteger(1) ? m.select(x, m.constant(to, 1), m.constant(to, 0))
                             : Value(b.create<SIToFPOp>(m.loc, to, x));
  if (fromWidth > toWidth)
    return b.create<TruncIOp>(m.loc, to, x);
  return from.isInteger(1) ? Value(b.create<ExtUIOp>(m.loc, to, x)) : Value(b.create<ExtSIOp>(m.loc, to, x));
}

static Value splatScalar(ScalarMath &m, graph::ConstantOp op) {
  auto elements = dyn_cast<SplatElementsAttr>(op.getValue());
  if (!elements)
    return {};
  Type type = ScalarMath::computeType(elements.getElementType());
  if (isa<FloatType>(type))
    return m.constant(type, elements.getSplatValue<APFloat>().convertToDouble());
  return m.builder.create<arith::ConstantOp>(m.loc, IntegerAttr::get(type, elements.getSplatValue<APInt>()));
}

Value emitScalar(ScalarMath &m, Operation *op, ValueRange operands) {
  bool onFloat = !operands.empty() && isa<FloatType>(operands[0].getType());
  Value result;
  if (auto unary = dyn_cast<UnaryOp>(op))
    result = onFloat ? floatUnary(m, unary.getKind(), operands[0]) : integerUnary(m, unary.getKind(), operands[0]);
  else if (auto binary = dyn_cast<BinaryOp>(op))
    result = onFloat ? floatBinary(m, binary, operands[0], operands[1])
                     : integerBinary(m, binary.getKind(), operands[0], operands[1]);
  else if (auto compare = dyn_cast<CompareOp>(op))
    return compareScalars(m, compare.getPredicate(), operands[0], operands[1]);
  else if (isa<graph::SelectOp>(op))
    return m.select(operands[0], operands[1], operands[2]);
  else if (isa<ConvertOp>(op))
    result = convertScalar(m, operands[0], ScalarMath::computeType(elementOf(op->getResult(0))));
  else if (auto constant = dyn_cast<graph::ConstantOp>(op))
    return splatScalar(m, constant);
  else if (isa<BroadcastOp, ReduceOp>(op)) // a reduction over dims of size 1
    return operands[0];
  return result && elementOf(op->getResult(0)).isBF16() ? m.roundToBf16(result) : result;
}

Value emitCombine(ScalarMath &m, ReduceKind kind, Value a, Value b) {
  auto flags = FastMathFlags::reassoc | FastMathFlags::contract;
  if (kind == ReduceKind::Max) // a NaN stays visible
    return m.builder.create<MaximumFOp>(m.loc, a, b);
  return m.builder.create<AddFOp>(m.loc, a, b, FastMathFlagsAttr::get(m.builder.getContext(), flags));
}

Value emitNeutral(ScalarMath &m, ReduceKind kind, Type type) {
  return m.constant(type, kind == ReduceKind::Max ? -INFINITY : 0);
}

} // namespace echelon::lowering

// SPDX-License-Identifier: Apache-2.0
//
// Pointwise ops. Broadcasting becomes explicit; powers with a constant exponent
// become products and roots.
#include "compiler/onnx/fold.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace llvm;
using mlir::Value;

namespace echelon::onnx_import {

using graph::BinaryKind;
using graph::UnaryKind;

static BinaryKind binaryKind(StringRef op) {
  return StringSwitch<BinaryKind>(op)
      .Cases("Add", "Sum", "Mean", BinaryKind::Add)
      .Case("Sub", BinaryKind::Sub)
      .Case("Mul", BinaryKind::Mul)
      .Case("Div", BinaryKind::Div)
      .Case("Max", BinaryKind::Max)
      .Case("Min", BinaryKind::Min)
      .Cases("And", "BitwiseAnd", BinaryKind::And)
      .Default(BinaryKind::Or);
}

static Shape commonShapeOfAll(ImportCall &call) {
  Shape shape = call.shape(0);
  for (unsigned index = 1; index < call.node.inputs.size(); ++index) {
    shape = commonShape(shape, call.shape(index), call);
    if (call.type(index) != call.type(0))
      call.fail(Twine("has operands of types ") + nameOf(call.type(0)) +
                " and " + nameOf(call.type(index)));
  }
  return shape;
}

static void importBinary(ImportCall &call) {
  StringRef op = call.node.op;
  Shape shape = commonShapeOfAll(call);
  bool isLogic = op.ends_with("And") || op.ends_with("Or");
  if (isLogic && call.type(0) != DataType::Bool)
    call.fail(Twine("on ") + nameOf(call.type(0)) +
              " data is not supported; on bool it is");
  if (!isLogic && call.type(0) == DataType::Bool)
    call.fail("is not defined for bool");
  Position position = op == "Add" || op == "Sum" ? Position::Add
                      : op == "Mul"              ? Position::Mul
                                                 : Position::Other;
  BinaryKind kind = binaryKind(op);
  Value result = call.value(0, shape, position);
  for (unsigned index = 1; index < call.node.inputs.size(); ++index)
    result = call.g.binary(kind, result, call.value(index, shape, position));
  if (op == "Mean")
    result = call.g.scale(result, 1.0 / double(call.node.inputs.size()));
  call.set(0, result);
}

static void importPow(ImportCall &call) {
  Shape shape = commonShape(call.shape(0), call.shape(1), call);
  Value base = call.value(0, shape);
  std::optional<double> exponent = call.splat(1);
  if (!exponent) {
    Value power = call.value(1, shape);
    call.set(0, call.g.binary(BinaryKind::Pow, base,
                              call.g.convert(power, graph::elementOf(base))));
    return;
  }
  auto &g = call.g;
  if (*exponent == 1)
    call.set(0, base);
  else if (*exponent == 2)
    call.set(0, g.mul(base, base));
  else if (*exponent == 3)
    call.set(0, g.mul(g.mul(base, base), base));
  else if (*exponent == 0.5)
    call.set(0, g.unary(UnaryKind::Sqrt, base));
  else if (*exponent == -0.5)
    call.set(0, g.unary(UnaryKind::Rsqrt, base));
  else if (*exponent == -1)
    call.set(0, g.unary(UnaryKind::Reciprocal, base));
  else
    call.set(
        0, g.binary(BinaryKind::Pow, base, g.splat(base.getType(), *exponent)));
}

static UnaryKind unaryKind(StringRef op) {
  return StringSwitch<UnaryKind>(op)
      .Case("Neg", UnaryKind::Neg)
      .Case("Exp", UnaryKind::Exp)
      .Case("Log", UnaryKind::Log)
      .Case("Sqrt", UnaryKind::Sqrt)
      .Case("Reciprocal", UnaryKind::Reciprocal)
      .Case("Tanh", UnaryKind::Tanh)
      .Case("Erf", UnaryKind::Erf)
      .Case("Sigmoid", UnaryKind::Sigmoid)
      .Case("Sin", UnaryKind::Sin)
      .Case("Cos", UnaryKind::Cos)
      .Case("Abs", UnaryKind::Abs)
      .Case("Sign", UnaryKind::Sign)
      .Case("Relu", UnaryKind::Relu)
      .Default(UnaryKind::Not);
}

static void importUnary(ImportCall &call) {
  bool isLogic = call.node.op == "Not";
  bool takesIntegers = StringSwitch<bool>(call.node.op)
                           .Cases("Neg", "Abs", "Sign", "Relu", true)
                           .Default(false);
  DataType type = call.type(0);
  if (isLogic ? type != DataType::Bool
              : type == DataType::Bool || (!isFloat(type) && !takesIntegers))
    call.fail(Twine("is not defined for ") + nameOf(type));
  call.set(0, call.g.unary(unaryKind(call.node.op), call.value(0)));
}

static void importGelu(ImportCall &call) {
  call.requireFloats({0});
  bool isTanh = call.textAttr("approximate", "none") == "tanh";
  call.set(0, call.g.unary(isTanh ? UnaryKind::GeluTanh : UnaryKind::Gelu,
                           call.value(0)));
}

/// x sigmoid(alpha x).
static void importSwish(ImportCall &call) {
  call.requireFloats({0});
  double alpha = call.floatAttr("alpha", 1);
  Value x = call.value(0);
  if (alpha == 1) {
    call.set(0, call.g.unary(UnaryKind::Silu, x));
    return;
  }
  Value gate = call.g.unary(UnaryKind::Sigmoid, call.g.scale(x, alpha));
  call.set(0, call.g.mul(x, gate));
}

/// log(1 + exp(x)) as max(x, 0) + log(1 + exp(-|x|)), which cannot overflow.
static void importSoftplus(ImportCall &call) {
  call.requireFloats({0});
  auto &g = call.g;
  Value x = call.value(0);
  Value tail = g.unary(UnaryKind::Neg, g.unary(UnaryKind::Abs, x));
  Value log =
      g.unary(UnaryKind::Log, g.addScalar(g.unary(UnaryKind::Exp, tail), 1));
  call.set(0, g.add(g.unary(UnaryKind::Relu, x), log));
}

static void importLeakyRelu(ImportCall &call) {
  call.requireFloats({0});
  auto &g = call.g;
  Value x = call.value(0);
  Value isPositive =
      g.compare(graph::Predicate::Gt, x, g.splat(x.getType(), 0));
  call.set(0,
           g.select(isPositive, x, g.scale(x, call.floatAttr("alpha", 0.01))));
}

static void importClip(ImportCall &call) {
  Value x = call.value(0);
  auto bound = [&](unsigned index, const char *name) -> std::optional<double> {
    if (call.has(index)) {
      std::optional<double> value = call.splat(index);
      if (!value)
        call.fail(Twine(name) + " must be a constant scalar");
      return value;
    }
    double value = call.floatAttr(name, NAN);
    return std::isnan(value) ? std::nullopt : std::optional<double>(value);
  };
  if (std::optional<double> low = bound(1, "min"))
    x = call.g.binary(BinaryKind::Max, x, call.g.splat(x.getType(), *low));
  if (std::optional<double> high = bound(2, "max"))
    x = call.g.binary(BinaryKind::Min, x, call.g.splat(x.getType(), *high));
  call.set(0, x);
}

static void importCompare(ImportCall &call) {
  graph::Predicate predicate = StringSwitch<graph::Predicate>(call.node.op)
                                   .Case("Equal", graph::Predicate::Eq)
                                   .Case("Less", graph::Predicate::Lt)
                                   .Case("LessOrEqual", graph::Predicate::Le)
                                   .Case("Greater", graph::Predicate::Gt)
                                   .Default(graph::Predicate::Ge);
  Shape shape = commonShapeOfAll(call);
  call.set(
      0, call.g.compare(predicate, call.value(0, shape), call.value(1, shape)));
}

static void importIsNan(ImportCall &call) {
  Value x = call.value(0);
  call.set(0, call.g.compare(graph::Predicate::Ne, x, x));
}

static void importWhere(ImportCall &call) {
  Shape shape = commonShape(commonShape(call.shape(1), call.shape(2), call),
                            call.shape(0), call);
  if (call.type(1) != call.type(2) || call.type(0) != DataType::Bool)
    call.fail(Twine("has types ") + nameOf(call.type(0)) + ", " +
              nameOf(call.type(1)) + " and " + nameOf(call.type(2)));
  if (std::optional<double> condition = call.splat(0)) {
    call.set(0, call.value(*condition != 0 ? 1 : 2, shape));
    return;
  }
  call.set(0, call.g.select(call.value(0, shape), call.value(1, shape),
                            call.value(2, shape)));
}

static void importCast(ImportCall &call) {
  DataType to = call.node.op == "CastLike"
                    ? call.type(1)
                    : dataTypeOf(int(call.intAttr("to", 0)),
                                 call.model.describe(call.node));
  Value x = call.value(0);
  mlir::Type element = elementType(call.g.builder, to);
  if (to == DataType::Bool && call.type(0) != DataType::Bool) {
    // Any value but 0 is true.
    call.set(0, call.g.compare(graph::Predicate::Ne, x,
                               call.g.splat(x.getType(), 0)));
    return;
  }
  call.set(0, call.g.convert(x, element));
}

static void importIdentity(ImportCall &call) { call.set(0, call.value(0)); }

/// Inference form: identity. Opset 12 moved ratio and mode to inputs.
static void importDropout(ImportCall &call) {
  bool isTraining = call.has(2) && call.splat(2).value_or(1) != 0;
  double ratio =
      call.has(1) ? call.splat(1).value_or(1) : call.floatAttr("ratio", 0.5);
  if (isTraining && ratio != 0 && call.honoursDropout())
    call.fail("in training mode (ratio " + std::to_string(ratio) +
              ") is a later step; export in eval mode, or set dropout to \"off\"");
  call.set(0, call.value(0));
  if (call.wants(1)) {
    auto type = mlir::cast<mlir::RankedTensorType>(call.value(0).getType());
    call.set(1, call.g.splat(type.clone(call.g.builder.getI1Type()), 1));
  }
}

ArrayRef<OpRow> elementwiseRows() {
  static const OpRow rows[] = {
      {"Add", 7, importBinary, foldBinary},
      {"Sub", 7, importBinary, foldBinary},
      {"Mul", 7, importBinary, foldBinary},
      {"Div", 7, importBinary, foldBinary},
      {"Max", 6, importBinary, foldBinary},
      {"Min", 6, importBinary, foldBinary},
      {"Sum", 6, importBinary, foldBinary},
      {"Mean", 6, importBinary, foldBinary},
      {"And", 7, importBinary, foldLogic},
      {"Or", 7, importBinary, foldLogic},
      {"BitwiseAnd", 18, importBinary, foldLogic},
      {"BitwiseOr", 18, importBinary, foldLogic},
      {"Xor", 7, nullptr, foldLogic},
      {"Mod", 10, nullptr, foldBinary},
      {"Pow", 7, importPow, foldBinary},
      {"Neg", 6, importUnary, foldUnary},
      {"Exp", 6, importUnary, foldUnary},
      {"Log", 6, importUnary, foldUnary},
      {"Sqrt", 6, importUnary, foldUnary},
      {"Reciprocal", 6, importUnary, foldUnary},
      {"Tanh", 6, importUnary, foldUnary},
      {"Erf", 9, importUnary, foldUnary},
      {"Sigmoid", 6, importUnary, foldUnary},
      {"Sin", 7, importUnary, foldUnary},
      {"Cos", 7, importUnary, foldUnary},
      {"Abs", 6, importUnary, foldUnary},
      {"Sign", 9, importUnary, foldUnary},
      {"Relu", 6, importUnary, foldUnary},
      {"Not", 1, importUnary, foldUnary},
      {"Floor", 6, nullptr, foldUnary},
      {"Ceil", 6, nullptr, foldUnary},
      {"Round", 11, nullptr, foldUnary},
      {"IsNaN", 9, importIsNan, foldUnary},
      {"IsInf", 10, nullptr, foldUnary},
      {"Gelu", 20, importGelu, nullptr},
      {"Swish", 24, importSwish, nullptr},
      {"Softplus", 1, importSoftplus, foldUnary},
      {"LeakyRelu", 6, importLeakyRelu, nullptr},
      {"Clip", 6, importClip, foldClip},
      {"Equal", 7, importCompare, foldCompare},
      {"Less", 7, importCompare, foldCompare},
      {"Greater", 7, importCompare, foldCompare},
      {"LessOrEqual", 12, importCompare, foldCompare},
      {"GreaterOrEqual", 12, importCompare, foldCompare},
      {"Where", 9, importWhere, foldWhere},
      {"Cast", 6, importCast, foldCast},
      {"CastLike", 15, importCast, foldCast},
      {"Identity", 1, importIdentity, foldIdentity},
      {"Dropout", 7, importDropout, foldIdentity},
  };
  return rows;
}

} // namespace echelon::onnx_import

// SPDX-License-Identifier: Apache-2.0
//
// Pointwise ops on the host.
#include "compiler/onnx/fold.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace llvm;

namespace echelon::onnx_import {

std::vector<int64_t> broadcastOffsets(ArrayRef<int64_t> shape,
                                      ArrayRef<int64_t> result) {
  Shape own = stridesOf(shape), strides(result.size(), 0);
  size_t lead = result.size() - shape.size();
  for (size_t dim = 0; dim < shape.size(); ++dim)
    strides[lead + dim] = shape[dim] == 1 ? 0 : own[dim];
  requireFoldable(elementsOf(result));
  std::vector<int64_t> offsets(elementsOf(result));
  Shape at(result.size(), 0);
  int64_t offset = 0;
  for (int64_t &each : offsets) {
    each = offset;
    for (size_t dim = result.size(); dim-- > 0;) {
      offset += strides[dim];
      if (++at[dim] < result[dim])
        break;
      offset -= strides[dim] * result[dim];
      at[dim] = 0;
    }
  }
  return offsets;
}

/// Common shape of two inputs and the offsets of each.
namespace {
struct Pairing {
  Shape shape;
  std::vector<int64_t> left, right;
};
} // namespace

static Pairing pair(FoldCall &call, const HostTensor &a, const HostTensor &b) {
  Shape shape = commonShape(a.shape, b.shape, call);
  return {shape, broadcastOffsets(a.shape, shape),
          broadcastOffsets(b.shape, shape)};
}

using RealFunction = double (*)(double, double);

static double maxReal(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
}
static double minReal(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
}

static RealFunction realFunction(StringRef op) {
  return StringSwitch<RealFunction>(op)
      .Cases("Add", "Sum", "Mean", [](double a, double b) { return a + b; })
      .Case("Sub", [](double a, double b) { return a - b; })
      .Case("Mul", [](double a, double b) { return a * b; })
      .Case("Div", [](double a, double b) { return a / b; })
      .Case("Pow", [](double a, double b) { return std::pow(a, b); })
      .Case("Mod", [](double a, double b) { return std::fmod(a, b); })
      .Case("Max", maxReal)
      .Case("Min", minReal)
      .Default(nullptr);
}

static int64_t powInteger(int64_t base, int64_t exponent) {
  uint64_t result = 1, factor = uint64_t(base);
  for (; exponent > 0; exponent >>= 1, factor *= factor)
    if (exponent & 1)
      result *= factor;
  return int64_t(result);
}

/// Wrapping arithmetic: overflow is defined as in two's complement.
static int64_t applyInteger(FoldCall &call, StringRef op, int64_t a,
                            int64_t b) {
  if (op == "Add" || op == "Sum" || op == "Mean")
    return int64_t(uint64_t(a) + uint64_t(b));
  if (op == "Sub")
    return int64_t(uint64_t(a) - uint64_t(b));
  if (op == "Mul")
    return int64_t(uint64_t(a) * uint64_t(b));
  if (op == "Max")
    return std::max(a, b);
  if (op == "Min")
    return std::min(a, b);
  if (op == "Pow")
    return powInteger(a, b);
  if (b == 0)
    call.fail("divides an integer by 0");
  if (b == -1)
    return op == "Div" ? int64_t(0 - uint64_t(a)) : 0;
  if (op == "Div")
    return a / b;
  int64_t rest = a % b;
  bool takesSignOfDivisor = !call.intAttr("fmod", 0);
  return takesSignOfDivisor && rest && (rest < 0) != (b < 0) ? rest + b : rest;
}

static HostTensor combine(FoldCall &call, const HostTensor &a,
                          const HostTensor &b) {
  if (a.type != b.type && call.node.op != "Pow")
    call.fail(Twine("has operands of types ") + nameOf(a.type) + " and " +
              nameOf(b.type));
  Pairing pairing = pair(call, a, b);
  size_t count = pairing.left.size();
  StringRef op = call.node.op;
  if (isFloat(a.type) || isFloat(b.type)) {
    RealFunction function = realFunction(op);
    if (op == "Mod" && !call.intAttr("fmod", 0))
      function = [](double a, double b) { return a - std::floor(a / b) * b; };
    std::vector<double> left = a.reals(), right = b.reals(), values(count);
    for (size_t i = 0; i < count; ++i)
      values[i] = function(left[pairing.left[i]], right[pairing.right[i]]);
    return HostTensor::fromReals(a.type, pairing.shape, values);
  }
  std::vector<int64_t> left = a.integers(), right = b.integers(), values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] =
        applyInteger(call, op, left[pairing.left[i]], right[pairing.right[i]]);
  return HostTensor::fromIntegers(a.type, pairing.shape, values);
}

void foldBinary(FoldCall &call) {
  HostTensor result = call.constant(0);
  unsigned count = call.node.inputs.size();
  for (unsigned index = 1; index < count; ++index)
    result = combine(call, result, call.constant(index));
  if (call.node.op == "Mean") {
    std::vector<double> values = result.reals();
    for (double &value : values)
      value /= count;
    result = HostTensor::fromReals(result.type, result.shape, values);
  }
  call.set(0, result);
}

template <typename T> static bool compare(StringRef op, T a, T b) {
  if (op == "Equal")
    return a == b;
  if (op == "Less")
    return a < b;
  if (op == "Greater")
    return a > b;
  return op == "LessOrEqual" ? a <= b : a >= b;
}

void foldCompare(FoldCall &call) {
  const HostTensor &a = call.constant(0), &b = call.constant(1);
  if (a.type != b.type)
    call.fail(Twine("compares ") + nameOf(a.type) + " with " + nameOf(b.type));
  Pairing pairing = pair(call, a, b);
  std::vector<int64_t> values(pairing.left.size());
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t left = pairing.left[i], right = pairing.right[i];
    values[i] = isFloat(a.type)
                    ? compare(call.node.op, a.real(left), b.real(right))
                    : compare(call.node.op, a.integer(left), b.integer(right));
  }
  call.set(0, HostTensor::fromIntegers(DataType::Bool, pairing.shape, values));
}

void foldLogic(FoldCall &call) {
  const HostTensor &a = call.constant(0), &b = call.constant(1);
  if (isFloat(a.type) || a.type != b.type)
    call.fail(Twine("has operands of types ") + nameOf(a.type) + " and " +
              nameOf(b.type));
  Pairing pairing = pair(call, a, b);
  std::vector<int64_t> values(pairing.left.size());
  StringRef op = call.node.op;
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t left = a.integer(pairing.left[i]);
    int64_t right = b.integer(pairing.right[i]);
    values[i] = op.ends_with("And")                          ? left & right
                : op.ends_with("Or") && !op.ends_with("Xor") ? left | right
                                                             : left ^ right;
  }
  call.set(0, HostTensor::fromIntegers(a.type, pairing.shape, values));
}

static double gelu(double x) {
  return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
}

using UnaryFunction = double (*)(double);

static UnaryFunction unaryFunction(StringRef op) {
  return StringSwitch<UnaryFunction>(op)
      .Case("Neg", [](double x) { return -x; })
      .Case("Abs", [](double x) { return std::fabs(x); })
      .Case("Exp", [](double x) { return std::exp(x); })
      .Case("Log", [](double x) { return std::log(x); })
      .Case("Sqrt", [](double x) { return std::sqrt(x); })
      .Case("Reciprocal", [](double x) { return 1 / x; })
      .Case("Sin", [](double x) { return std::sin(x); })
      .Case("Cos", [](double x) { return std::cos(x); })
      .Case("Tanh", [](double x) { return std::tanh(x); })
      .Case("Erf", [](double x) { return std::erf(x); })
      .Case("Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); })
      .Case("Relu", [](double x) { return x > 0    ? x
                                          : x != x ? x
                                                   : 0.0; })
      .Case("Softplus", [](double x) { return std::log1p(std::exp(x)); })
      .Case("Floor", [](double x) { return std::floor(x); })
      .Case("Ceil", [](double x) { return std::ceil(x); })
      .Case("Round", [](double x) { return std::nearbyint(x); })
      .Case("Sign", [](double x) { return double((x > 0) - (x < 0)); })
      .Case("Gelu", gelu)
      .Default(nullptr);
}

void foldUnary(FoldCall &call) {
  const HostTensor &input = call.constant(0);
  StringRef op = call.node.op;
  if (op == "Not" || op == "IsNaN" || op == "IsInf") {
    bool negative = call.intAttr("detect_negative", 1);
    bool positive = call.intAttr("detect_positive", 1);
    requireFoldable(input.size());
    std::vector<int64_t> values(input.size());
    for (size_t i = 0; i < values.size(); ++i) {
      double x = input.real(i);
      values[i] = op == "Not" ? x == 0
                  : op == "IsNaN"
                      ? std::isnan(x)
                      : std::isinf(x) && (x > 0 ? positive : negative);
    }
    call.set(0, HostTensor::fromIntegers(DataType::Bool, input.shape, values));
    return;
  }
  if (!isFloat(input.type)) {
    std::vector<int64_t> values = input.integers();
    for (int64_t &value : values) {
      if (op == "Neg" || (op == "Abs" && value < 0))
        value = int64_t(0 - uint64_t(value));
      else if (op == "Sign")
        value = (value > 0) - (value < 0);
      else if (op == "Relu")
        value = std::max<int64_t>(value, 0);
      else if (op != "Abs")
        call.fail(Twine("is not defined for ") + nameOf(input.type));
    }
    call.set(0, HostTensor::fromIntegers(input.type, input.shape, values));
    return;
  }
  UnaryFunction function = unaryFunction(op);
  std::vector<double> values = input.reals();
  for (double &value : values)
    value = function(value);
  call.set(0, HostTensor::fromReals(input.type, input.shape, values));
}

void foldCast(FoldCall &call) {
  const HostTensor &input = call.constant(0);
  DataType to = call.node.op == "CastLike"
                    ? call.info(1).type
                    : dataTypeOf(int(call.intAttr("to", 0)),
                                 call.model.describe(call.node));
  if (to == input.type)
    call.set(0, input);
  else if (isFloat(input.type) && !isFloat(to) && to != DataType::Bool)
    call.set(0, HostTensor::fromIntegers(to, input.shape, input.integers()));
  else if (isFloat(input.type))
    call.set(0, HostTensor::fromReals(to, input.shape, input.reals()));
  else
    call.set(0, HostTensor::fromIntegers(to, input.shape, input.integers()));
}

void foldWhere(FoldCall &call) {
  const HostTensor &condition = call.constant(0), &onTrue = call.constant(1),
                   &onFalse = call.constant(2);
  if (onTrue.type != onFalse.type)
    call.fail(Twine("chooses between ") + nameOf(onTrue.type) + " and " +
              nameOf(onFalse.type));
  Shape shape = commonShape(commonShape(onTrue.shape, onFalse.shape, call),
                            condition.shape, call);
  int64_t width = bytesOf(onTrue.type);
  uint8_t *bytes;
  HostTensor result = HostTensor::allocate(onTrue.type, shape, bytes);
  std::vector<int64_t> at = broadcastOffsets(condition.shape, shape),
                       left = broadcastOffsets(onTrue.shape, shape),
                       right = broadcastOffsets(onFalse.shape, shape);
  for (size_t i = 0; i < at.size(); ++i) {
    const uint8_t *from = condition.integer(at[i])
                              ? onTrue.data + left[i] * width
                              : onFalse.data + right[i] * width;
    std::memcpy(bytes + i * width, from, width);
  }
  call.set(0, result);
}

void foldClip(FoldCall &call) {
  const HostTensor &input = call.constant(0);
  double low =
      call.has(1) ? call.constant(1).real(0) : call.floatAttr("min", -INFINITY);
  double high =
      call.has(2) ? call.constant(2).real(0) : call.floatAttr("max", INFINITY);
  std::vector<double> values = input.reals();
  for (double &value : values)
    value = std::isnan(value) ? value : std::min(std::max(value, low), high);
  call.set(0, HostTensor::fromReals(input.type, input.shape, values));
}

} // namespace echelon::onnx_import

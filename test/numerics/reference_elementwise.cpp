// SPDX-License-Identifier: Apache-2.0
//
// Pointwise ops of the reference interpreter.
#include "test/numerics/reference_ops.h"
#include <cmath>

using namespace llvm;

namespace echelon::test {

static mlir::Type elementOf(mlir::Type type) {
  return mlir::cast<mlir::RankedTensorType>(type).getElementType();
}

static double apply(graph::UnaryKind kind, double x) {
  using Kind = graph::UnaryKind;
  switch (kind) {
  case Kind::Neg:
    return -x;
  case Kind::Exp:
    return std::exp(x);
  case Kind::Log:
    return std::log(x);
  case Kind::Sqrt:
    return std::sqrt(x);
  case Kind::Rsqrt:
    return 1 / std::sqrt(x);
  case Kind::Reciprocal:
    return 1 / x;
  case Kind::Tanh:
    return std::tanh(x);
  case Kind::Erf:
    return std::erf(x);
  case Kind::Sigmoid:
    return 1 / (1 + std::exp(-x));
  case Kind::Sin:
    return std::sin(x);
  case Kind::Cos:
    return std::cos(x);
  case Kind::Abs:
    return std::fabs(x);
  case Kind::Sign:
    return std::isnan(x) ? x : double((x > 0) - (x < 0));
  case Kind::Not:
    return x == 0;
  // erfc keeps the digits of the left tail.
  case Kind::Gelu:
    return x / 2 * std::erfc(-x * M_SQRT1_2);
  case Kind::GeluTanh:
    return x / 2 *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  case Kind::Silu:
    return x / (1 + std::exp(-x));
  case Kind::Relu:
    return std::isnan(x) || x > 0 ? x : 0;
  }
  return NAN;
}

static double apply(graph::BinaryKind kind, double a, double b) {
  using Kind = graph::BinaryKind;
  bool isNan = std::isnan(a) || std::isnan(b);
  switch (kind) {
  case Kind::Add:
    return a + b;
  case Kind::Sub:
    return a - b;
  case Kind::Mul:
    return a * b;
  case Kind::Div:
    return a / b;
  case Kind::Max:
    return isNan ? NAN : std::max(a, b);
  case Kind::Min:
    return isNan ? NAN : std::min(a, b);
  case Kind::Pow:
    return std::pow(a, b);
  case Kind::And:
    return a != 0 && b != 0;
  case Kind::Or:
    return a != 0 || b != 0;
  }
  return NAN;
}

static bool apply(graph::Predicate predicate, double a, double b) {
  using Kind = graph::Predicate;
  switch (predicate) {
  case Kind::Eq:
    return a == b;
  case Kind::Ne:
    return a != b;
  case Kind::Lt:
    return a < b;
  case Kind::Le:
    return a <= b;
  case Kind::Gt:
    return a > b;
  case Kind::Ge:
    return a >= b;
  }
  return false;
}

template <typename Function>
static RefResults map(const RefTensor &like, Function function) {
  RefTensor result = like;
  for (size_t i = 0; i < result.values.size(); ++i)
    result.values[i] = function(i);
  return std::vector<RefTensor>{std::move(result)};
}

RefResults evaluate(graph::UnaryOp op, RefOperands in) {
  return map(in[0],
             [&](size_t i) { return apply(op.getKind(), in[0].values[i]); });
}

/// Integers divide towards zero.
RefResults evaluate(graph::BinaryOp op, RefOperands in) {
  const std::vector<double> &a = in[0].values, &b = in[1].values;
  if (op.getKind() == graph::BinaryKind::Div &&
      mlir::isa<mlir::IntegerType>(elementOf(op.getType()))) {
    if (is_contained(b, 0.0))
      return createStringError("integer division by zero");
    return map(in[0], [&](size_t i) { return std::trunc(a[i] / b[i]); });
  }
  return map(in[0], [&](size_t i) { return apply(op.getKind(), a[i], b[i]); });
}

RefResults evaluate(graph::CompareOp op, RefOperands in) {
  return map(in[0], [&](size_t i) {
    return double(apply(op.getPredicate(), in[0].values[i], in[1].values[i]));
  });
}

RefResults evaluate(graph::SelectOp, RefOperands in) {
  return map(in[0], [&](size_t i) {
    return (in[0].values[i] != 0 ? in[1] : in[2]).values[i];
  });
}

/// Floats of any width keep their value: the interpreter does not round.
RefResults evaluate(graph::ConvertOp op, RefOperands in) {
  mlir::Type to = elementOf(op.getType());
  return map(in[0], [&](size_t i) {
    double x = in[0].values[i];
    if (to.isInteger(1))
      return double(x != 0);
    return mlir::isa<mlir::IntegerType>(to) ? std::trunc(x) : x;
  });
}

} // namespace echelon::test

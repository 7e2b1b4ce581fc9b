// SPDX-License-Identifier: Apache-2.0
//
// The double reference of fused groups, with error bounds.
#include "test/numerics/fused/fused_reference.h"
#include "dialects/graph/builders.h"
#include <cmath>

using namespace mlir;
using namespace echelon::graph;

namespace echelon::test {

/// Half an ulp, relative; what one function of the math file may add, in half ulps (3 ulp); and half an ulp of bf16.
static constexpr double kUnit = 0x1p-24, kFunction = 6;

llvm::SmallVector<int64_t> denseStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

int64_t flatten(ArrayRef<int64_t> index, ArrayRef<int64_t> strides) {
  int64_t offset = 0;
  for (auto [position, stride] : llvm::zip_equal(index, strides))
    offset += position * stride;
  return offset;
}

bool advance(SmallVectorImpl<int64_t> &index, ArrayRef<int64_t> shape) {
  for (size_t dim = shape.size(); dim-- > 0;) {
    if (++index[dim] < shape[dim])
      return true;
    index[dim] = 0;
  }
  return false;
}

namespace {

double apply(UnaryKind kind, double x) {
  switch (kind) {
  case UnaryKind::Neg: return -x;
  case UnaryKind::Exp: return std::exp(x);
  case UnaryKind::Log: return std::log(x);
  case UnaryKind::Sqrt: return std::sqrt(x);
  case UnaryKind::Rsqrt: return 1 / std::sqrt(x);
  case UnaryKind::Reciprocal: return 1 / x;
  case UnaryKind::Tanh: return std::tanh(x);
  case UnaryKind::Erf: return std::erf(x);
  case UnaryKind::Sigmoid: return 1 / (1 + std::exp(-x));
  case UnaryKind::Sin: return std::sin(x);
  case UnaryKind::Cos: return std::cos(x);
  case UnaryKind::Abs: return std::fabs(x);
  case UnaryKind::Sign: return x > 0 ? 1 : x < 0 ? -1 : x;
  case UnaryKind::Not: return x == 0;
  case UnaryKind::Gelu: return 0.5 * x * (1 + std::erf(x * M_SQRT1_2));
  case UnaryKind::GeluTanh: return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  case UnaryKind::Silu: return x / (1 + std::exp(-x));
  case UnaryKind::Relu: return x < 0 ? 0 : x;
  }
  return NAN;
}

double apply(BinaryKind kind, double a, double b) {
  switch (kind) {
  case BinaryKind::Add: return a + b;
  case BinaryKind::Sub: return a - b;
  case BinaryKind::Mul: return a * b;
  case BinaryKind::Div: return a / b;
  case BinaryKind::Max: return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
  case BinaryKind::Min: return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
  case BinaryKind::Pow: return std::pow(a, b);
  case BinaryKind::And: return a != 0 && b != 0;
  case BinaryKind::Or: return a != 0 || b != 0;
  }
  return NAN;
}

bool apply(Predicate predicate, double a, double b) {
  switch (predicate) {
  case Predicate::Eq: return a == b;
  case Predicate::Ne: return a != b;
  case Predicate::Lt: return a < b;
  case Predicate::Le: return a <= b;
  case Predicate::Gt: return a > b;
  case Predicate::Ge: return a >= b;
  }
  return false;
}

class Evaluator {
public:
  std::vector<Bounded> run(func::FuncOp function, const std::vector<std::vector<double>> &arguments) {
    for (auto [argument, data] : llvm::zip_equal(function.getArguments(), arguments))
      values[argument] = {data, std::vector<double>(data.size(), 0)};
    Block &block = function.getBody().front();
    for (Operation &op : block.without_terminator())
      step(&op);
    std::vector<Bounded> results;
    for (Value value : block.getTerminator()->getOperands())
      results.push_back(values[value]);
    return results;
  }

private:
  Bounded &of(Value value) { return values[value]; }

  template <typename Function> Bounded pointwise(Operation *op, Function function) {
    Bounded out;
    size_t count = cast<RankedTensorType>(op->getResult(0).getType()).getNumElements();
    double store = elementOf(op->getResult(0)).isBF16() ? 0x1p-9 : 0;
    for (size_t i = 0; i < count; ++i) {
      auto [value, error] = function(i);
      out.values.push_back(value);
      out.errors.push_back(error + store * std::fabs(value));
    }
    return out;
  }

  void step(Operation *op);
  Bounded unary(UnaryOp op);
  Bounded binary(BinaryOp op);
  Bounded reduce(Value input, ReduceKind kind, ArrayRef<int64_t> dims);
  Bounded spread(BroadcastOp op);
  Bounded slice(SliceOp op);
  Bounded normalize(Operation *op, bool centre, double epsilon);
  Bounded softmax(SoftmaxOp op);
  void adamw(AdamWOp op);

  llvm::DenseMap<Value, Bounded> values;
};

Bounded Evaluator::unary(UnaryOp op) {
  Bounded x = of(op.getInput());
  UnaryKind kind = op.getKind();
  return pointwise(op, [&](size_t i) {
    double value = apply(kind, x.values[i]), e = x.errors[i];
    double moved =
        std::max(std::fabs(apply(kind, x.values[i] + e) - value), std::fabs(apply(kind, x.values[i] - e) - value));
    double size = std::fabs(value);
    // gelu's factor 1 + erf cancels in the left tail: its error is absolute.
    if (kind == UnaryKind::Gelu)
      size = std::max(size, std::fabs(x.values[i]));
    if (kind == UnaryKind::GeluTanh || kind == UnaryKind::Silu)
      size *= 1 + std::fabs(x.values[i]); // the exponent's own rounding
    bool exact = kind == UnaryKind::Neg || kind == UnaryKind::Abs || kind == UnaryKind::Relu;
    double error = e == 0 ? 0 : 1.1 * moved;
    return std::make_pair(value, error + (exact ? 0 : kFunction * kUnit * size));
  });
}

Bounded Evaluator::binary(BinaryOp op) {
  Bounded a = of(op.getLhs()), b = of(op.getRhs());
  BinaryKind kind = op.getKind();
  return pointwise(op, [&](size_t i) {
    double x = a.values[i], y = b.values[i], ex = a.errors[i], ey = b.errors[i], value = apply(kind, x, y);
    double error = 0, unit = kUnit * std::fabs(value);
    switch (kind) {
    case BinaryKind::Add:
    case BinaryKind::Sub: error = ex + ey + unit; break;
    case BinaryKind::Mul: error = std::fabs(x) * ey + std::fabs(y) * ex + ex * ey + unit; break;
    case BinaryKind::Div: error = (ex + std::fabs(value) * ey) / std::max(std::fabs(y) - ey, 1e-300) + unit; break;
    case BinaryKind::Max:
    case BinaryKind::Min: error = std::max(ex, ey); break;
    case BinaryKind::Pow:
      error = std::fabs(value) * (std::fabs(y / x) * ex + std::fabs(std::log(std::fabs(x))) * ey) +
              (2 + std::fabs(y)) * unit;
      break;
    default: break;
    }
    return std::make_pair(value, error);
  });
}

Bounded Evaluator::reduce(Value input, ReduceKind kind, ArrayRef<int64_t> dims) {
  Bounded &x = of(input);
  Shape shape = shapeOf(input), kept;
  for (int64_t dim = 0; dim < int64_t(shape.size()); ++dim)
    if (!llvm::is_contained(dims, dim))
      kept.push_back(shape[dim]);
  SmallVector<int64_t> keptStrides = denseStrides(kept), index(shape.size(), 0), outIndex;
  size_t count = 1;
  for (int64_t size : kept)
    count *= size;
  std::vector<double> sizes(count, 0), terms(count, 0);
  Bounded out{std::vector<double>(count, kind == ReduceKind::Max ? -INFINITY : 0), std::vector<double>(count, 0)};
  size_t position = 0;
  do {
    outIndex.clear();
    for (int64_t dim = 0; dim < int64_t(shape.size()); ++dim)
      if (!llvm::is_contained(dims, dim))
        outIndex.push_back(index[dim]);
    size_t at = flatten(outIndex, keptStrides);
    double value = x.values[position], error = x.errors[position++];
    if (kind == ReduceKind::Max) {
      out.values[at] = std::isnan(value) || std::isnan(out.values[at]) ? NAN : std::max(out.values[at], value);
      out.errors[at] = std::max(out.errors[at], error);
      continue;
    }
    out.values[at] += value;
    out.errors[at] += error;
    sizes[at] += std::fabs(value);
    terms[at] += 1;
  } while (advance(index, shape));
  if (kind != ReduceKind::Max)
    for (size_t at = 0; at < count; ++at) {
      // Depth of the generated sums: partial sums in vectors, blocks of rows or of elements.
      double depth = std::min({terms[at], 8 + terms[at] / 16, 140.0});
      out.errors[at] += depth * kUnit * sizes[at];
      if (kind == ReduceKind::Mean) {
        out.values[at] /= terms[at];
        out.errors[at] = out.errors[at] / terms[at] + 2 * kUnit * std::fabs(out.values[at]);
      }
    }
  return out;
}

Bounded Evaluator::spread(BroadcastOp op) {
  Bounded &x = of(op.getInput());
  Shape shape = shapeOf(op.getResult());
  SmallVector<int64_t> from = denseStrides(shapeOf(op.getInput())), strides(shape.size(), 0), index(shape.size(), 0);
  for (auto [dim, stride] : llvm::zip_equal(op.getDims(), from))
    strides[dim] = stride;
  return pointwise(op, [&](size_t) {
    int64_t at = flatten(index, strides);
    advance(index, shape);
    return std::make_pair(x.values[at], x.errors[at]);
  });
}

Bounded Evaluator::slice(SliceOp op) {
  Bounded &x = of(op.getInput());
  Shape shape = shapeOf(op.getResult());
  SmallVector<int64_t> from = denseStrides(shapeOf(op.getInput())), index(shape.size(), 0);
  return pointwise(op, [&](size_t) {
    int64_t at = 0;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      at += (op.getOffsets()[dim] + index[dim] * op.getStrides()[dim]) * from[dim];
    advance(index, shape);
    return std::make_pair(x.values[at], x.errors[at]);
  });
}

/// layer_norm and rms_norm by definition. The error bound is a plain one: `kRowUnits` units of the largest term.
Bounded Evaluator::normalize(Operation *op, bool centre, double epsilon) {
  constexpr double kRowUnits = 16;
  Bounded x = of(op->getOperand(0)), scale = of(op->getOperand(1));
  int64_t width = shapeOf(op->getOperand(0)).back();
  return pointwise(op, [&](size_t i) {
    size_t row = i / width * width;
    double mean = 0, variance = 0, largest = 0, error = 0;
    for (int64_t j = 0; j < width; ++j) {
      mean += centre ? x.values[row + j] / width : 0;
      largest = std::max(largest, std::fabs(x.values[row + j]));
      error = std::max(error, x.errors[row + j]);
    }
    for (int64_t j = 0; j < width; ++j)
      variance += (x.values[row + j] - mean) * (x.values[row + j] - mean) / width;
    double rstd = 1 / std::sqrt(variance + epsilon), factor = scale.values[i % width];
    double bias = centre ? of(op->getOperand(2)).values[i % width] : 0;
    double value = (x.values[i] - mean) * rstd * factor + bias;
    double size = std::fabs(factor) * (largest * rstd + std::fabs(value)) + std::fabs(bias);
    return std::make_pair(value, kRowUnits * (kUnit * size + error * rstd * std::fabs(factor)));
  });
}

Bounded Evaluator::softmax(SoftmaxOp op) {
  Bounded x = of(op.getInput());
  int64_t width = shapeOf(op.getInput()).back();
  return pointwise(op, [&](size_t i) {
    size_t row = i / width * width;
    double largest = -INFINITY, sum = 0;
    for (int64_t j = 0; j < width; ++j)
      largest = std::max(largest, x.values[row + j]);
    for (int64_t j = 0; j < width; ++j)
      sum += std::exp(x.values[row + j] - largest);
    double value = std::exp(x.values[i] - largest) / sum;
    double spread = std::fabs(x.values[i]) + std::fabs(largest);
    return std::make_pair(value, value * (kUnit * (32 + 2 * spread) + 4 * x.errors[i]));
  });
}

void Evaluator::adamw(AdamWOp op) {
  Bounded p = of(op.getParameter()), g = of(op.getGradient()), m = of(op.getMean()), v = of(op.getVariance());
  double scale = of(op.getGradientScale()).values[0], lr = of(op.getLearningRate()).values[0];
  double bias0 = of(op.getBias()).values[0], bias1 = of(op.getBias()).values[1];
  double b1 = op.getBeta1().convertToDouble(), b2 = op.getBeta2().convertToDouble();
  double epsilon = op.getEpsilon().convertToDouble(), decay = op.getWeightDecay().convertToDouble();
  Bounded newP, newM, newV;
  for (size_t i = 0; i < p.values.size(); ++i) {
    double gradient = g.values[i] * scale;
    double mean = b1 * m.values[i] + (1 - b1) * gradient, variance = b2 * v.values[i] + (1 - b2) * gradient * gradient;
    double change = lr * bias0 * mean / (std::sqrt(variance) * bias1 + epsilon);
    newP.values.push_back(p.values[i] * (1 - lr * decay) - change);
    newP.errors.push_back(8 * kUnit * std::fabs(p.values[i]) + 32 * kUnit * std::fabs(change) +
                          32 * kUnit * lr * bias0 * std::fabs(m.values[i]) / (std::sqrt(variance) * bias1 + epsilon));
    newM.values.push_back(mean);
    newM.errors.push_back(4 * kUnit * (std::fabs(m.values[i]) + std::fabs(gradient)));
    newV.values.push_back(variance);
    newV.errors.push_back(6 * kUnit * variance);
  }
  of(op.getNewParameter()) = newP;
  of(op.getNewMean()) = newM;
  of(op.getNewVariance()) = newV;
}

void Evaluator::step(Operation *op) {
  if (auto adam = dyn_cast<AdamWOp>(op))
    return adamw(adam);
  Bounded out;
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    double splat = 0;
    matchSplat(constant.getResult(), splat);
    // The kernel sees the constant rounded.
    out = pointwise(op, [&](size_t) { return std::make_pair(splat, kUnit * std::fabs(splat)); });
  } else if (auto function = dyn_cast<UnaryOp>(op)) {
    out = unary(function);
  } else if (auto function2 = dyn_cast<BinaryOp>(op)) {
    out = binary(function2);
  } else if (auto compare = dyn_cast<CompareOp>(op)) {
    out = pointwise(op, [&](size_t i) {
      return std::make_pair(
          double(apply(compare.getPredicate(), of(compare.getLhs()).values[i], of(compare.getRhs()).values[i])), 0.0);
    });
  } else if (auto select = dyn_cast<SelectOp>(op)) {
    out = pointwise(op, [&](size_t i) {
      Bounded &side = of(select.getCondition()).values[i] != 0 ? of(select.getOnTrue()) : of(select.getOnFalse());
      return std::make_pair(side.values[i], side.errors[i]);
    });
  } else if (isa<ConvertOp, ReshapeOp>(op)) {
    out = pointwise(op, [&](size_t i) {
      Bounded &x = of(op->getOperand(0));
      return std::make_pair(x.values[i], x.errors[i]);
    });
  } else if (auto reduction = dyn_cast<ReduceOp>(op)) {
    out = reduce(reduction.getInput(), reduction.getKind(), reduction.getDims());
  } else if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    out = spread(broadcast);
  } else if (auto part = dyn_cast<SliceOp>(op)) {
    out = slice(part);
  } else if (auto norm = dyn_cast<LayerNormOp>(op)) {
    out = normalize(op, true, norm.getEpsilon().convertToDouble());
  } else if (auto rms = dyn_cast<RmsNormOp>(op)) {
    out = normalize(op, false, rms.getEpsilon().convertToDouble());
  } else if (auto soft = dyn_cast<SoftmaxOp>(op)) {
    out = softmax(soft);
  } else {
    llvm::report_fatal_error("the reference has no " + op->getName().getStringRef());
  }
  of(op->getResult(0)) = std::move(out);
}

} // namespace

std::vector<Bounded> evaluate(func::FuncOp function, const std::vector<std::vector<double>> &arguments) {
  return Evaluator().run(function, arguments);
}

} // namespace echelon::test

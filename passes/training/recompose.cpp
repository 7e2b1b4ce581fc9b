// SPDX-License-Identifier: Apache-2.0
//
// Recomposition. Products and sums are flattened into their factors and terms first, so that one pattern covers every
// commutation and association an exporter may choose.
#include "passes/training/recompose.h"

#include "dialects/graph/builders.h"

using namespace mlir;
using namespace llvm;
using namespace echelon::graph;

namespace echelon::training {

namespace {

BinaryOp binaryOf(Value value, BinaryKind kind) {
  auto op = value.getDefiningOp<BinaryOp>();
  return op && op.getKind() == kind ? op : BinaryOp();
}

UnaryOp unaryOf(Value value, UnaryKind kind) {
  auto op = value.getDefiningOp<UnaryOp>();
  return op && op.getKind() == kind ? op : UnaryOp();
}

bool near(double a, double b) { return std::fabs(a - b) <= 1e-4 * std::fabs(b); }

/// A product: its splat factors multiplied into `scale`, the other factors in order.
struct Product {
  double scale = 1;
  SmallVector<Value, 4> factors;
};

void flattenProduct(Value value, Product &product, unsigned depth = 0) {
  double splat;
  if (matchSplat(value, splat)) {
    product.scale *= splat;
    return;
  }
  auto mul = binaryOf(value, BinaryKind::Mul);
  if (mul && depth < 6) {
    flattenProduct(mul.getLhs(), product, depth + 1);
    flattenProduct(mul.getRhs(), product, depth + 1);
    return;
  }
  auto div = binaryOf(value, BinaryKind::Div);
  if (div && depth < 6 && matchSplat(div.getRhs(), splat)) {
    product.scale /= splat;
    flattenProduct(div.getLhs(), product, depth + 1);
    return;
  }
  product.factors.push_back(value);
}

Product productOf(Value value) {
  Product product;
  flattenProduct(value, product);
  return product;
}

/// value = other + splat
bool matchAddSplat(Value value, Value &other, double &splat) {
  auto add = binaryOf(value, BinaryKind::Add);
  if (!add)
    return false;
  if (matchSplat(add.getRhs(), splat))
    other = add.getLhs();
  else if (matchSplat(add.getLhs(), splat))
    other = add.getRhs();
  else
    return false;
  return true;
}

/// The tensor that `value` repeats along the last dim, if it is exactly that (through 1-dims in between).
Value rowOf(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  int64_t rank = shapeOf(value).size();
  if (!broadcast || rank == 0 || llvm::is_contained(broadcast.getDims(), rank - 1))
    return {};
  Value input = broadcast.getInput();
  Shape lead = shapeOf(value);
  lead.pop_back();
  // [.., 1] reductions come as reshape(reduce) with dropped or kept 1-dims.
  while (auto reshape = input.getDefiningOp<ReshapeOp>())
    input = reshape.getInput();
  int64_t count = 1, expected = 1;
  for (int64_t size : shapeOf(input))
    count *= size;
  for (int64_t size : lead)
    expected *= size;
  return count == expected ? input : Value();
}

/// value = mean over the last dim of `input`, of any spelling with 1-dims.
Value meanInput(Value row) {
  while (auto reshape = row.getDefiningOp<ReshapeOp>())
    row = reshape.getInput();
  auto reduce = row.getDefiningOp<ReduceOp>();
  if (!reduce || reduce.getKind() != ReduceKind::Mean || reduce.getDims().size() != 1 ||
      reduce.getDims()[0] + 1 != int64_t(shapeOf(reduce.getInput()).size()))
    return {};
  return reduce.getInput();
}

/// The vector [d] that `value` repeats over all leading dims.
Value columnOf(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  int64_t rank = shapeOf(value).size();
  if (!broadcast || broadcast.getDims().size() != 1 || broadcast.getDims()[0] != rank - 1)
    return {};
  return broadcast.getInput();
}

/// x^2
Value squareRoot(Value square) {
  auto mul = binaryOf(square, BinaryKind::Mul);
  if (mul && mul.getLhs() == mul.getRhs())
    return mul.getLhs();
  double exponent;
  auto pow = binaryOf(square, BinaryKind::Pow);
  if (pow && matchSplat(pow.getRhs(), exponent) && exponent == 2)
    return pow.getLhs();
  return {};
}

Value stripReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  return value;
}

/// value = 1 / sqrt(mean(x^2) + eps) as a row; returns x. Spelled rsqrt, reciprocal of sqrt, 1 / sqrt or pow -0.5.
Value rootMeanSquareInput(Value row, double &epsilon) {
  row = stripReshapes(row);
  Value inner;
  double splat;
  if (auto rsqrt = unaryOf(row, UnaryKind::Rsqrt))
    inner = rsqrt.getInput();
  else if (auto reciprocal = unaryOf(row, UnaryKind::Reciprocal)) {
    if (auto root = unaryOf(stripReshapes(reciprocal.getInput()), UnaryKind::Sqrt))
      inner = root.getInput();
  } else if (auto div = binaryOf(row, BinaryKind::Div)) {
    auto root = unaryOf(stripReshapes(div.getRhs()), UnaryKind::Sqrt);
    if (root && matchSplat(div.getLhs(), splat) && splat == 1)
      inner = root.getInput();
  } else if (auto pow = binaryOf(row, BinaryKind::Pow)) {
    if (matchSplat(pow.getRhs(), splat) && splat == -0.5)
      inner = pow.getLhs();
  }
  Value mean;
  if (!inner || !matchAddSplat(stripReshapes(inner), mean, epsilon))
    return {};
  Value square = meanInput(mean);
  return square ? squareRoot(square) : Value();
}

/// value = x / sqrt(mean x^2 + eps) over the last dim; returns x.
Value normalizedInput(Value value, double &epsilon) {
  if (auto mul = binaryOf(value, BinaryKind::Mul)) {
    for (auto [x, factor] : {std::pair(mul.getLhs(), mul.getRhs()), std::pair(mul.getRhs(), mul.getLhs())})
      if (Value row = rowOf(factor))
        if (rootMeanSquareInput(row, epsilon) == x)
          return x;
  }
  if (auto div = binaryOf(value, BinaryKind::Div)) {
    Value row = rowOf(div.getRhs());
    auto root = row ? unaryOf(stripReshapes(row), UnaryKind::Sqrt) : UnaryOp();
    Value mean;
    if (root && matchAddSplat(stripReshapes(root.getInput()), mean, epsilon))
      if (Value square = meanInput(mean))
        if (squareRoot(square) == div.getLhs())
          return div.getLhs();
  }
  return {};
}

/// value = x - mean(x) over the last dim; returns x.
Value centredInput(Value value) {
  auto sub = binaryOf(value, BinaryKind::Sub);
  Value row = sub ? rowOf(sub.getRhs()) : Value();
  return row && meanInput(row) == sub.getLhs() ? sub.getLhs() : Value();
}

/// Two `x - mean` nodes written separately are the same value.
bool sameCentred(Value a, Value b) { return a == b || (centredInput(a) && centredInput(a) == centredInput(b)); }

struct RaiseNorm : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    if (op.getKind() != BinaryKind::Mul)
      return failure();
    for (auto [normal, scale] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      Value weight = columnOf(scale);
      double epsilon;
      Value input = weight ? normalizedOrCentred(normal, epsilon) : Value();
      if (!input)
        continue;
      Value x = centredInput(input);
      if (!x) {
        rewriter.replaceOpWithNewOp<RmsNormOp>(op, op.getType(), input, weight, rewriter.getF64FloatAttr(epsilon));
        return success();
      }
      return raiseLayerNorm(op, x, weight, epsilon, rewriter);
    }
    return failure();
  }

  /// As normalizedInput, also where the variance was taken from another copy of x - mean(x).
  static Value normalizedOrCentred(Value normal, double &epsilon) {
    if (Value input = normalizedInput(normal, epsilon))
      return input;
    auto div = binaryOf(normal, BinaryKind::Div);
    Value row = div ? rowOf(div.getRhs()) : Value();
    auto root = row ? unaryOf(stripReshapes(row), UnaryKind::Sqrt) : UnaryOp();
    Value mean;
    if (!root || !matchAddSplat(stripReshapes(root.getInput()), mean, epsilon))
      return {};
    Value square = meanInput(mean);
    Value base = square ? squareRoot(square) : Value();
    return base && sameCentred(base, div.getLhs()) ? div.getLhs() : Value();
  }

  /// The bias is an add of a vector on top; without one the norm has a zero constant.
  static LogicalResult raiseLayerNorm(BinaryOp op, Value x, Value weight, double epsilon, PatternRewriter &rewriter) {
    Operation *replaced = op;
    Value bias;
    if (op->hasOneUse())
      if (auto add = dyn_cast<BinaryOp>(*op->user_begin()); add && add.getKind() == BinaryKind::Add) {
        bias = columnOf(add.getLhs() == op.getResult() ? add.getRhs() : add.getLhs());
        if (bias)
          replaced = add;
      }
    rewriter.setInsertionPoint(replaced);
    if (!bias)
      bias = GraphBuilder(rewriter, op.getLoc()).splat(weight.getType(), 0);
    rewriter.replaceOpWithNewOp<LayerNormOp>(replaced, op.getType(), x, weight, bias,
                                             rewriter.getF64FloatAttr(epsilon));
    return success();
  }
};

/// 0.5 x (1 + erf(x / sqrt 2)), 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), x sigmoid(x).
struct RaiseActivation : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;

  static bool isErfArgument(Value argument, Value x) {
    Product product = productOf(argument);
    return product.factors.size() == 1 && product.factors[0] == x && near(product.scale, 0.70710678118654752);
  }

  /// sqrt(2/pi) (x + 0.044715 x^3), also as sqrt(2/pi) x (1 + 0.044715 x^2).
  static bool isTanhArgument(Value argument, Value x) {
    Product product = productOf(argument);
    if (!near(product.scale, 0.79788456080286536))
      return false;
    if (product.factors.size() == 1) {
      auto add = binaryOf(product.factors[0], BinaryKind::Add);
      if (!add)
        return false;
      Value cubic = add.getLhs() == x ? add.getRhs() : add.getLhs();
      return (add.getLhs() == x || add.getRhs() == x) && isPower(cubic, x, 3, 0.044715);
    }
    Value inner;
    double one;
    for (auto [a, b] : {std::pair(0, 1), std::pair(1, 0)})
      if (product.factors.size() == 2 && product.factors[a] == x &&
          matchAddSplat(product.factors[b], inner, one) && one == 1 && isPower(inner, x, 2, 0.044715))
        return true;
    return false;
  }

  /// value = scale x^power, with pow or products.
  static bool isPower(Value value, Value x, int power, double scale) {
    Product product = productOf(value);
    int total = 0;
    for (Value factor : product.factors) {
      double exponent;
      auto pow = binaryOf(factor, BinaryKind::Pow);
      if (factor == x)
        ++total;
      else if (pow && pow.getLhs() == x && matchSplat(pow.getRhs(), exponent) && exponent == std::floor(exponent))
        total += int(exponent);
      else
        return false;
    }
    return total == power && near(product.scale, scale);
  }

  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    if (op.getKind() != BinaryKind::Mul && op.getKind() != BinaryKind::Div)
      return failure();
    Product product = productOf(op.getResult());
    if (product.factors.size() != 2)
      return failure();
    for (auto [i, j] : {std::pair(0, 1), std::pair(1, 0)}) {
      Value x = product.factors[i], gate = product.factors[j];
      if (auto sigmoid = unaryOf(gate, UnaryKind::Sigmoid); sigmoid && sigmoid.getInput() == x && product.scale == 1)
        return replace(op, UnaryKind::Silu, x, rewriter);
      Value inner;
      double one;
      if (product.scale != 0.5 || !matchAddSplat(gate, inner, one) || one != 1)
        continue;
      if (auto erf = unaryOf(inner, UnaryKind::Erf); erf && isErfArgument(erf.getInput(), x))
        return replace(op, UnaryKind::Gelu, x, rewriter);
      if (auto tanh = unaryOf(inner, UnaryKind::Tanh); tanh && isTanhArgument(tanh.getInput(), x))
        return replace(op, UnaryKind::GeluTanh, x, rewriter);
    }
    return failure();
  }

  static LogicalResult replace(BinaryOp op, UnaryKind kind, Value x, PatternRewriter &rewriter) {
    rewriter.replaceOpWithNewOp<UnaryOp>(op, op.getType(), kind, x);
    return success();
  }
};

} // namespace

void populateRecomposePatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseNorm, RaiseActivation>(patterns.getContext());
}

} // namespace echelon::training

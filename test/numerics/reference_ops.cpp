// SPDX-License-Identifier: Apache-2.0
//
// Contractions, reductions, normalizations, losses and the update, from their
// definitions. Legend: B batch, Q queries, K keys, H heads, D dim.
#include "test/numerics/reference_ops.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;

namespace echelon::test {

Shape refStrides(const Shape &shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0; stride *= shape[dim])
    strides[dim] = stride;
  return strides;
}

RefTensor zeros(mlir::Type type) {
  auto tensor = mlir::cast<mlir::RankedTensorType>(type);
  return {Shape(tensor.getShape()),
          std::vector<double>(size_t(tensor.getNumElements()), 0)};
}

std::vector<RefTensor> refEinsum(graph::EinsumOp op, const RefTensor &lhs,
                                 const RefTensor &rhs) {
  IterationSpace space = *op.getIterationSpace();
  RefTensor result = zeros(op.getType());
  size_t names = space.names.size();
  // Strides of each name in each tensor.
  auto stridesOf = [&](const SpaceTensor &dims, const Shape &shape) {
    Shape own = refStrides(shape), strides(names, 0);
    for (auto [index, dim] : enumerate(dims))
      strides[dim[0]] += own[index];
    return strides;
  };
  Shape a = stridesOf(space.operands[0], lhs.shape),
        b = stridesOf(space.operands[1], rhs.shape),
        c = stridesOf(space.results[0], result.shape);
  for (int64_t point = 0, points = space.points(); point < points; ++point) {
    int64_t rest = point, atA = 0, atB = 0, atC = 0;
    for (size_t name = names; name-- > 0;) {
      int64_t place = rest % space.names[name].size;
      rest /= space.names[name].size;
      atA += place * a[name];
      atB += place * b[name];
      atC += place * c[name];
    }
    result.values[atC] += lhs.values[atA] * rhs.values[atB];
  }
  return {result};
}

std::vector<RefTensor> refReduce(graph::ReduceOp op, const RefTensor &input) {
  RefTensor result = zeros(op.getType());
  bool isMax = op.getKind() == graph::ReduceKind::Max;
  if (isMax)
    std::fill(result.values.begin(), result.values.end(), -INFINITY);
  Shape own = refStrides(input.shape), kept;
  Shape strides = refStrides(result.shape);
  Shape to(input.shape.size(), 0);
  size_t next = 0;
  for (size_t dim = 0; dim < input.shape.size(); ++dim)
    if (!is_contained(op.getDims(), int64_t(dim)))
      to[dim] = strides[next++];
  for (size_t i = 0; i < input.values.size(); ++i) {
    int64_t rest = int64_t(i), at = 0;
    for (size_t dim = 0; dim < own.size(); ++dim) {
      at += rest / own[dim] * to[dim];
      rest %= own[dim];
    }
    double &sum = result.values[at], value = input.values[i];
    sum = !isMax ? sum + value
                 : (std::isnan(value) || value > sum ? value : sum);
  }
  if (op.getKind() == graph::ReduceKind::Mean)
    for (double &value : result.values)
      value *= double(result.values.size()) / double(input.values.size());
  return {result};
}

std::vector<RefTensor> refSoftmax(const RefTensor &input) {
  RefTensor result = input;
  size_t width = size_t(input.shape.back());
  for (size_t row = 0; row < result.values.size(); row += width) {
    double *x = &result.values[row];
    double max = *std::max_element(x, x + width), sum = 0;
    for (size_t i = 0; i < width; ++i)
      sum += x[i] = std::exp(x[i] - max);
    for (size_t i = 0; i < width; ++i)
      x[i] /= sum;
  }
  return {result};
}

std::vector<RefTensor> refLayerNorm(graph::LayerNormOp op,
                                    ArrayRef<RefTensor> in) {
  RefTensor result = in[0];
  size_t width = in[1].values.size();
  double epsilon = op.getEpsilon().convertToDouble();
  for (size_t row = 0; row < result.values.size(); row += width) {
    double *x = &result.values[row], mean = 0, variance = 0;
    for (size_t i = 0; i < width; ++i)
      mean += x[i] / double(width);
    for (size_t i = 0; i < width; ++i)
      variance += (x[i] - mean) * (x[i] - mean) / double(width);
    for (size_t i = 0; i < width; ++i)
      x[i] = (x[i] - mean) / std::sqrt(variance + epsilon) * in[1].values[i] +
             in[2].values[i];
  }
  return {result};
}

std::vector<RefTensor> refRmsNorm(graph::RmsNormOp op,
                                  ArrayRef<RefTensor> in) {
  RefTensor result = in[0];
  size_t width = in[1].values.size();
  double epsilon = op.getEpsilon().convertToDouble();
  for (size_t row = 0; row < result.values.size(); row += width) {
    double *x = &result.values[row], square = 0;
    for (size_t i = 0; i < width; ++i)
      square += x[i] * x[i] / double(width);
    for (size_t i = 0; i < width; ++i)
      x[i] *= in[1].values[i] / std::sqrt(square + epsilon);
  }
  return {result};
}

/// Label smoothing s as PyTorch: (1 - s) nll + s / classes * sum of nll's.
std::vector<RefTensor> refCrossEntropy(graph::SoftmaxCrossEntropyOp op,
                                       ArrayRef<RefTensor> in) {
  RefTensor sum{{}, {0}}, count{{}, {0}}, lse{in[1].shape, {}};
  size_t classes = size_t(in[0].shape.back());
  double smoothing = op.getLabelSmoothing().convertToDouble();
  for (size_t row = 0; row < in[1].values.size(); ++row) {
    const double *x = &in[0].values[row * classes];
    double max = *std::max_element(x, x + classes), total = 0, mean = 0;
    for (size_t i = 0; i < classes; ++i) {
      total += std::exp(x[i] - max);
      mean += x[i] / double(classes);
    }
    lse.values.push_back(max + std::log(total));
    if (in[1].values[row] == double(int64_t(op.getIgnoreIndex())))
      continue;
    size_t label = size_t(in[1].values[row]);
    count.values[0] += 1;
    sum.values[0] += lse.values[row] - (1 - smoothing) * x[label] -
                     smoothing * mean;
  }
  return {sum, count, lse};
}

std::vector<RefTensor>
refCrossEntropyGrad(graph::SoftmaxCrossEntropyGradOp op,
                    ArrayRef<RefTensor> in) {
  RefTensor result = zeros(op.getLogitsGradient().getType());
  size_t classes = size_t(in[0].shape.back());
  double smoothing = op.getLabelSmoothing().convertToDouble();
  for (size_t row = 0; row < in[1].values.size(); ++row) {
    if (in[1].values[row] == double(int64_t(op.getIgnoreIndex())))
      continue;
    size_t label = size_t(in[1].values[row]);
    for (size_t i = 0; i < classes; ++i) {
      double p = std::exp(in[0].values[row * classes + i] - in[2].values[row]);
      double target = (i == label ? 1 - smoothing : 0) +
                      smoothing / double(classes);
      result.values[row * classes + i] = in[3].values[0] * (p - target);
    }
  }
  return {result};
}

std::vector<RefTensor> refAdamW(graph::AdamWOp op, ArrayRef<RefTensor> in) {
  RefTensor parameter = in[0], mean = in[2], variance = in[3];
  double b1 = op.getBeta1().convertToDouble(),
         b2 = op.getBeta2().convertToDouble(),
         epsilon = op.getEpsilon().convertToDouble(),
         decay = op.getWeightDecay().convertToDouble(),
         rate = in[5].values[0];
  for (size_t i = 0; i < parameter.values.size(); ++i) {
    double gradient = in[1].values[i] * in[4].values[0];
    double &m = mean.values[i], &v = variance.values[i];
    m = b1 * m + (1 - b1) * gradient;
    v = b2 * v + (1 - b2) * gradient * gradient;
    parameter.values[i] =
        parameter.values[i] * (1 - rate * decay) -
        rate * in[6].values[0] * m / (std::sqrt(v) * in[6].values[1] + epsilon);
  }
  return {parameter, mean, variance};
}

namespace {
/// Sizes and index arithmetic that attention and its gradient share.
struct AttentionShape {
  int64_t B, Q, H, D, K, KH, DV;
  Shape mask;
  double scale;
  bool causal;
  int64_t window;

  int64_t q(int64_t b, int64_t i, int64_t h) const {
    return ((b * Q + i) * H + h) * D;
  }
  int64_t k(int64_t b, int64_t j, int64_t h) const {
    return ((b * K + j) * KH + h * KH / H) * D;
  }
  int64_t v(int64_t b, int64_t j, int64_t h) const {
    return ((b * K + j) * KH + h * KH / H) * DV;
  }
  int64_t out(int64_t b, int64_t i, int64_t h) const {
    return ((b * Q + i) * H + h) * DV;
  }
  int64_t row(int64_t b, int64_t h, int64_t i) const {
    return (b * H + h) * Q + i;
  }
  bool sees(int64_t i, int64_t j) const {
    int64_t last = i + K - Q;
    return (!causal || j <= last) && (window <= 0 || j > last - window);
  }
  int64_t maskAt(int64_t b, int64_t h, int64_t i, int64_t j) const {
    int64_t row = (mask[0] == 1 ? 0 : b) * mask[1] + (mask[1] == 1 ? 0 : h);
    return (row * Q + i) * K + j;
  }
};
} // namespace

template <typename Op>
static AttentionShape shapeOfAttention(Op op, ArrayRef<RefTensor> in) {
  const Shape &q = in[0].shape, &k = in[1].shape, &v = in[2].shape;
  AttentionShape s{q[0], q[1], q[2], q[3], k[1], k[2], v[3], {}, 0, false, 0};
  if (op.getMask())
    s.mask = in[3].shape;
  s.scale = op.getScale().convertToDouble();
  s.causal = op.getCausal();
  s.window = op.getWindow();
  return s;
}

/// Scores of one row; -inf where the query does not see the key.
static std::vector<double> scoresOf(const AttentionShape &s,
                                    ArrayRef<RefTensor> in, int64_t b,
                                    int64_t h, int64_t i) {
  std::vector<double> scores(size_t(s.K), -INFINITY);
  for (int64_t j = 0; j < s.K; ++j) {
    if (!s.sees(i, j))
      continue;
    double sum = 0;
    for (int64_t d = 0; d < s.D; ++d)
      sum += in[0].values[s.q(b, i, h) + d] * in[1].values[s.k(b, j, h) + d];
    scores[j] = sum * s.scale;
    if (!s.mask.empty())
      scores[j] += in[3].values[s.maskAt(b, h, i, j)];
  }
  return scores;
}

std::vector<RefTensor> refAttention(graph::AttentionOp op,
                                    ArrayRef<RefTensor> in) {
  AttentionShape s = shapeOfAttention(op, in);
  RefTensor result = zeros(op.getResult().getType()),
            lse = zeros(op.getLse().getType());
  for (int64_t b = 0; b < s.B; ++b)
    for (int64_t h = 0; h < s.H; ++h)
      for (int64_t i = 0; i < s.Q; ++i) {
        std::vector<double> scores = scoresOf(s, in, b, h, i);
        double max = *std::max_element(scores.begin(), scores.end()), sum = 0;
        double &rowLse = lse.values[s.row(b, h, i)];
        rowLse = -INFINITY;
        if (max == -INFINITY)
          continue;
        for (double score : scores)
          sum += std::exp(score - max);
        rowLse = max + std::log(sum);
        for (int64_t j = 0; j < s.K; ++j)
          for (int64_t d = 0; d < s.DV; ++d)
            result.values[s.out(b, i, h) + d] +=
                std::exp(scores[j] - rowLse) * in[2].values[s.v(b, j, h) + d];
      }
  return {result, lse};
}

std::vector<RefTensor> refAttentionGrad(graph::AttentionGradOp op,
                                        ArrayRef<RefTensor> in) {
  AttentionShape s = shapeOfAttention(op, in);
  size_t rest = op.getMask() ? 4 : 3;
  const RefTensor &result = in[rest], &lse = in[rest + 1],
                  &gradient = in[rest + 2];
  RefTensor dq = zeros(op.getQueryGradient().getType()),
            dk = zeros(op.getKeyGradient().getType()),
            dv = zeros(op.getValueGradient().getType());
  for (int64_t b = 0; b < s.B; ++b)
    for (int64_t h = 0; h < s.H; ++h)
      for (int64_t i = 0; i < s.Q; ++i) {
        double rowLse = lse.values[s.row(b, h, i)], delta = 0;
        if (rowLse == -INFINITY)
          continue;
        std::vector<double> scores = scoresOf(s, in, b, h, i);
        for (int64_t d = 0; d < s.DV; ++d)
          delta += gradient.values[s.out(b, i, h) + d] *
                   result.values[s.out(b, i, h) + d];
        for (int64_t j = 0; j < s.K; ++j) {
          double p = std::exp(scores[j] - rowLse), dp = 0;
          for (int64_t d = 0; d < s.DV; ++d) {
            double g = gradient.values[s.out(b, i, h) + d];
            dv.values[s.v(b, j, h) + d] += p * g;
            dp += g * in[2].values[s.v(b, j, h) + d];
          }
          double ds = p * (dp - delta) * s.scale;
          for (int64_t d = 0; d < s.D; ++d) {
            dq.values[s.q(b, i, h) + d] += ds * in[1].values[s.k(b, j, h) + d];
            dk.values[s.k(b, j, h) + d] += ds * in[0].values[s.q(b, i, h) + d];
          }
        }
      }
  return {dq, dk, dv};
}

} // namespace echelon::test

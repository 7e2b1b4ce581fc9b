// SPDX-License-Identifier: Apache-2.0
//
// Attention of the reference interpreter. Legend: B batch, Q queries, K keys, H
// heads, KH key heads, D dim, DV value dim.
#include "test/numerics/reference_ops.h"
#include <cmath>

using namespace llvm;

namespace echelon::test {

using Results = std::vector<RefTensor>;

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
static AttentionShape shapeOfAttention(Op op, RefOperands in) {
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
static std::vector<double> scoresOf(const AttentionShape &s, RefOperands in,
                                    int64_t b, int64_t h, int64_t i) {
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

RefResults evaluate(graph::AttentionOp op, RefOperands in) {
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
  return Results{std::move(result), std::move(lse)};
}

RefResults evaluate(graph::AttentionGradOp op, RefOperands in) {
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
  return Results{std::move(dq), std::move(dk), std::move(dv)};
}

} // namespace echelon::test

// SPDX-License-Identifier: Apache-2.0
//
// The double attention. Error bounds, to first order in u = 2^-24; S is scale *
// sum |q k|:
//   score  es = (dim + 3) u S + 2 u |s|: a chain of products, scale and mask
//   p      ep = max_j es + u (max |s| + |lse|) + 8 u, relative: the difference
//          from a maximum that rises, and the exponential (1.1 ulp = 2.2 u)
//   lse    max_j es + (keys + 8) u + u |lse|
//   o      sum_j p |v| (2 ep + (keys + 8) u): numerator and denominator
//   dp     (value_dim + 2) u sum |dout v|
//   delta  (value_dim + 2) u sum |dout o| + sum |dout| eo
//   ds     scale p (el (|dp| + |delta|) + edp + edelta),
//          el = es + e + u |s - lse| + 8 u, with e of lse
//   dv, dk over the group's queries: errors of terms + (n + 2) u sum |terms|
//   dq     the same over the keys
#include "test/numerics/kernels/attention_reference.h"

#include <algorithm>

namespace echelon::test {

bool seesKey(const ech_attention &d, int64_t query, int64_t key) {
  const int64_t last = query + d.keys - d.queries;
  return (!d.causal || key <= last) && (d.window <= 0 || key > last - d.window);
}

namespace {

size_t at(const ech_strides3 &s, int64_t b, int64_t position, int64_t head) {
  return static_cast<size_t>(b * s.batch + position * s.position +
                             head * s.head);
}

/// One query row: scores, probabilities and their errors over the keys.
struct Row {
  std::vector<double> s, es, p;
  double lse, lseBound, pError;
};

double maskAt(const AttentionCase &test, int64_t b, int64_t h, int64_t i,
              int64_t j) {
  const ech_attention &d = test.d;
  if (!seesKey(d, i, j))
    return -static_cast<double>(kInfinity);
  return test.mask.empty() ? 0.0
                           : test.mask[static_cast<size_t>(
                                 b * d.mask_batch + h * d.mask_head +
                                 i * d.mask_query + j * d.mask_key)];
}

template <typename T>
Row makeRow(const AttentionCase &test, const std::vector<T> &queries,
            const std::vector<T> &keys, int64_t b, int64_t h, int64_t i) {
  const ech_attention &d = test.d;
  const double u = kRoundoff;
  const T *q = &queries[at(d.q, b, i, h)];
  Row row = {};
  double top = -static_cast<double>(kInfinity), largest = 0, worst = 0;
  for (int64_t j = 0; j < d.keys; ++j) {
    const T *k = &keys[at(d.k, b, j, h / (d.heads / d.kv_heads))];
    double dot = 0, magnitude = 0;
    for (int64_t c = 0; c < d.head_dim; ++c) {
      const double term = static_cast<double>(q[c]) * static_cast<double>(k[c]);
      dot += term, magnitude += std::fabs(term);
    }
    const double s = d.scale * dot + maskAt(test, b, h, i, j);
    row.s.push_back(s);
    const bool seen = s > -static_cast<double>(kInfinity);
    row.es.push_back(seen ? u * ((static_cast<double>(d.head_dim) + 3) *
                                     std::fabs(d.scale) * magnitude +
                                 2 * std::fabs(s))
                          : 0);
    top = std::max(top, s);
    if (seen)
      largest = std::max(largest, std::fabs(s));
    worst = std::max(worst, row.es.back());
  }
  double sum = 0;
  for (double s : row.s)
    sum += s > -static_cast<double>(kInfinity) ? std::exp(s - top) : 0;
  row.lse = sum == 0 ? top : top + std::log(sum);
  for (double s : row.s)
    row.p.push_back(s > -static_cast<double>(kInfinity) ? std::exp(s - row.lse)
                                                        : 0);
  const double absLse = sum == 0 ? 0 : std::fabs(row.lse);
  row.pError = worst + u * (largest + absLse) + 8 * u;
  row.lseBound = worst + u * (static_cast<double>(d.keys) + 8 + absLse);
  return row;
}

struct Sum {
  double value = 0, magnitude = 0, error = 0;
  void add(double a, double aError, double b) {
    value += a * b, magnitude += std::fabs(a * b);
    error += aError * std::fabs(b);
  }
};

/// A dense [batch, position, head, dim] index.
size_t dense(int64_t b, int64_t positions, int64_t position, int64_t heads,
             int64_t head, int64_t dims, int64_t dim) {
  return static_cast<size_t>(
      ((b * positions + position) * heads + head) * dims + dim);
}

void addOutput(const AttentionCase &test, const Row &row, int64_t b, int64_t h,
               int64_t i, AttentionReference &r) {
  const ech_attention &d = test.d;
  const int64_t kvHead = h / (d.heads / d.kv_heads);
  const double relative =
      2 * row.pError + (static_cast<double>(d.keys) + 8) * kRoundoff;
  const size_t first = dense(b, d.queries, i, d.heads, h, d.value_dim, 0);
  for (int64_t c = 0; c < d.value_dim; ++c) {
    Sum sum;
    for (int64_t j = 0; j < d.keys; ++j) {
      const double p = row.p[static_cast<size_t>(j)];
      sum.add(p, 0, test.v[at(d.v, b, j, kvHead) + static_cast<size_t>(c)]);
    }
    r.o.value[first + static_cast<size_t>(c)] = sum.value;
    // 1e-37: flushed exponentials.
    r.o.bound[first + static_cast<size_t>(c)] =
        1.01 * relative * sum.magnitude + 1e-37;
  }
}

/// Adds the row's part of dk, dv (bounds too) and sets its dq.
void addGradients(const AttentionCase &test, const Row &row, int64_t b,
                  int64_t h, int64_t i, AttentionReference &r) {
  const ech_attention &d = test.d;
  const double u = kRoundoff;
  const int64_t group = d.heads / d.kv_heads, kvHead = h / group;
  const float *dout = &test.dout[at(d.dout, b, i, h)];
  const float *q = &test.q[at(d.q, b, i, h)];
  const size_t o = dense(b, d.queries, i, d.heads, h, d.value_dim, 0);
  const double valueDim = static_cast<double>(d.value_dim);
  Sum delta;
  for (int64_t c = 0; c < d.value_dim; ++c)
    delta.add(r.o.value[o + static_cast<size_t>(c)],
              r.o.bound[o + static_cast<size_t>(c)], dout[c]);
  delta.error += (valueDim + 2) * u * delta.magnitude;
  std::vector<Sum> dq(static_cast<size_t>(d.head_dim));
  for (int64_t j = 0; j < d.keys; ++j) {
    const double p = row.p[static_cast<size_t>(j)];
    if (!seesKey(d, i, j))
      continue;
    const size_t kAt = at(d.k, b, j, kvHead), vAt = at(d.v, b, j, kvHead);
    Sum dp;
    for (int64_t c = 0; c < d.value_dim; ++c)
      dp.add(test.v[vAt + static_cast<size_t>(c)], 0, dout[c]);
    dp.error = (valueDim + 2) * u * dp.magnitude;
    const double s = row.s[static_cast<size_t>(j)];
    const double relative = p == 0 ? 0
                                   : row.es[static_cast<size_t>(j)] +
                                         row.lseBound +
                                         u * std::fabs(s - row.lse) + 8 * u;
    const double ds = d.scale * p * (dp.value - delta.value);
    const double dsError =
        std::fabs(d.scale) *
        (p * (relative * (std::fabs(dp.value) + std::fabs(delta.value)) +
              dp.error + delta.error) +
         1e-37 * (std::fabs(dp.value) + std::fabs(delta.value)));
    // Sums over n terms: (n + 2) u of each magnitude goes into the bound at
    // once.
    const double keySum = (static_cast<double>(d.queries * group) + 2) * u;
    for (int64_t c = 0; c < d.value_dim; ++c) {
      const size_t out =
          dense(b, d.keys, j, d.kv_heads, kvHead, d.value_dim, c);
      r.dv.value[out] += p * dout[c];
      r.dv.bound[out] +=
          1.01 * (p * (relative + keySum) + 1e-37) * std::fabs(dout[c]);
    }
    for (int64_t c = 0; c < d.head_dim; ++c) {
      const size_t out = dense(b, d.keys, j, d.kv_heads, kvHead, d.head_dim, c);
      r.dk.value[out] += ds * q[c];
      r.dk.bound[out] +=
          1.01 * (dsError + std::fabs(ds) * keySum) * std::fabs(q[c]);
      dq[static_cast<size_t>(c)].add(ds, dsError,
                                     test.k[kAt + static_cast<size_t>(c)]);
    }
  }
  for (int64_t c = 0; c < d.head_dim; ++c) {
    const Sum &sum = dq[static_cast<size_t>(c)];
    const size_t out = dense(b, d.queries, i, d.heads, h, d.head_dim, c);
    r.dq.value[out] = sum.value;
    r.dq.bound[out] = 1.01 * (sum.error + (static_cast<double>(d.keys) + 2) *
                                              u * sum.magnitude);
  }
}

} // namespace

AttentionReference referenceAttention(const AttentionCase &test) {
  const ech_attention &d = test.d;
  AttentionReference r;
  r.o.assign(d.batch * d.queries * d.heads * d.value_dim);
  r.lse.assign(d.batch * d.heads * d.queries);
  r.dq.assign(d.batch * d.queries * d.heads * d.head_dim);
  r.dk.assign(d.batch * d.keys * d.kv_heads * d.head_dim);
  r.dv.assign(d.batch * d.keys * d.kv_heads * d.value_dim);
  for (int64_t b = 0; b < d.batch; ++b)
    for (int64_t h = 0; h < d.heads; ++h)
      for (int64_t i = 0; i < d.queries; ++i) {
        const Row row = makeRow(test, test.q, test.k, b, h, i);
        const auto at = static_cast<size_t>((b * d.heads + h) * d.queries + i);
        r.lse.value[at] = row.lse;
        r.lse.bound[at] = row.lseBound;
        addOutput(test, row, b, h, i, r);
        addGradients(test, row, b, h, i, r);
      }
  return r;
}

double attentionObjective(const AttentionCase &test,
                          const std::vector<double> &q,
                          const std::vector<double> &k,
                          const std::vector<double> &v) {
  const ech_attention &d = test.d;
  double sum = 0;
  for (int64_t b = 0; b < d.batch; ++b)
    for (int64_t h = 0; h < d.heads; ++h)
      for (int64_t i = 0; i < d.queries; ++i) {
        const Row row = makeRow(test, q, k, b, h, i);
        const float *dout = &test.dout[at(d.dout, b, i, h)];
        for (int64_t j = 0; j < d.keys; ++j)
          for (int64_t c = 0; c < d.value_dim; ++c)
            sum += row.p[static_cast<size_t>(j)] * dout[c] *
                   v[at(d.v, b, j, h / (d.heads / d.kv_heads)) +
                     static_cast<size_t>(c)];
      }
  return sum;
}

} // namespace echelon::test

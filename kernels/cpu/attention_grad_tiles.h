// SPDX-License-Identifier: Apache-2.0
//
// Attention backward for one key-value head and the query heads of its group
// (FlashAttention-2, Dao 2023, arXiv 2307.08691, algorithm 2, with the loops
// over keys outside). For each tile of kKeys keys and block of kGradQueries
// queries it recomputes p from lse and forms five products:
//   s = q k^T, dp = dout v^T, p = exp(scale s + mask - lse), ds = scale p (dp -
//   delta), dv += p^T dout, dk += ds^T q, dq += ds k,   delta = row sum of dout
//   * o.
// One task owns all that it writes, so no sum depends on the workers.
#ifndef ECHELON_KERNELS_CPU_ATTENTION_GRAD_TILES_H
#define ECHELON_KERNELS_CPU_ATTENTION_GRAD_TILES_H

#include "kernels/cpu/attention_tiles.h"

namespace echelon::kernels::ECH_ISA {

constexpr int64_t kGradQueries = 64;

struct GradTile {
  int64_t batch, head;
  int64_t key, count;  // the tile's keys
  int64_t query, rows; // the block's queries
  int64_t dkStride, dvStride;
  float *keysT, *keys;   // packed [k = dim][keys], [k = key][dims]
  float *valuesT;        // packed [k = dim][keys]
  float *queries, *dout; // packed [k = query][dims]
  float *dk, *dv;        // sums of the tile, kKeys rows
  float *p, *ds;         // kGradQueries x kScoreStride
};

ECH_INLINE GradTile carveGrad(const ech_attention &d, Carver &carver) {
  GradTile t = {};
  t.dkStride = roundUp(d.head_dim, kLanes);
  t.dvStride = roundUp(d.value_dim, kLanes);
  t.keysT = carver.take(kKeys * d.head_dim);
  t.keys = carver.take(kKeys * roundUp(d.head_dim, kCols));
  t.valuesT = carver.take(kKeys * d.value_dim);
  t.queries = carver.take(kGradQueries * roundUp(d.head_dim, kCols));
  t.dout = carver.take(kGradQueries * roundUp(d.value_dim, kCols));
  t.dk = carver.take(kKeys * t.dkStride);
  t.dv = carver.take(kKeys * t.dvStride);
  t.p = carver.take(kGradQueries * kScoreStride);
  t.ds = carver.take(kGradQueries * kScoreStride);
  return t;
}

inline int64_t attentionBytes(int64_t headDim, int64_t valueDim) {
  ech_attention d = {};
  d.head_dim = headDim, d.value_dim = valueDim;
  Carver forward(nullptr), backward(nullptr);
  carveQueries(kAttentionQueries, valueDim, forward);
  carveTile(d, forward);
  carveGrad(d, backward);
  return 4 * greater(forward.used, backward.used);
}

ECH_INLINE float dotProduct(const float *a, const float *b, int64_t count) {
  Vec sum = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    sum += load(a + i) * load(b + i);
  if (i < count)
    sum += loadPart(a + i, count - i) * loadPart(b + i, count - i);
  return sumLanes(sum);
}

/// p holds scores, still to be multiplied by `factor`, and ds holds dp on
/// `columns`; afterwards p and ds, zero in the row's other columns.
ECH_INLINE void gradOfScores(Span columns, float factor, float scale, float lse,
                             float delta, float *p, float *ds) {
  if (lse == -kInfinity) // sees nothing: exp(-inf + inf) must not be formed
    columns.to = columns.from;
  for (int64_t c = 0; c < columns.from; c += kLanes)
    store(p + c, Vec{}), store(ds + c, Vec{});
  for (int64_t c = columns.from; c < columns.to; c += kLanes) {
    const Vec prob = exponential(load(p + c) * factor - lse);
    store(p + c, prob);
    store(ds + c, prob * (load(ds + c) - delta) * scale);
  }
  for (int64_t c = columns.to; c < kKeys; c += kLanes)
    store(p + c, Vec{}), store(ds + c, Vec{});
}

/// dst[rows x panels] = a b^T, b packed transposed.
ECH_INLINE void makeScores(const float *a, int64_t aStride, int64_t rows,
                           const float *bT, int64_t dims, Span columns,
                           float *dst) {
  TileProduct t = {};
  t.a = a, t.aStride = aStride, t.rows = rows;
  t.bStride = kCols, t.depth = dims;
  t.cStride = kScoreStride;
  for (int64_t c = columns.from; c < columns.to; c += kCols) {
    t.b = bT + c * dims;
    t.c = dst + c;
    t.cols = lesser(kCols, columns.to - c);
    multiply<true>(t);
  }
}

/// p and ds of queries row .. row + rows - 1 of the block, and their part of
/// dq.
ECH_INLINE void gradOfQueries(const ech_attention &d,
                              const AttentionOperands &x, const GradTile &g,
                              int64_t row, int64_t rows) {
  const int64_t query = g.query + row;
  float *p = g.p + row * kScoreStride, *ds = g.ds + row * kScoreStride;
  const Span seen = visibleColumns(d, query, query + rows - 1, g.key, g.count);
  if (seen.to <= seen.from) {
    memset(p, 0, static_cast<size_t>(rows * kScoreStride) * 4);
    memset(ds, 0, static_cast<size_t>(rows * kScoreStride) * 4);
    return;
  }
  const Span columns = wholeVectors(seen);
  const float *q =
      x.q + g.batch * d.q.batch + g.head * d.q.head + query * d.q.position;
  const float *dout = x.dout + g.batch * d.dout.batch + g.head * d.dout.head +
                      query * d.dout.position;
  const float *o =
      x.o + g.batch * d.o.batch + g.head * d.o.head + query * d.o.position;
  const float *lse = x.lse + (g.batch * d.heads + g.head) * d.queries + query;
  makeScores(q, d.q.position, rows, g.keysT, d.head_dim, columns, p);
  makeScores(dout, d.dout.position, rows, g.valuesT, d.value_dim, columns, ds);
  const float scale = static_cast<float>(d.scale);
  for (int64_t r = 0; r < rows; ++r) {
    const Span own = visibleColumns(d, query + r, query + r, g.key, g.count);
    const float *maskRow =
        maskOfRow(d, x.mask, g.batch, g.head, query + r, g.key);
    float *pRow = p + r * kScoreStride, *dsRow = ds + r * kScoreStride;
    const bool plain = isPlain(maskRow, columns, own);
    if (!plain)
      finishScores(d, maskRow, columns, own, pRow);
    const float delta = dotProduct(dout + r * d.dout.position,
                                   o + r * d.o.position, d.value_dim);
    gradOfScores(columns, plain ? scale : 1.0f, scale, lse[r], delta, pRow,
                 dsRow);
  }
  TileProduct t = {};
  t.a = ds + seen.from, t.aStride = kScoreStride, t.rows = rows;
  t.bStride = kCols, t.depth = seen.to - seen.from;
  t.cStride = d.dq.position, t.add = true;
  for (int64_t j = 0; j < d.head_dim; j += kCols) {
    t.b = g.keys + j * g.count + seen.from * kCols;
    t.c = x.dq + g.batch * d.dq.batch + g.head * d.dq.head +
          query * d.dq.position + j;
    t.cols = lesser(kCols, d.head_dim - j);
    multiply<true>(t);
  }
}

/// sum[keys x dims] += scores^T b for `rows` keys from column `c` on, over the
/// queries `seen`; b is packed [k = query][dims].
ECH_INLINE void addTransposed(const float *scores, int64_t c, int64_t rows,
                              Span seen, const float *b, int64_t blockRows,
                              float *sum, int64_t sumStride) {
  TileProduct t = {};
  t.a = scores + seen.from * kScoreStride + c, t.aStride = kScoreStride;
  t.rows = rows;
  t.bStride = kCols, t.depth = seen.to - seen.from;
  t.cStride = sumStride, t.add = true;
  for (int64_t j = 0; j < sumStride; j += kCols) {
    t.b = b + j * blockRows + seen.from * kCols;
    t.c = sum + c * sumStride + j;
    t.cols = lesser(kCols, sumStride - j);
    multiply<false>(t);
  }
}

/// The block's rows that see any of the keys of columns [c, c + rows).
ECH_INLINE Span seeingQueries(const ech_attention &d, const GradTile &g,
                              int64_t c, int64_t rows) {
  const int64_t first = g.key + c - (d.keys - d.queries) - g.query;
  Span seen = {0, g.rows};
  if (d.causal)
    seen.from = greater(seen.from, first);
  if (d.window > 0)
    seen.to = lesser(seen.to, first + rows - 1 + d.window);
  return seen;
}

/// One block of queries against the packed tile.
ECH_INLINE void gradOfBlock(const ech_attention &d, const AttentionOperands &x,
                            const GradTile &g) {
  packPanels<kCols>(x.q + g.batch * d.q.batch + g.head * d.q.head +
                        g.query * d.q.position,
                    1, d.q.position, d.head_dim, g.rows, g.queries);
  packPanels<kCols>(x.dout + g.batch * d.dout.batch + g.head * d.dout.head +
                        g.query * d.dout.position,
                    1, d.dout.position, d.value_dim, g.rows, g.dout);
  for (int64_t r = 0; r < g.rows; r += kRows)
    gradOfQueries(d, x, g, r, lesser(kRows, g.rows - r));
  for (int64_t c = 0; c < g.count; c += kRows) {
    const int64_t rows = lesser(kRows, g.count - c);
    const Span seen = seeingQueries(d, g, c, rows);
    if (seen.to <= seen.from)
      continue;
    addTransposed(g.p, c, rows, seen, g.dout, g.rows, g.dv, g.dvStride);
    addTransposed(g.ds, c, rows, seen, g.queries, g.rows, g.dk, g.dkStride);
  }
}

ECH_INLINE void writeRows(const float *from, int64_t fromStride, int64_t rows,
                          int64_t dims, float *to, int64_t toStride) {
  for (int64_t r = 0; r < rows; ++r)
    memcpy(to + r * toStride, from + r * fromStride,
           static_cast<size_t>(dims) * 4);
}

/// One tile of keys against all queries of the group.
ECH_INLINE void gradOfTile(const ech_attention &d, const AttentionOperands &x,
                           GradTile &g, int64_t kvHead) {
  const int64_t group = d.heads / d.kv_heads;
  const float *k =
      x.k + g.batch * d.k.batch + kvHead * d.k.head + g.key * d.k.position;
  const float *v =
      x.v + g.batch * d.v.batch + kvHead * d.v.head + g.key * d.v.position;
  packPanels<kCols>(k, d.k.position, 1, g.count, d.head_dim, g.keysT);
  packPanels<kCols>(k, 1, d.k.position, d.head_dim, g.count, g.keys);
  packPanels<kCols>(v, d.v.position, 1, g.count, d.value_dim, g.valuesT);
  memset(g.dk, 0, static_cast<size_t>(g.count * g.dkStride) * 4);
  memset(g.dv, 0, static_cast<size_t>(g.count * g.dvStride) * 4);
  for (int64_t head = kvHead * group; head < (kvHead + 1) * group; ++head) {
    g.head = head;
    for (int64_t query = 0; query < d.queries; query += kGradQueries) {
      g.query = query;
      g.rows = lesser(kGradQueries, d.queries - query);
      const Span seen =
          visibleColumns(d, query, query + g.rows - 1, g.key, g.count);
      if (seen.from < seen.to)
        gradOfBlock(d, x, g);
    }
  }
  writeRows(g.dk, g.dkStride, g.count, d.head_dim,
            x.dk + g.batch * d.dk.batch + kvHead * d.dk.head +
                g.key * d.dk.position,
            d.dk.position);
  writeRows(g.dv, g.dvStride, g.count, d.value_dim,
            x.dv + g.batch * d.dv.batch + kvHead * d.dv.head +
                g.key * d.dv.position,
            d.dv.position);
}

inline void attendGradGroup(const ech_attention &d, const AttentionOperands &x,
                            int64_t batch, int64_t kvHead, void *workspace) {
  const int64_t group = d.heads / d.kv_heads;
  for (int64_t head = kvHead * group; head < (kvHead + 1) * group; ++head)
    for (int64_t query = 0; query < d.queries; ++query)
      memset(x.dq + batch * d.dq.batch + head * d.dq.head +
                 query * d.dq.position,
             0, static_cast<size_t>(d.head_dim) * 4);
  Carver carver(workspace);
  GradTile g = carveGrad(d, carver);
  g.batch = batch;
  for (int64_t key = 0; key < d.keys; key += kKeys) {
    g.key = key;
    g.count = lesser(kKeys, d.keys - key);
    gradOfTile(d, x, g, kvHead);
  }
}

} // namespace echelon::kernels::ECH_ISA

#endif

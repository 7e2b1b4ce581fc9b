// SPDX-License-Identifier: Apache-2.0
//
// Attention forward for a block of queries of one head, in the manner of
// FlashAttention (Dao et al. 2022, arXiv 2205.14135, algorithm 1): keys and
// values pass by in packed tiles of kKeys; a block of kRows queries makes its
// scores of one tile, rescales what it has summed so far when the row maximum
// rises, and adds its share of the values. Scores live in kRows x kKeys floats.
// Positions inside a tile are called columns; they count from the tile's first
// key.
#ifndef ECHELON_KERNELS_CPU_ATTENTION_TILES_H
#define ECHELON_KERNELS_CPU_ATTENTION_TILES_H

#include "kernels/cpu/isa.h"
#include "kernels/cpu/tile.h"

#include <math.h>

namespace echelon::kernels::ECH_ISA {

/// Keys of a tile: whole panels, about 128.
constexpr int64_t kKeys = 128 / kCols * kCols;
/// Floats between rows of scores: off a power of two, so that columns spread
/// over the cache sets.
constexpr int64_t kScoreStride = 128 + 16;

/// A half-open interval, empty if to <= from.
struct Span {
  int64_t from, to;
};

ECH_INLINE Span intersect(Span a, Span b) {
  return {greater(a.from, b.from), lesser(a.to, b.to)};
}

/// The keys that queries [first, last] see, gaps included: both ends only grow
/// with the query.
ECH_INLINE Span visibleKeys(const ech_attention &d, int64_t first,
                            int64_t last) {
  const int64_t shift = d.keys - d.queries;
  const int64_t from = d.window > 0 ? first + shift - d.window + 1 : 0;
  const int64_t to = d.causal ? last + shift + 1 : d.keys;
  return intersect({from, to}, {0, d.keys});
}

/// The same as columns of the tile of `count` keys from `tile` on.
ECH_INLINE Span visibleColumns(const ech_attention &d, int64_t first,
                               int64_t last, int64_t tile, int64_t count) {
  const Span keys = visibleKeys(d, first, last);
  return intersect({keys.from - tile, keys.to - tile}, {0, count});
}

/// The columns to compute for a span: from the start of its first panel to the
/// end of its last vector.
ECH_INLINE Span wholeVectors(Span s) {
  return {s.from / kCols * kCols, roundUp(s.to, kLanes)};
}

/// Hands out consecutive pieces of a workspace, each on a cache line; without
/// one it only counts.
struct Carver {
  float *workspace;
  int64_t used = 0; // floats
  explicit Carver(void *memory) : workspace(static_cast<float *>(memory)) {}
  ECH_INLINE float *take(int64_t floats) {
    float *piece = workspace ? workspace + used : nullptr;
    used += roundUp(floats, 16);
    return piece;
  }
};

/// scores[c] = scores[c] * scale + mask inside `seen`, -inf in the rest of
/// `columns`.
ECH_INLINE void finishScores(const ech_attention &d, const float *maskRow,
                             Span columns, Span seen, float *scores) {
  const float scale = static_cast<float>(d.scale);
  IntVec column;
  for (int lane = 0; lane < kLanes; ++lane)
    column[lane] = static_cast<int32_t>(columns.from) + lane;
  const int32_t from = static_cast<int32_t>(seen.from);
  const int32_t to = static_cast<int32_t>(seen.to);
  for (int64_t c = columns.from; c < columns.to; c += kLanes) {
    Vec s = load(scores + c) * scale;
    s = column < from ? splat(-kInfinity) : s;
    s = column < to ? s : splat(-kInfinity);
    store(scores + c, s);
    column += kLanes;
  }
  if (maskRow && d.mask_key == 1)
    for (int64_t c = seen.from; c < seen.to; ++c)
      scores[c] += maskRow[c];
  else if (maskRow)
    for (int64_t c = seen.from; c < seen.to; ++c)
      scores[c] += maskRow[c * d.mask_key];
}

/// Whether finishScores has nothing to do but to scale.
ECH_INLINE bool isPlain(const float *maskRow, Span columns, Span seen) {
  return !maskRow && seen.from <= columns.from && columns.to <= seen.to;
}

/// Where the mask of a query's row of scores begins, at the tile's first key;
/// null without one.
ECH_INLINE const float *maskOfRow(const ech_attention &d, const float *mask,
                                  int64_t batch, int64_t head, int64_t query,
                                  int64_t tile) {
  return mask ? mask + batch * d.mask_batch + head * d.mask_head +
                    query * d.mask_query + tile * d.mask_key
              : nullptr;
}

/// The running state of a task's queries: o is unnormalised, of stride
/// `oStride`.
struct QueryState {
  float *o, *top, *sum;
  int64_t oStride;
};

/// One row's step of the online softmax: scores become exp(factor * score -
/// maximum).
ECH_INLINE void softmaxStep(Span columns, float factor, float *scores,
                            const QueryState &q, int64_t row) {
  Vec highest = splat(-kInfinity);
  for (int64_t c = columns.from; c < columns.to; c += kLanes)
    highest = maximum(highest, load(scores + c) * factor);
  const float tileTop = maxLanes(highest), oldTop = q.top[row];
  const float top = tileTop > oldTop ? tileTop : oldTop;
  // A row that has seen nothing but -inf yet: exp(-inf - 0) = 0, not exp(-inf +
  // inf).
  const float base = top == -kInfinity ? 0.0f : top;
  Vec total = {};
  for (int64_t c = columns.from; c < columns.to; c += kLanes) {
    const Vec p = exponential(load(scores + c) * factor - base);
    store(scores + c, p);
    total += p;
  }
  if (top > oldTop && oldTop > -kInfinity) {
    const float fade = exponential(oldTop - base);
    q.sum[row] *= fade;
    float *o = q.o + row * q.oStride;
    for (int64_t j = 0; j < q.oStride; j += kLanes)
      store(o + j, load(o + j) * fade);
  }
  q.top[row] = top;
  q.sum[row] += sumLanes(total);
}

/// The state of `rows` queries that have seen nothing yet.
ECH_INLINE QueryState carveQueries(int64_t rows, int64_t valueDim,
                                   Carver &carver) {
  QueryState state;
  state.oStride = roundUp(valueDim, kLanes);
  state.o = carver.take(rows * state.oStride);
  state.top = carver.take(rows);
  state.sum = carver.take(rows);
  return state;
}

struct AttentionTile {
  int64_t batch, head, first; // first: the task's first query
  int64_t key, count;         // the tile's first key and its keys
  float *keys, *values;       // packed [k = dim][keys], [k = key][dims]
  float *scores;              // kRows x kScoreStride
};

ECH_INLINE AttentionTile carveTile(const ech_attention &d, Carver &carver) {
  AttentionTile tile = {};
  tile.scores = carver.take(kRows * kScoreStride);
  tile.keys = carver.take(kKeys * d.head_dim);
  tile.values = carver.take(kKeys * roundUp(d.value_dim, kCols));
  return tile;
}

/// Queries first + row .. + rows - 1 against one tile.
ECH_INLINE void attendRows(const ech_attention &d, const AttentionOperands &x,
                           const AttentionTile &tile, const QueryState &state,
                           int64_t row, int64_t rows) {
  const int64_t query = tile.first + row;
  const Span seen =
      visibleColumns(d, query, query + rows - 1, tile.key, tile.count);
  if (seen.to <= seen.from)
    return;
  const Span columns = wholeVectors(seen);
  TileProduct t = {};
  t.rows = rows;
  t.a = x.q + tile.batch * d.q.batch + tile.head * d.q.head +
        query * d.q.position;
  t.aStride = d.q.position;
  t.bStride = kCols;
  t.depth = d.head_dim;
  t.cStride = kScoreStride;
  for (int64_t c = columns.from; c < columns.to; c += kCols) {
    t.b = tile.keys + c * d.head_dim;
    t.c = tile.scores + c;
    t.cols = lesser(kCols, columns.to - c);
    multiply<true>(t);
  }
  for (int64_t r = 0; r < rows; ++r) {
    const Span own =
        visibleColumns(d, query + r, query + r, tile.key, tile.count);
    const float *maskRow =
        maskOfRow(d, x.mask, tile.batch, tile.head, query + r, tile.key);
    float *scores = tile.scores + r * kScoreStride;
    float factor = static_cast<float>(d.scale);
    if (!isPlain(maskRow, columns, own)) {
      finishScores(d, maskRow, columns, own, scores);
      factor = 1;
    }
    softmaxStep(columns, factor, scores, state, row + r);
  }
  t.a = tile.scores + seen.from;
  t.aStride = kScoreStride;
  t.depth = seen.to - seen.from;
  t.cStride = state.oStride;
  t.add = true;
  for (int64_t j = 0; j < state.oStride; j += kCols) {
    t.b = tile.values + j * tile.count + seen.from * kCols;
    t.c = state.o + row * state.oStride + j;
    t.cols = lesser(kCols, state.oStride - j);
    multiply<true>(t);
  }
}

/// Divides by the sums and writes o and lse.
ECH_INLINE void finishQueries(const ech_attention &d,
                              const AttentionOperands &x,
                              const AttentionTile &tile,
                              const QueryState &state, int64_t rows) {
  float *lse =
      x.lseOut + (tile.batch * d.heads + tile.head) * d.queries + tile.first;
  for (int64_t r = 0; r < rows; ++r) {
    const float sum = state.sum[r];
    const float factor = sum == 0 ? 0.0f : 1.0f / sum;
    const float *from = state.o + r * state.oStride;
    float *to = x.oOut + tile.batch * d.o.batch + tile.head * d.o.head +
                (tile.first + r) * d.o.position;
    int64_t j = 0;
    for (; j + kLanes <= d.value_dim; j += kLanes)
      store(to + j, load(from + j) * factor);
    if (j < d.value_dim)
      storePart(to + j, load(from + j) * factor, d.value_dim - j);
    lse[r] = sum == 0 ? -kInfinity
                      : static_cast<float>(static_cast<double>(state.top[r]) +
                                           log(static_cast<double>(sum)));
  }
}

inline void attendBlock(const ech_attention &d, const AttentionOperands &x,
                        int64_t batch, int64_t head, int64_t first,
                        void *workspace) {
  const int64_t rows = lesser(kAttentionQueries, d.queries - first);
  const int64_t kvHead = head / (d.heads / d.kv_heads);
  Carver carver(workspace);
  const QueryState state = carveQueries(rows, d.value_dim, carver);
  memset(state.o, 0, static_cast<size_t>(rows * state.oStride) * 4);
  for (int64_t r = 0; r < rows; ++r)
    state.top[r] = -kInfinity, state.sum[r] = 0;

  AttentionTile tile = carveTile(d, carver);
  tile.batch = batch, tile.head = head, tile.first = first;
  const float *k = x.k + batch * d.k.batch + kvHead * d.k.head;
  const float *v = x.v + batch * d.v.batch + kvHead * d.v.head;
  const Span all = visibleKeys(d, first, first + rows - 1);
  for (int64_t key = all.from / kKeys * kKeys; key < all.to; key += kKeys) {
    tile.key = key;
    tile.count = lesser(kKeys, d.keys - key);
    packPanels<kCols>(k + key * d.k.position, d.k.position, 1, tile.count,
                      d.head_dim, tile.keys);
    packPanels<kCols>(v + key * d.v.position, 1, d.v.position, d.value_dim,
                      tile.count, tile.values);
    for (int64_t r = 0; r < rows; r += kRows)
      attendRows(d, x, tile, state, r, lesser(kRows, rows - r));
  }
  finishQueries(d, x, tile, state, rows);
}

} // namespace echelon::kernels::ECH_ISA

#endif

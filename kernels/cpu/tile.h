// SPDX-License-Identifier: Apache-2.0
//
// The register-blocked product that contraction and attention share, and the
// packing in front of it. One call computes a block of at most kRows x kCols of
// C from `depth` products, the block held in registers throughout. Panels are
// what B is packed into: [panel][k][kCols], zero-padded in the columns; A is
// either packed likewise, [panel][k][kRows], or read in rows. Each element is
// one chain of fused multiply-adds in the order of k, whatever block it lies
// in: so results depend neither on the tiling nor on the instruction-set level.
#ifndef ECHELON_KERNELS_CPU_TILE_H
#define ECHELON_KERNELS_CPU_TILE_H

#include "kernels/cpu/simd.h"

namespace echelon::kernels::ECH_ISA {

// 16 of 32 registers (AVX-512) or 12 of 16 (AVX2) accumulate; the rest hold a
// row of B and broadcasts of A. 12 x 32 was no faster on Zen 4.
#if defined(__AVX512F__)
constexpr int kRows = 8, kVecs = 2;
#else
constexpr int kRows = 4, kVecs = 3;
#endif
constexpr int kCols = kVecs * kLanes;

// With all 16 registers of AVX2 in use, a broadcast that the compiler moves up
// spills an accumulator, which halves the speed; loads do not cross this.
#if defined(__AVX512F__)
#define ECH_KEEP_ORDER
#else
#define ECH_KEEP_ORDER __asm__ volatile("" ::: "memory")
#endif

struct TileProduct {
  const float
      *a; // A(r, k) = a[k * aStride + r], or in rows: a[r * aStride + k]
  int64_t aStride;
  const float *b; // B(k, j) = b[k * bStride + j], readable to a multiple of
                  // kLanes columns
  int64_t bStride;
  int64_t depth; // number of k, may be 0
  float *c;      // C(r, j) = c[r * cStride + j]
  int64_t cStride;
  int64_t rows, cols;   // of C, 1 .. kRows and 1 .. kCols
  const float *rowBias; // added to C(r, :), or null
  const float *colBias; // added to C(:, j), or null
  bool add;             // C += instead of C =
};

template <int Rows, int Vecs, bool InRows>
void multiplyTile(const TileProduct &t) {
  Vec acc[Rows][Vecs];
  ECH_UNROLL
  for (int r = 0; r < Rows; ++r) {
    ECH_UNROLL
    for (int v = 0; v < Vecs; ++v)
      acc[r][v] = Vec{};
  }
  // C arrives from a farther cache while the block is formed.
  ECH_UNROLL
  for (int r = 0; r < Rows; ++r) {
    ECH_UNROLL
    for (int line = 0; line < Vecs * kLanes; line += 16)
      __builtin_prefetch(t.c + r * t.cStride + line, 1);
  }
  const float *a = t.a, *b = t.b;
  const int64_t aStride = t.aStride, bStride = t.bStride;
  for (int64_t k = t.depth; k > 0; --k) {
    Vec row[Vecs];
    ECH_UNROLL
    for (int v = 0; v < Vecs; ++v)
      row[v] = load(b + v * kLanes);
    ECH_UNROLL
    for (int r = 0; r < Rows; ++r) {
      const Vec x = splat(a[InRows ? r * aStride : r]);
      ECH_UNROLL
      for (int v = 0; v < Vecs; ++v)
        acc[r][v] += x * row[v];
      ECH_KEEP_ORDER;
    }
    a += InRows ? 1 : aStride;
    b += bStride;
  }

  const int64_t tail =
      t.cols - (Vecs - 1) * kLanes; // columns of the last vector
  ECH_UNROLL
  for (int r = 0; r < Rows; ++r) {
    ECH_UNROLL
    for (int v = 0; v < Vecs; ++v) {
      float *c = t.c + r * t.cStride + v * kLanes;
      const bool whole = v < Vecs - 1 || tail == kLanes;
      Vec sum = acc[r][v];
      if (t.add)
        sum += whole ? load(c) : loadPart(c, tail);
      if (t.rowBias)
        sum += t.rowBias[r];
      if (t.colBias)
        sum += whole ? load(t.colBias + v * kLanes)
                     : loadPart(t.colBias + v * kLanes, tail);
      if (whole)
        store(c, sum);
      else
        storePart(c, sum, tail);
    }
  }
}

using TileFunction = void (*)(const TileProduct &);

/// multiplyTile for the block's rows and columns.
template <bool InRows> ECH_INLINE void multiply(const TileProduct &t) {
#define ECH_TILES(rows)                                                        \
  {multiplyTile<rows, 1, InRows>, multiplyTile<rows, 2, InRows>,               \
   multiplyTile<rows, kVecs, InRows>}
  static constexpr TileFunction kTiles[kRows][3] = {
      ECH_TILES(1), ECH_TILES(2), ECH_TILES(3), ECH_TILES(4),
#if defined(__AVX512F__)
      ECH_TILES(5), ECH_TILES(6), ECH_TILES(7), ECH_TILES(8),
#endif
  };
#undef ECH_TILES
  kTiles[t.rows - 1][(t.cols - 1) / kLanes](t);
}

/// Transposes a 4 x 4 block: dst[j * dstStride + i] = src[i * srcStride + j].
ECH_INLINE void transposeQuad(const float *src, int64_t srcStride, float *dst,
                              int64_t dstStride) {
  Quad r0, r1, r2, r3;
  memcpy(&r0, src, 16);
  memcpy(&r1, src + srcStride, 16);
  memcpy(&r2, src + 2 * srcStride, 16);
  memcpy(&r3, src + 3 * srcStride, 16);
  const Quad low01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
  const Quad high01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
  const Quad low23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
  const Quad high23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  r0 = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
  r1 = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  r2 = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
  r3 = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
  memcpy(dst, &r0, 16);
  memcpy(dst + dstStride, &r1, 16);
  memcpy(dst + 2 * dstStride, &r2, 16);
  memcpy(dst + 3 * dstStride, &r3, 16);
}

/// One panel's worth of packPanels by plain loads and stores, for the edges and
/// odd strides.
template <int Width>
ECH_INLINE void packSlowly(const float *src, int64_t iStride, int64_t kStride,
                           int64_t iFrom, int64_t count, int64_t depth,
                           float *dst) {
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t i = iFrom; i < Width; ++i)
      dst[k * Width + i] = i < count ? src[i * iStride + k * kStride] : 0.0f;
}

/// packPanels where the columns of a panel are contiguous: a few k of all
/// panels at a time, so that both the long rows read and the panels written are
/// walked in whole cache lines.
template <int Width>
void packContiguous(const float *src, int64_t kStride, int64_t count,
                    int64_t depth, float *dst) {
  constexpr int64_t kBlock = 8;
  const int64_t whole = count / Width * Width;
  for (int64_t k0 = 0; k0 < depth; k0 += kBlock) {
    const int64_t k1 = lesser(k0 + kBlock, depth);
    for (int64_t i = 0; i < whole; i += Width)
      for (int64_t k = k0; k < k1; ++k)
        memcpy(dst + i * depth + k * Width, src + i + k * kStride, Width * 4);
  }
  if (whole < count)
    packSlowly<Width>(src + whole, 1, kStride, 0, count - whole, depth,
                      dst + whole * depth);
}

/// packPanels where k is contiguous: 4 x 4 transpositions, 16 k (a cache line)
/// at a time.
template <int Width>
void packTransposed(const float *src, int64_t iStride, int64_t count,
                    int64_t depth, float *dst) {
  constexpr int64_t kBlock = 16;
  const int64_t deep = depth / 4 * 4;
  for (int64_t i = 0; i < count; i += Width) {
    const float *from = src + i * iStride;
    float *to = dst + i * depth;
    const int64_t valid = lesser(Width, count - i);
    const int64_t quads = valid / 4 * 4;
    for (int64_t k0 = 0; k0 < deep; k0 += kBlock) {
      const int64_t k1 = lesser(k0 + kBlock, deep);
      for (int64_t q = 0; q < quads; q += 4)
        for (int64_t k = k0; k < k1; k += 4)
          transposeQuad(from + q * iStride + k, iStride, to + k * Width + q,
                        Width);
    }
    if (quads < Width)
      packSlowly<Width>(from, iStride, 1, quads, valid, deep, to);
    packSlowly<Width>(from + deep, iStride, 1, 0, valid, depth - deep,
                      to + deep * Width);
  }
}

/// dst[panel][k][w] = src[(panel * Width + w) * iStride + k * kStride] for k <
/// depth, zero where panel * Width + w >= count. Writes roundUp(count, Width) *
/// depth floats.
template <int Width>
ECH_INLINE void packPanels(const float *src, int64_t iStride, int64_t kStride,
                           int64_t count, int64_t depth, float *dst) {
  if (iStride == 1)
    return packContiguous<Width>(src, kStride, count, depth, dst);
  if (kStride == 1)
    return packTransposed<Width>(src, iStride, count, depth, dst);
  for (int64_t i = 0; i < count; i += Width)
    packSlowly<Width>(src + i * iStride, iStride, kStride, 0,
                      lesser(Width, count - i), depth, dst + i * depth);
}

} // namespace echelon::kernels::ECH_ISA

#endif

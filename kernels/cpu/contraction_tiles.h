// SPDX-License-Identifier: Apache-2.0
//
// A rectangle of one matrix product: the loops over cache blocks around
// tile.h's register blocks. B is packed kDepth x kWide at a time (last-level
// cache), A kDepth x kTall (second-level cache).
#ifndef ECHELON_KERNELS_CPU_CONTRACTION_TILES_H
#define ECHELON_KERNELS_CPU_CONTRACTION_TILES_H

#include "kernels/cpu/isa.h"
#include "kernels/cpu/tile.h"

namespace echelon::kernels::ECH_ISA {

constexpr int64_t kTall = 256;
constexpr int64_t kWide = 2304; // a multiple of 24 and 32
static_assert((kTall + kWide) * kContractionDepth * 4 <= ECH_WORKSPACE_BYTES,
              "the packed blocks must fit the workspace of a worker");

/// Up to this many rows packing B costs more than it saves: B is then read in
/// place.
constexpr int64_t kDirectRows = 2 * kRows;
/// The same for A: up to this many columns, a unit stride in m or in k
/// provided.
constexpr int64_t kDirectCols = 2 * kCols;

/// The panels of one cache block: C[tall x wide] (+)= A[tall x depth] B[depth x
/// wide]. An operand without a packed copy is read in place.
ECH_INLINE void multiplyPanels(const ContractionRegion &g, int64_t row,
                               int64_t tall, const float *packedA, int64_t col,
                               int64_t wide, const float *packedB,
                               int64_t kFrom, int64_t depth) {
  TileProduct t;
  const bool inRows = !packedA && g.aM != 1;
  t.aStride = packedA ? kRows : inRows ? g.aM : g.aK;
  t.depth = depth;
  t.cStride = g.cM;
  t.add = kFrom > 0 || g.accumulate;
  for (int64_t j = 0; j < wide; j += kCols) {
    t.cols = lesser(kCols, wide - j);
    t.b = packedB ? packedB + j * depth : g.b + kFrom * g.bK + col + j;
    t.bStride = packedB ? kCols : g.bK;
    t.colBias = kFrom == 0 && g.colBias ? g.colBias + col + j : nullptr;
    for (int64_t i = 0; i < tall; i += kRows) {
      t.rows = lesser(kRows, tall - i);
      t.a =
          packedA ? packedA + i * depth : g.a + (row + i) * g.aM + kFrom * g.aK;
      t.c = g.c + (row + i) * g.cM + col + j;
      t.rowBias = kFrom == 0 && g.rowBias ? g.rowBias + row + i : nullptr;
      if (inRows)
        multiply<true>(t);
      else
        multiply<false>(t);
    }
  }
}

inline void contractRegion(const ContractionRegion &g, void *workspace) {
  float *packedA = static_cast<float *>(workspace);
  float *packedB = packedA + kTall * kContractionDepth;
  // Read in place, B must not be read beyond its columns: the ragged rest is
  // packed.
  const int64_t direct =
      g.bN == 1 && g.m <= kDirectRows ? g.n / kLanes * kLanes : 0;
  const bool directA = g.n <= kDirectCols && (g.aM == 1 || g.aK == 1);
  const int64_t blocks =
      greater(1, (g.k + kContractionDepth - 1) / kContractionDepth);
  const int64_t deep = greater(4, roundUp((g.k + blocks - 1) / blocks, 4));

  for (int64_t col = 0; col < g.n;) {
    const bool inPlace = col < direct;
    const int64_t wide = lesser(kWide, (inPlace ? direct : g.n) - col);
    for (int64_t k = 0; k < greater(g.k, 1); k += deep) {
      const int64_t depth = lesser(deep, g.k - k);
      if (!inPlace)
        packPanels<kCols>(g.b + k * g.bK + col * g.bN, g.bN, g.bK, wide, depth,
                          packedB);
      for (int64_t row = 0; row < g.m; row += kTall) {
        const int64_t tall = lesser(kTall, g.m - row);
        if (!directA)
          packPanels<kRows>(g.a + row * g.aM + k * g.aK, g.aM, g.aK, tall,
                            depth, packedA);
        multiplyPanels(g, row, tall, directA ? nullptr : packedA, col, wide,
                       inPlace ? nullptr : packedB, k, depth);
      }
    }
    col += wide;
  }
}

} // namespace echelon::kernels::ECH_ISA

#endif

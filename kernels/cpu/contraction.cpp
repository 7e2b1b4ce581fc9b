// SPDX-License-Identifier: Apache-2.0
//
// ech_contraction_f32: brings a descriptor to one form (unit n stride in C, as
// few batches as possible), cuts C into rectangles and hands them to the
// workers. Each rectangle packs its own operands, so that tasks share nothing;
// the cut never touches k, so that it cannot change a sum.
#include "kernels/cpu/isa.h"
#include "kernels/cpu/parallel.h"

namespace echelon::kernels {

namespace {

struct Contraction {
  const Isa *isa;
  ContractionRegion whole; // of batch (0, 0)
  int64_t x, y;
  int64_t aX, aY, bX, bY, cX, cY;
  int64_t rowParts, colParts; // the grid that C is cut into
  int64_t rowStep, colStep;
};

// Fewer multiply-adds than this are done before a second worker has woken up.
constexpr int64_t kSerialProducts = 1 << 18;
// Tasks for each worker: more balance uneven workers, fewer pack less.
constexpr int64_t kTasksPerWorker = 2;
// Rectangles below this edge spend their time packing.
constexpr int64_t kLeastEdge = 96;
// A multiple of every level's block, 8 x 32 and 4 x 24.
constexpr int64_t kRowUnit = 8, kColUnit = 96;

} // namespace

/// Rows of consecutive batches that share B are rows of one taller product.
static void mergeBatches(Contraction &p) {
  ContractionRegion &g = p.whole;
  if (g.rowBias)
    return;
  if (p.y > 1 && p.bY == 0 && p.aY == g.m * g.aM && p.cY == g.m * g.cM) {
    g.m *= p.y;
    p.y = 1;
  }
  if (p.x > 1 && p.y == 1 && p.bX == 0 && p.aX == g.m * g.aM &&
      p.cX == g.m * g.cM) {
    g.m *= p.x;
    p.x = 1;
  }
}

static Contraction normalise(const ech_contraction &d, const float *a,
                             const float *b, const float *bias, float *c) {
  const bool unitN = d.c_n == 1 || d.n == 1;
  const bool unitM = d.c_m == 1 || d.m == 1;
  if (!unitN && !unitM)
    fail("contraction_f32",
         "neither c's m stride %lld nor its n stride %lld is 1",
         static_cast<long long>(d.c_m), static_cast<long long>(d.c_n));
  Contraction p = {};
  p.x = d.x, p.y = d.y;
  p.cX = d.c_x, p.cY = d.c_y;
  // A column (n = 1) that lies contiguously is better a row of the transposed
  // product.
  const bool transposed = !unitN || (d.n == 1 && d.m > 1 && d.c_m == 1);
  if (transposed) {
    p.whole = {b,   a,     c,     bias,  nullptr, d.n,   d.m,
               d.k, d.b_n, d.b_k, d.a_k, d.a_m,   d.c_n, d.accumulate != 0};
    p.aX = d.b_x, p.aY = d.b_y, p.bX = d.a_x, p.bY = d.a_y;
  } else {
    p.whole = {a,   b,     c,     nullptr, bias,  d.m,   d.n,
               d.k, d.a_m, d.a_k, d.b_k,   d.b_n, d.c_m, d.accumulate != 0};
    p.aX = d.a_x, p.aY = d.a_y, p.bX = d.b_x, p.bY = d.b_y;
  }
  mergeBatches(p);
  return p;
}

/// The grid with at least `parts` cells whose cells have the least perimeter:
/// packing costs rows + columns, the product rows * columns.
static void cutGrid(Contraction &p, int64_t parts) {
  const int64_t m = p.whole.m, n = p.whole.n;
  const int64_t mostRows = atLeast(m / kLeastEdge, 1);
  const int64_t mostCols = atLeast(n / kLeastEdge, 1);
  p.rowParts = 1, p.colParts = 1;
  int64_t best = -1;
  for (int64_t rows = 1; rows <= mostRows && rows <= parts; ++rows) {
    const int64_t wanted = ceilDiv(parts, rows);
    const int64_t cols = wanted < mostCols ? wanted : mostCols;
    const int64_t cost = ceilDiv(m, rows) + ceilDiv(n, cols);
    const bool enough = rows * cols >= parts;
    const bool bestEnough = p.rowParts * p.colParts >= parts;
    const bool more = rows * cols > p.rowParts * p.colParts;
    if (best < 0 || (enough && (!bestEnough || cost < best)) ||
        (!enough && !bestEnough && more)) {
      best = cost;
      p.rowParts = rows, p.colParts = cols;
    }
  }
  p.rowStep = ceilDiv(ceilDiv(m, p.rowParts), kRowUnit) * kRowUnit;
  p.colStep = ceilDiv(ceilDiv(n, p.colParts), kColUnit) * kColUnit;
  p.rowParts = ceilDiv(m, p.rowStep);
  p.colParts = ceilDiv(n, p.colStep);
}

static void runPart(const Contraction &p, int64_t index, void *workspace) {
  const int64_t col = index % p.colParts * p.colStep;
  index /= p.colParts;
  const int64_t row = index % p.rowParts * p.rowStep;
  index /= p.rowParts;
  const int64_t y = index % p.y, x = index / p.y;
  ContractionRegion g = p.whole;
  g.m = g.m - row < p.rowStep ? g.m - row : p.rowStep;
  g.n = g.n - col < p.colStep ? g.n - col : p.colStep;
  g.a += x * p.aX + y * p.aY + row * g.aM;
  g.b += x * p.bX + y * p.bY + col * g.bN;
  g.c += x * p.cX + y * p.cY + row * g.cM + col;
  g.rowBias = g.rowBias ? g.rowBias + row : nullptr;
  g.colBias = g.colBias ? g.colBias + col : nullptr;
  p.isa->contractRegion(g, workspace);
}

void contract(const Isa &isa, const ech_launch *launch,
              const ech_contraction &d, const float *a, const float *b,
              const float *bias, float *c) {
  if (d.x <= 0 || d.y <= 0 || d.m <= 0 || d.n <= 0)
    return;
  Contraction p = normalise(d, a, b, bias, c);
  p.isa = &isa;
  const int64_t products = p.x * p.y * p.whole.m * p.whole.n * atLeast(d.k, 1);
  const bool serial = launch->workers == 1 || products < kSerialProducts;
  cutGrid(p,
          serial ? 1 : ceilDiv(kTasksPerWorker * launch->workers, p.x * p.y));
  const int64_t tasks = p.x * p.y * p.rowParts * p.colParts;
  const int64_t tasksPerCall = serial ? tasks : 1;
  parallelFor(launch, tasks / tasksPerCall,
              [&](int64_t index, void *workspace) {
                for (int64_t i = 0; i < tasksPerCall; ++i)
                  runPart(p, index * tasksPerCall + i, workspace);
              });
}

} // namespace echelon::kernels

void ech_contraction_f32(const ech_launch *launch,
                         const ech_contraction *contraction, const float *a,
                         const float *b, const float *bias, float *c) {
  using namespace echelon::kernels;
  contract(currentIsa(), launch, *contraction, a, b, bias, c);
}

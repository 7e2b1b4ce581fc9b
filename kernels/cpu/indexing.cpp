// SPDX-License-Identifier: Apache-2.0
//
// ech_embedding_f32 gathers rows of a table; ech_embedding_grad_f32 adds rows
// back into it, each element of the table by one worker in the order of the
// ids.
#include "kernels/cpu/isa.h"
#include "kernels/cpu/parallel.h"

#include <string.h>

namespace echelon::kernels {

namespace {

constexpr int64_t kGatherFloats = 1 << 14; // of one task: 64 KiB
constexpr int64_t kZeroFloats = 1 << 18;   // of one task: 1 MiB
constexpr int64_t kStripFloats = 64; // least columns of a task: 4 cache lines

} // namespace

static int64_t rowOf(const char *kernel, const ech_embedding &d,
                     const int64_t *ids, int64_t i) {
  const int64_t id = ids[i];
  const int64_t row = id < 0 ? id + d.rows : id;
  if (row < 0 || row >= d.rows)
    fail(kernel, "id %lld at position %lld is outside [-%lld, %lld)",
         static_cast<long long>(id), static_cast<long long>(i),
         static_cast<long long>(d.rows), static_cast<long long>(d.rows));
  return row;
}

static void gather(const ech_launch *launch, const ech_embedding &d,
                   const float *table, const int64_t *ids, float *out) {
  if (d.count <= 0 || d.width <= 0)
    return;
  const int64_t step = atLeast(1, kGatherFloats / d.width);
  parallelFor(launch, ceilDiv(d.count, step), [&](int64_t chunk, void *) {
    const int64_t last = atMost((chunk + 1) * step, d.count);
    for (int64_t i = chunk * step; i < last; ++i)
      memcpy(out + i * d.out_row,
             table + rowOf("embedding_f32", d, ids, i) * d.width,
             static_cast<size_t>(d.width) * 4);
  });
}

static void zero(const ech_launch *launch, float *values, int64_t count) {
  parallelFor(launch, ceilDiv(count, kZeroFloats), [&](int64_t chunk, void *) {
    const int64_t first = chunk * kZeroFloats;
    memset(values + first, 0,
           static_cast<size_t>(atMost(kZeroFloats, count - first)) * 4);
  });
}

static void scatter(const ech_launch *launch, const ech_embedding &d,
                    const int64_t *ids, const float *dout, float *dtable) {
  if (d.rows <= 0 || d.width <= 0)
    return;
  if (!d.accumulate)
    zero(launch, dtable, d.rows * d.width);
  // Workers split the columns and, where those are too few, the table's rows by
  // residue: both ways each element has one owner.
  const int64_t strips = atLeast(
      1, atMost(ceilDiv(d.width, kStripFloats), int64_t{launch->workers}));
  const int64_t strip =
      ceilDiv(ceilDiv(d.width, strips), kStripFloats) * kStripFloats;
  const int64_t stripCount = ceilDiv(d.width, strip);
  const int64_t residues = ceilDiv(launch->workers, stripCount);
  parallelFor(launch, stripCount * residues, [&](int64_t task, void *) {
    const int64_t from = task % stripCount * strip;
    const int64_t width = atMost(strip, d.width - from);
    const int64_t residue = task / stripCount;
    for (int64_t i = 0; i < d.count; ++i) {
      const int64_t row = rowOf("embedding_grad_f32", d, ids, i);
      if (residues > 1 && row % residues != residue)
        continue;
      float *to = dtable + row * d.width + from;
      const float *add = dout + i * d.out_row + from;
      for (int64_t j = 0; j < width; ++j)
        to[j] += add[j];
    }
  });
}

} // namespace echelon::kernels

void ech_embedding_f32(const ech_launch *launch, const ech_embedding *embedding,
                       const float *table, const int64_t *ids, float *out) {
  echelon::kernels::gather(launch, *embedding, table, ids, out);
}

void ech_embedding_grad_f32(const ech_launch *launch,
                            const ech_embedding *embedding, const int64_t *ids,
                            const float *dout, float *dtable) {
  echelon::kernels::scatter(launch, *embedding, ids, dout, dtable);
}

// SPDX-License-Identifier: Apache-2.0
//
// One row of the cross-entropy: the log of the sum of exponentials and the
// softmax gradient.
#ifndef ECHELON_KERNELS_CPU_LOSS_ROWS_H
#define ECHELON_KERNELS_CPU_LOSS_ROWS_H

#include "kernels/cpu/isa.h"
#include "kernels/cpu/simd.h"

#include <math.h>

namespace echelon::kernels::ECH_ISA {

/// A part of a row that stays in the first-level cache between its two
/// readings.
constexpr int64_t kRowChunk = 4096;

ECH_INLINE float maximumOf(const float *x, int64_t count) {
  Vec m = splat(-kInfinity);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    m = maximum(m, load(x + i));
  float result = maxLanes(m);
  for (; i < count; ++i)
    result = result > x[i] ? result : x[i];
  return result;
}

/// sum exp(x[i] - top), in f64.
ECH_INLINE double sumExponentials(const float *x, int64_t count, float top) {
  WideVec sum = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    sum = addWide(sum, exponential(load(x + i) - top));
  double total = sumLanes(sum);
  if (i < count) {
    const Vec rest = exponential(loadPart(x + i, count - i) - top);
    for (int64_t lane = 0; lane < count - i; ++lane)
      total += static_cast<double>(rest[lane]);
  }
  return total;
}

ECH_INLINE double sumValues(const float *x, int64_t count) {
  WideVec sum = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    sum = addWide(sum, load(x + i));
  double total = sumLanes(sum);
  for (; i < count; ++i)
    total += static_cast<double>(x[i]);
  return total;
}

inline double logSumExp(const float *x, int64_t count, double *sum) {
  float top = -kInfinity;
  double exps = 0, values = 0;
  for (int64_t i = 0; i < count; i += kRowChunk) {
    const int64_t length = lesser(kRowChunk, count - i);
    const float chunkTop = maximumOf(x + i, length);
    if (chunkTop > top) {
      exps *= exp(static_cast<double>(top) - static_cast<double>(chunkTop));
      top = chunkTop;
    }
    // Before the first value above -inf the exponentials are zeros, not NaN.
    exps += sumExponentials(x + i, length, top == -kInfinity ? 0.0f : top);
    if (sum)
      values += sumValues(x + i, length);
  }
  if (sum)
    *sum = values;
  return static_cast<double>(top) + log(exps);
}

inline double softmaxGrad(const float *x, int64_t count, float lse, float scale,
                          float shift, float *out) {
  WideVec sum = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vec p = exponential(load(x + i) - lse);
    sum = addWide(sum, p);
    store(out + i, p * scale - shift);
  }
  double total = sumLanes(sum);
  if (i < count) {
    const Vec p = exponential(loadPart(x + i, count - i) - lse);
    for (int64_t lane = 0; lane < count - i; ++lane)
      total += static_cast<double>(p[lane]);
    storePart(out + i, p * scale - shift, count - i);
  }
  return total;
}

} // namespace echelon::kernels::ECH_ISA

#endif

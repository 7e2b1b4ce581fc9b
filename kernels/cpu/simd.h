// SPDX-License-Identifier: Apache-2.0
//
// Vectors of f32 for the CPU kernels, in the compilers' vector extensions. This
// header and those built on it (tile.h, *_tiles.h) are compiled once per
// instruction-set level, from isa_avx2.cpp and isa_avx512.cpp; everything lives
// in a namespace named after the level, so that the linker can never merge code
// of two levels. For the same reason nothing here comes from the C++ standard
// library: its templates would be emitted under shared names.
#ifndef ECHELON_KERNELS_CPU_SIMD_H
#define ECHELON_KERNELS_CPU_SIMD_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#define ECH_ISA avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define ECH_ISA avx2
#else
#error "compile this header with AVX2 and FMA, or with AVX-512"
#endif

#define ECH_INLINE inline __attribute__((always_inline))

#if defined(__clang__)
#define ECH_UNROLL _Pragma("clang loop unroll(full)")
#else
#define ECH_UNROLL _Pragma("GCC unroll 32")
#endif

namespace echelon::kernels::ECH_ISA {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8;
#endif

using Vec = float __attribute__((vector_size(kLanes * 4)));
using IntVec = int32_t __attribute__((vector_size(kLanes * 4)));
using HalfVec = float __attribute__((vector_size(kLanes * 2)));
using WideVec = double __attribute__((vector_size(kLanes * 4)));
using Quad = float __attribute__((vector_size(16)));

constexpr float kInfinity = __builtin_inff();

ECH_INLINE int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }
ECH_INLINE int64_t greater(int64_t a, int64_t b) { return a < b ? b : a; }
ECH_INLINE int64_t roundUp(int64_t a, int64_t unit) {
  return (a + unit - 1) / unit * unit;
}

ECH_INLINE Vec splat(float value) { return value - Vec{}; }

/// Loads and stores at any alignment.
ECH_INLINE Vec load(const float *p) {
  Vec v;
  memcpy(&v, p, sizeof v);
  return v;
}
ECH_INLINE void store(float *p, Vec v) { memcpy(p, &v, sizeof v); }

/// Copies at most a vector's floats without a call.
ECH_INLINE void copyPart(float *to, const float *from, int64_t count) {
  if (count == kLanes) {
    memcpy(to, from, kLanes * 4);
    return;
  }
  if (kLanes > 8 && (count & 8))
    memcpy(to, from, 32), to += 8, from += 8;
  if (count & 4)
    memcpy(to, from, 16), to += 4, from += 4;
  if (count & 2)
    memcpy(to, from, 8), to += 2, from += 2;
  if (count & 1)
    *to = *from;
}

/// The first `count` lanes, the others 0; reads nothing beyond them. 0 <= count
/// <= kLanes.
ECH_INLINE Vec loadPart(const float *p, int64_t count) {
  float lanes[kLanes] = {};
  copyPart(lanes, p, count);
  return load(lanes);
}
ECH_INLINE void storePart(float *p, Vec v, int64_t count) {
  float lanes[kLanes];
  store(lanes, v);
  copyPart(p, lanes, count);
}

/// Per lane a > b ? a : b and a < b ? a : b, so that a NaN in `b` survives.
ECH_INLINE Vec maximum(Vec a, Vec b) { return a > b ? a : b; }
ECH_INLINE Vec minimum(Vec a, Vec b) { return a < b ? a : b; }

/// The upper half of the lanes over the lower, then the upper quarter, and so
/// on: step `width` of a reduction that always takes the same order.
template <int Width> ECH_INLINE Vec foldDown(Vec v) {
#if defined(__AVX512F__)
  if constexpr (Width == 8)
    return __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2,
                                   3, 4, 5, 6, 7);
  else if constexpr (Width == 4)
    return __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15,
                                   8, 9, 10, 11);
  else if constexpr (Width == 2)
    return __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9,
                                   14, 15, 12, 13);
  else
    return __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10,
                                   13, 12, 15, 14);
#else
  if constexpr (Width == 4)
    return __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
  else if constexpr (Width == 2)
    return __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5);
  else
    return __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6);
#endif
}

ECH_INLINE float sumLanes(Vec v) {
  if constexpr (kLanes == 16)
    v += foldDown<8>(v);
  v += foldDown<4>(v);
  v += foldDown<2>(v);
  v += foldDown<1>(v);
  return v[0];
}
ECH_INLINE float maxLanes(Vec v) {
  if constexpr (kLanes == 16)
    v = maximum(v, foldDown<8>(v));
  v = maximum(v, foldDown<4>(v));
  v = maximum(v, foldDown<2>(v));
  v = maximum(v, foldDown<1>(v));
  return v[0];
}
ECH_INLINE double sumLanes(WideVec v) {
  double sum = 0;
  for (int i = 0; i < kLanes / 2; ++i)
    sum += v[i];
  return sum;
}

/// Adds the lanes of `v`, converted to f64, to the f64 accumulator.
ECH_INLINE WideVec addWide(WideVec sum, Vec v) {
  HalfVec low, high;
  memcpy(&low, &v, sizeof low);
  memcpy(&high, reinterpret_cast<const char *>(&v) + sizeof low, sizeof high);
  return sum + (__builtin_convertvector(low, WideVec) +
                __builtin_convertvector(high, WideVec));
}

/// e^x within 1.1 ulp for -87.33 <= x <= 88.37; denormal results lose digits
/// and end at 0 below -87.68; +inf above 88.37; NaN stays NaN. x = n ln2 + r
/// with |r| <= ln2 / 2 and e^r = 1 + r + r^2 q(r), q of degree 4 interpolating
/// (e^r - 1 - r) / r^2 at the five Chebyshev nodes of |r| <= 0.347: relative
/// error of e^r below 6e-9, computed in 60 digits.
ECH_INLINE Vec exponential(Vec x) {
  // Adding 1.5 * 2^23 + 127 rounds to an integer and leaves n + 127, the biased
  // exponent of 2^n, in the low bits: 0 for n = -127, the pattern of infinity
  // for n = 128.
  const float kMagic = 12582912.0f + 127.0f;
  Vec clamped = maximum(splat(-88.0f), x);
  clamped = minimum(splat(88.73f), clamped);
  const Vec shifted = clamped * 1.44269504f + kMagic;
  const Vec n = shifted - kMagic;
  Vec r = clamped - n * 0.693359375f; // exact: 9 bits times 8 bits
  r = r + n * 2.12194440e-4f;
  Vec y = r * 0.00139262504f + 0.00836323295f;
  y = y * r + 0.0416665524f;
  y = y * r + 0.166665763f;
  y = y * r + 0.5f;
  y = y * r + 1.0f;
  y = y * r + 1.0f;
  return y * (Vec)((IntVec)shifted << 23);
}

/// The same of one number: a call of libm costs more than the idle lanes.
ECH_INLINE float exponential(float x) { return exponential(splat(x))[0]; }

} // namespace echelon::kernels::ECH_ISA

#endif

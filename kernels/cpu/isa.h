// SPDX-License-Identifier: Apache-2.0
//
// The parts of the kernels that exist once per instruction-set level, as a
// table of functions, and the choice of the level at run time. The entry points
// (contraction.cpp, attention.cpp, loss.cpp) cut a call into independent tasks,
// spread them over the workers and let the table do the arithmetic; the tests
// run every table that the machine supports.
#ifndef ECHELON_KERNELS_CPU_ISA_H
#define ECHELON_KERNELS_CPU_ISA_H

#include "runtime/abi/kernels.h"

namespace echelon::kernels {

/// Products summed in registers before they are added to C, at every level: it
/// fixes the order of each sum.
constexpr int64_t kContractionDepth = 384;

/// c[i * cM + j] = (accumulate ? c : 0) + rowBias[i] + colBias[j] + sum_k a[i *
/// aM + k * aK] * b[k * bK + j * bN]; a bias may be null.
struct ContractionRegion {
  const float *a, *b;
  float *c;
  const float *rowBias, *colBias;
  int64_t m, n, k;
  int64_t aM, aK, bK, bN, cM;
  bool accumulate;
};

/// The operands of ech_attention_f32 and ech_attention_grad_f32; unused ones
/// are null.
struct AttentionOperands {
  const float *q, *k, *v, *mask;
  const float *o, *lse, *dout;
  float *oOut, *lseOut, *dq, *dk, *dv;
};

/// Queries of one forward task, at every level.
constexpr int64_t kAttentionQueries = 256;

struct Isa {
  const char *name;
  void (*contractRegion)(const ContractionRegion &, void *workspace);
  /// Queries [first, first + kAttentionQueries) of one head.
  void (*attend)(const ech_attention &, const AttentionOperands &,
                 int64_t batch, int64_t head, int64_t first, void *workspace);
  /// One key-value head with all its query heads: writes its dk, dv and their
  /// dq.
  void (*attendGrad)(const ech_attention &, const AttentionOperands &,
                     int64_t batch, int64_t kvHead, void *workspace);
  /// log sum_c exp(x[c]); *sum = sum_c x[c] unless null. Reads x once.
  double (*logSumExp)(const float *x, int64_t count, double *sum);
  /// out[c] = scale * exp(x[c] - lse) - shift; out may be x. Returns sum_c
  /// exp(x[c] - lse).
  double (*softmaxGrad)(const float *x, int64_t count, float lse, float scale,
                        float shift, float *out);
  /// Bytes of workspace that attend and attendGrad need for these head sizes.
  int64_t (*attentionBytes)(int64_t headDim, int64_t valueDim);
};

extern const Isa kAvx2;
extern const Isa kAvx512;

bool isSupported(const Isa &isa);

/// The widest level of this processor. Ends the process with a message on
/// stderr if it has none.
const Isa &currentIsa();

/// Ends the process: a descriptor or index breaks the contract of kernels.h.
[[noreturn]] void fail(const char *kernel, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/// The kernels with a chosen level; the entry points of kernels.h use
/// currentIsa().
void contract(const Isa &, const ech_launch *, const ech_contraction &,
              const float *a, const float *b, const float *bias, float *c);
void attend(const Isa &, const ech_launch *, const ech_attention &,
            const AttentionOperands &);
void attendGrad(const Isa &, const ech_launch *, const ech_attention &,
                const AttentionOperands &);
void crossEntropy(const Isa &, const ech_launch *, const ech_cross_entropy &,
                  const float *logits, const int64_t *labels, float *lossSum,
                  float *count, float *lse);
void crossEntropyGrad(const Isa &, const ech_launch *,
                      const ech_cross_entropy &, const float *logits,
                      const int64_t *labels, const float *lse,
                      const float *dloss, float *dlogits);

} // namespace echelon::kernels

#endif

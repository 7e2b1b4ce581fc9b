// SPDX-License-Identifier: Apache-2.0
//
// ech_cross_entropy_f32 and its gradient: rows are cut into chunks whose size
// depends on the descriptor alone; a chunk leaves its partial sums in the
// workspace and the chunks are added in order, so that the loss does not depend
// on the workers.
#include "kernels/cpu/isa.h"
#include "kernels/cpu/parallel.h"

namespace echelon::kernels {

namespace {

struct Partial {
  double loss;
  int64_t count;
};

constexpr int64_t kLeastRows = 8; // of a chunk
constexpr int64_t kMostChunks =
    static_cast<int64_t>(ECH_WORKSPACE_BYTES / sizeof(Partial));

} // namespace

static int64_t rowsPerChunk(int64_t rows) {
  return atLeast(kLeastRows, ceilDiv(rows, kMostChunks));
}

static void checkLabel(const char *kernel, const ech_cross_entropy &d,
                       const int64_t *labels, int64_t row) {
  if (labels[row] < 0 || labels[row] >= d.classes)
    fail(kernel, "label %lld of row %lld is outside [0, %lld)",
         static_cast<long long>(labels[row]), static_cast<long long>(row),
         static_cast<long long>(d.classes));
}

/// Losses and lse of rows [first, last).
static Partial lossOfRows(const Isa &isa, const ech_cross_entropy &d,
                          int64_t first, int64_t last, const float *logits,
                          const int64_t *labels, float *lse) {
  Partial partial = {0, 0};
  const double smoothing = d.label_smoothing;
  for (int64_t row = first; row < last; ++row) {
    const float *x = logits + row * d.logits_row;
    double sum = 0;
    const double rowLse =
        isa.logSumExp(x, d.classes, smoothing != 0 ? &sum : nullptr);
    lse[row] = static_cast<float>(rowLse);
    if (labels[row] == d.ignore_index)
      continue;
    checkLabel("cross_entropy_f32", d, labels, row);
    double loss =
        rowLse - (1 - smoothing) * static_cast<double>(x[labels[row]]);
    // Not a product with zero: the sum is infinite where a logit is -inf.
    if (smoothing != 0)
      loss -= smoothing / static_cast<double>(d.classes) * sum;
    partial.loss += loss;
    ++partial.count;
  }
  return partial;
}

void crossEntropy(const Isa &isa, const ech_launch *launch,
                  const ech_cross_entropy &d, const float *logits,
                  const int64_t *labels, float *lossSum, float *count,
                  float *lse) {
  const int64_t step = rowsPerChunk(d.rows);
  const int64_t chunks = ceilDiv(d.rows, step);
  Partial *partials = static_cast<Partial *>(launch->workspace);
  parallelFor(launch, chunks, [&](int64_t chunk, void *) {
    const int64_t first = chunk * step;
    partials[chunk] = lossOfRows(isa, d, first, atMost(first + step, d.rows),
                                 logits, labels, lse);
  });
  Partial total = {0, 0};
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    total.loss += partials[chunk].loss;
    total.count += partials[chunk].count;
  }
  *lossSum = static_cast<float>(total.loss);
  *count = static_cast<float>(total.count);
}

static void gradOfRow(const Isa &isa, const ech_cross_entropy &d, float dloss,
                      const float *x, int64_t label, float lse, float *dx) {
  const double smoothing = d.label_smoothing;
  const double uniform = smoothing / static_cast<double>(d.classes);
  // dx may be x: the label's logit is read before the row is written.
  float labelProbability;
  isa.softmaxGrad(x + label, 1, lse, 1, 0, &labelProbability);
  const double all = isa.softmaxGrad(
      x, d.classes, lse, dloss,
      static_cast<float>(static_cast<double>(dloss) * uniform), dx);
  // p - 1 cancels once the model is sure, down to the rounding of lse; the sum
  // of the other classes says the same and keeps its digits.
  const double p = static_cast<double>(labelProbability);
  const double difference = p > 0.5 ? p - all : p - 1;
  dx[label] = static_cast<float>(static_cast<double>(dloss) *
                                 (difference + smoothing - uniform));
}

void crossEntropyGrad(const Isa &isa, const ech_launch *launch,
                      const ech_cross_entropy &d, const float *logits,
                      const int64_t *labels, const float *lse,
                      const float *dloss, float *dlogits) {
  const int64_t step = rowsPerChunk(d.rows);
  parallelFor(launch, ceilDiv(d.rows, step), [&](int64_t chunk, void *) {
    const int64_t last = atMost((chunk + 1) * step, d.rows);
    for (int64_t row = chunk * step; row < last; ++row) {
      float *dx = dlogits + row * d.dlogits_row;
      if (labels[row] == d.ignore_index) {
        __builtin_memset(dx, 0, static_cast<size_t>(d.classes) * 4);
        continue;
      }
      checkLabel("cross_entropy_grad_f32", d, labels, row);
      gradOfRow(isa, d, *dloss, logits + row * d.logits_row, labels[row],
                lse[row], dx);
    }
  });
}

} // namespace echelon::kernels

void ech_cross_entropy_f32(const ech_launch *launch,
                           const ech_cross_entropy *loss, const float *logits,
                           const int64_t *labels, float *lossSum, float *count,
                           float *lse) {
  using namespace echelon::kernels;
  crossEntropy(currentIsa(), launch, *loss, logits, labels, lossSum, count,
               lse);
}

void ech_cross_entropy_grad_f32(const ech_launch *launch,
                                const ech_cross_entropy *loss,
                                const float *logits, const int64_t *labels,
                                const float *lse, const float *dloss,
                                float *dlogits) {
  using namespace echelon::kernels;
  crossEntropyGrad(currentIsa(), launch, *loss, logits, labels, lse, dloss,
                   dlogits);
}

// SPDX-License-Identifier: Apache-2.0
//
// Attention and its gradients in double, straight from the definition, each
// result with a bound on the error that f32 arithmetic may leave in it.
#ifndef ECHELON_TEST_NUMERICS_KERNELS_ATTENTION_REFERENCE_H
#define ECHELON_TEST_NUMERICS_KERNELS_ATTENTION_REFERENCE_H

#include "test/numerics/kernels/launch.h"

namespace echelon::test {

/// Operands in f32 at the descriptor's strides.
struct AttentionCase {
  ech_attention d = {};
  std::vector<float> q, k, v, mask, dout;
};

/// A dense [batch, position, head, dim] result and the bound of each element.
struct Bounded {
  std::vector<double> value, bound;
  void assign(int64_t count) {
    value.assign(static_cast<size_t>(count), 0);
    bound.assign(static_cast<size_t>(count), 0);
  }
};

struct AttentionReference {
  Bounded o, lse, dq, dk, dv;
};

bool seesKey(const ech_attention &d, int64_t query, int64_t key);

AttentionReference referenceAttention(const AttentionCase &test);

/// sum dout * o in double for operands in double at the descriptor's strides:
/// the function whose gradients finite differences check.
double attentionObjective(const AttentionCase &test,
                          const std::vector<double> &q,
                          const std::vector<double> &k,
                          const std::vector<double> &v);

} // namespace echelon::test

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors and prototypes of the library kernels in kernels.def. A descriptor is constant
 * data of the compiled program: shapes, strides and scalars are known at compile time. Strides
 * count elements, not bytes. Operands of one call never overlap unless a comment allows it.
 */
#ifndef ECHELON_RUNTIME_ABI_KERNELS_H
#define ECHELON_RUNTIME_ABI_KERNELS_H

#include "runtime/abi/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* c[x,y,m,n] = (accumulate ? c : 0) + (bias ? bias[n] : 0) + sum_k a[x,y,m,k] * b[x,y,k,n].
 * x, y: batch dims (1 where unused). A stride of 0 broadcasts an operand. `bias` may be NULL;
 * it is dense [n]. c's n stride is 1 or its m stride is 1; a and b are arbitrary.
 * Result: each element is summed over k in an order that depends only on the descriptor. */
typedef struct ech_contraction {
  int64_t x, y, m, n, k;
  int64_t a_x, a_y, a_m, a_k;
  int64_t b_x, b_y, b_k, b_n;
  int64_t c_x, c_y, c_m, c_n;
  int64_t accumulate; /* 0 or 1 */
} ech_contraction;

typedef struct ech_strides3 {
  int64_t batch, position, head; /* the head dim itself has stride 1 */
} ech_strides3;

/* o[b,i,h,:] = sum_j p[b,h,i,j] v[b,j,h/g,:],  p = softmax_j(scale * q[b,i,h,:].k[b,j,h/g,:] + mask),
 * g = heads / kv_heads. lse[b,h,i] (dense) = log sum_j exp(scale q.k + mask), -inf for a row that sees
 * nothing; such a row gives o = 0 and no gradient.
 * Causal: key j is seen by query i iff j <= i + keys - queries (bottom right). window > 0: and
 * j > i + keys - queries - window. `mask` (additive f32, NULL if absent) is read at
 * b*mask_batch + h*mask_head + i*mask_query + j*mask_key.
 * The window is a lower bound on j, with or without `causal`.
 * Arguments: q, k, v, mask -> o, lse; gradient: q, k, v, mask, o, lse, dout -> dq, dk, dv.
 * Gradients: dq, dk, dv are overwritten; dk and dv sum over the g query heads of a group. `out_grad`
 * strides are those of `dout`. No (queries x keys) matrix is ever stored. */
typedef struct ech_attention {
  int64_t batch, queries, keys, heads, kv_heads, head_dim, value_dim;
  ech_strides3 q, k, v, o;
  ech_strides3 dout, dq, dk, dv;
  int64_t mask_batch, mask_head, mask_query, mask_key;
  int64_t causal; /* 0 or 1 */
  int64_t window; /* 0: none */
  double scale;
} ech_attention;

/* out[i,:] = table[ids[i],:]; negative ids count from the end. Rows of `out` are out_row apart, rows of
 * the table dense. Gradient: dtable[ids[i],:] += dout[i,:] in the order of i (deterministic); it first
 * zeroes dtable unless `accumulate`. Arguments: table, ids -> out; gradient: ids, dout -> dtable, where out_row is the
 * distance of dout's rows. An id outside [-rows, rows) ends the process: the runtime checks inputs before. */
typedef struct ech_embedding {
  int64_t count, rows, width;
  int64_t out_row;
  int64_t accumulate;
} ech_embedding;

/* logits [rows, classes] (rows logits_row apart), labels [rows]. For label y != ignore_index:
 *   loss_r = lse_r - (1-s) * logits[r,y] - s/classes * sum_c logits[r,c],   s = label smoothing.
 * loss_sum = sum of loss_r, count = number of rows not ignored (both f32 scalars, accumulated in f64 inside
 * and written, not added); lse [rows]. Gradient: dlogits[r,c] = dloss * (softmax_rc - (1-s) [c==y] - s/classes),
 * 0 for ignored rows; dlogits may be the logits' own memory. dloss: f32 scalar. Arguments: logits, labels -> loss_sum,
 * count, lse; gradient: logits, labels, lse, dloss -> dlogits. */
typedef struct ech_cross_entropy {
  int64_t rows, classes;
  int64_t logits_row, dlogits_row;
  int64_t ignore_index;
  double label_smoothing;
} ech_cross_entropy;

/* Learning rate of step t = launch->step (0-based): warmup base*(t+1)/warmup_steps while t < warmup_steps,
 * then constant, or linear / cosine from base to min_lr, reached at t = total_steps - 1 (docs/reference/train.md). */
typedef struct ech_learning_rate {
  int64_t kind; /* 0 constant, 1 linear, 2 cosine */
  int64_t warmup_steps, total_steps;
  double base, min_lr;
} ech_learning_rate;

/* out[0] = 1 / (1 - beta1^(t+1)), out[1] = 1 / sqrt(1 - beta2^(t+1)), computed in f64. */
typedef struct ech_adam_bias {
  double beta1, beta2;
} ech_adam_bias;

#define DESC(type) const type *
#define IN(type) const type *
#define OUT(type) type *
#define ECH_KERNEL(name, ...) void ech_##name(const ech_launch *, __VA_ARGS__);
#include "runtime/abi/kernels.def"
#undef ECH_KERNEL
#undef OUT
#undef IN
#undef DESC

#ifdef __cplusplus
}
#endif
#endif

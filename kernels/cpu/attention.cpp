// SPDX-License-Identifier: Apache-2.0
//
// ech_attention_f32 and ech_attention_grad_f32: tasks are blocks of queries of
// one head forwards, and key-value heads with their group backwards.
#include "kernels/cpu/isa.h"
#include "kernels/cpu/parallel.h"

namespace echelon::kernels {

static void check(const char *kernel, const Isa &isa, const ech_attention &d) {
  if (d.kv_heads <= 0 || d.heads % d.kv_heads != 0)
    fail(kernel, "%lld heads are no multiple of %lld key-value heads",
         static_cast<long long>(d.heads), static_cast<long long>(d.kv_heads));
  const int64_t bytes = isa.attentionBytes(d.head_dim, d.value_dim);
  if (bytes > static_cast<int64_t>(ECH_WORKSPACE_BYTES))
    fail(kernel,
         "head dim %lld with value dim %lld needs %lld bytes of workspace, "
         "a worker has %u",
         static_cast<long long>(d.head_dim),
         static_cast<long long>(d.value_dim), static_cast<long long>(bytes),
         ECH_WORKSPACE_BYTES);
}

void attend(const Isa &isa, const ech_launch *launch, const ech_attention &d,
            const AttentionOperands &x) {
  check("attention_f32", isa, d);
  const int64_t blocks = ceilDiv(d.queries, kAttentionQueries);
  parallelFor(
      launch, d.batch * d.heads * blocks, [&](int64_t task, void *workspace) {
        const int64_t block = task % blocks;
        const int64_t head = task / blocks % d.heads;
        const int64_t batch = task / blocks / d.heads;
        isa.attend(d, x, batch, head, block * kAttentionQueries, workspace);
      });
}

void attendGrad(const Isa &isa, const ech_launch *launch,
                const ech_attention &d, const AttentionOperands &x) {
  check("attention_grad_f32", isa, d);
  parallelFor(launch, d.batch * d.kv_heads, [&](int64_t task, void *workspace) {
    isa.attendGrad(d, x, task / d.kv_heads, task % d.kv_heads, workspace);
  });
}

} // namespace echelon::kernels

void ech_attention_f32(const ech_launch *launch, const ech_attention *attention,
                       const float *q, const float *k, const float *v,
                       const float *mask, float *o, float *lse) {
  using namespace echelon::kernels;
  AttentionOperands x = {};
  x.q = q, x.k = k, x.v = v, x.mask = mask;
  x.oOut = o, x.lseOut = lse;
  attend(currentIsa(), launch, *attention, x);
}

void ech_attention_grad_f32(const ech_launch *launch,
                            const ech_attention *attention, const float *q,
                            const float *k, const float *v, const float *mask,
                            const float *o, const float *lse, const float *dout,
                            float *dq, float *dk, float *dv) {
  using namespace echelon::kernels;
  AttentionOperands x = {};
  x.q = q, x.k = k, x.v = v, x.mask = mask;
  x.o = o, x.lse = lse, x.dout = dout;
  x.dq = dq, x.dk = dk, x.dv = dv;
  attendGrad(currentIsa(), launch, *attention, x);
}

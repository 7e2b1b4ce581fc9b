// SPDX-License-Identifier: Apache-2.0
//
// ech_attention_f32 and ech_attention_grad_f32 against the double reference,
// and the reference's gradients against finite differences.
#include "test/numerics/kernels/attention_reference.h"

#include <gtest/gtest.h>

#include <string>

using namespace echelon;
using namespace echelon::test;

namespace {

struct Shape {
  int64_t batch, queries, keys, heads, kvHeads, headDim, valueDim;
};

enum class MaskKind { kNone, kDense, kPerKey, kPerHead, kExcluding };

struct Style {
  bool causal = false;
  int64_t window = 0;
  MaskKind mask = MaskKind::kNone;
  float logits =
      1; // q and k are uniform in +-1; scores reach about this times 2
  bool packed = false;
};

int64_t floats(const ech_strides3 &s, int64_t batch, int64_t positions,
               int64_t heads, int64_t dims) {
  return (batch - 1) * s.batch + (positions - 1) * s.position +
         (heads - 1) * s.head + dims;
}

/// Position-major or head-major, with gaps.
ech_strides3 randomStrides(Random &random, int64_t positions, int64_t heads,
                           int64_t dims) {
  ech_strides3 s;
  const int64_t gap = random.integer(0, 3);
  if (random.chance(0.5)) {
    s.head = dims + gap;
    s.position = s.head * heads + random.integer(0, 3);
    s.batch = s.position * positions + random.integer(0, 3);
  } else {
    s.position = dims + gap;
    s.head = s.position * positions + random.integer(0, 3);
    s.batch = s.head * heads + random.integer(0, 3);
  }
  return s;
}

void makeMask(Random &random, MaskKind kind, AttentionCase &test) {
  ech_attention &d = test.d;
  if (kind == MaskKind::kNone)
    return;
  if (kind == MaskKind::kPerKey) { // padding: [batch, 1, 1, keys]
    d.mask_batch = d.keys, d.mask_key = 1;
    test.mask = random.floats(d.batch * d.keys, -2, 2);
  } else if (kind == MaskKind::kPerHead) { // transposed [heads, keys, queries]
    d.mask_head = d.keys * d.queries, d.mask_key = d.queries, d.mask_query = 1;
    test.mask = random.floats(d.heads * d.keys * d.queries, -2, 2);
  } else {
    d.mask_batch = d.heads * d.queries * d.keys;
    d.mask_head = d.queries * d.keys, d.mask_query = d.keys, d.mask_key = 1;
    test.mask = random.floats(d.batch * d.mask_batch, -2, 2);
  }
  if (kind == MaskKind::kExcluding)
    for (float &value : test.mask) // some rows see nothing at all
      value = random.chance(0.6) ? -kInfinity : value;
}

AttentionCase makeCase(Random &random, const Shape &s, const Style &style) {
  AttentionCase test;
  ech_attention &d = test.d;
  d.batch = s.batch, d.queries = s.queries, d.keys = s.keys;
  d.heads = s.heads, d.kv_heads = s.kvHeads;
  d.head_dim = s.headDim, d.value_dim = s.valueDim;
  d.q = d.dq = randomStrides(random, s.queries, s.heads, s.headDim);
  d.k = d.dk = randomStrides(random, s.keys, s.kvHeads, s.headDim);
  d.v = d.dv = randomStrides(random, s.keys, s.kvHeads, s.valueDim);
  d.o = randomStrides(random, s.queries, s.heads, s.valueDim);
  d.dout = randomStrides(random, s.queries, s.heads, s.valueDim);
  d.causal = style.causal, d.window = style.window;
  // Dot products of uniform values have the variance dim / 9.
  d.scale = style.logits / std::sqrt(static_cast<double>(s.headDim) / 9 + 0.1);
  test.q =
      random.floats(floats(d.q, s.batch, s.queries, s.heads, s.headDim), -1, 1);
  test.k =
      random.floats(floats(d.k, s.batch, s.keys, s.kvHeads, s.headDim), -1, 1);
  test.v =
      random.floats(floats(d.v, s.batch, s.keys, s.kvHeads, s.valueDim), -1, 1);
  test.dout = random.floats(
      floats(d.dout, s.batch, s.queries, s.heads, s.valueDim), -1, 1);
  makeMask(random, style.mask, test);
  return test;
}

/// Results at the descriptor's strides in memory that was all NaN.
struct Result {
  std::vector<float> o, lse, dq, dk, dv;
};

Result run(const AttentionCase &test, const kernels::Isa &isa,
           int32_t workers) {
  const ech_attention &d = test.d;
  Launch launch(workers);
  Result r;
  const auto poisoned = [](int64_t count) {
    return std::vector<float>(static_cast<size_t>(count), kNaN);
  };
  r.o = poisoned(floats(d.o, d.batch, d.queries, d.heads, d.value_dim));
  r.lse = poisoned(d.batch * d.heads * d.queries);
  r.dq = poisoned(floats(d.dq, d.batch, d.queries, d.heads, d.head_dim));
  r.dk = poisoned(floats(d.dk, d.batch, d.keys, d.kv_heads, d.head_dim));
  r.dv = poisoned(floats(d.dv, d.batch, d.keys, d.kv_heads, d.value_dim));
  kernels::AttentionOperands x = {};
  x.q = test.q.data(), x.k = test.k.data(), x.v = test.v.data();
  x.mask = test.mask.empty() ? nullptr : test.mask.data();
  x.oOut = r.o.data(), x.lseOut = r.lse.data();
  kernels::attend(isa, launch.fresh(), d, x);
  EXPECT_TRUE(launch.intact());
  x.o = r.o.data(), x.lse = r.lse.data(), x.dout = test.dout.data();
  x.dq = r.dq.data(), x.dk = r.dk.data(), x.dv = r.dv.data();
  kernels::attendGrad(isa, launch.fresh(), d, x);
  EXPECT_TRUE(launch.intact());
  return r;
}

/// Elements within their bounds, and everything between them still NaN.
void expectClose(const char *name, const Bounded &reference,
                 const std::vector<float> &actual, const ech_strides3 &s,
                 int64_t batch, int64_t positions, int64_t heads,
                 int64_t dims) {
  std::vector<bool> written(actual.size());
  size_t i = 0;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t p = 0; p < positions; ++p)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t c = 0; c < dims; ++c, ++i) {
          const auto at = static_cast<size_t>(b * s.batch + p * s.position +
                                              h * s.head + c);
          written[at] = true;
          ASSERT_LE(std::fabs(actual[at] - reference.value[i]),
                    reference.bound[i])
              << name << "[" << b << "," << p << "," << h << "," << c << "] is "
              << actual[at] << ", not " << reference.value[i];
        }
  for (size_t at = 0; at < actual.size(); ++at)
    ASSERT_TRUE(written[at] || std::isnan(actual[at]))
        << name << " was written between its rows";
}

void compare(const AttentionCase &test, const AttentionReference &reference,
             const Result &r) {
  const ech_attention &d = test.d;
  for (size_t i = 0; i < r.lse.size(); ++i) {
    if (reference.lse.value[i] == -static_cast<double>(kInfinity))
      ASSERT_EQ(r.lse[i], -kInfinity);
    else
      ASSERT_LE(std::fabs(r.lse[i] - reference.lse.value[i]),
                reference.lse.bound[i])
          << "lse " << i << " is " << r.lse[i];
  }
  expectClose("o", reference.o, r.o, d.o, d.batch, d.queries, d.heads,
              d.value_dim);
  expectClose("dq", reference.dq, r.dq, d.dq, d.batch, d.queries, d.heads,
              d.head_dim);
  expectClose("dk", reference.dk, r.dk, d.dk, d.batch, d.keys, d.kv_heads,
              d.head_dim);
  expectClose("dv", reference.dv, r.dv, d.dv, d.batch, d.keys, d.kv_heads,
              d.value_dim);
}

void check(const AttentionCase &test) {
  const AttentionReference reference = referenceAttention(test);
  const ech_attention &d = test.d;
  SCOPED_TRACE("batch " + std::to_string(d.batch) + " queries " +
               std::to_string(d.queries) + " keys " + std::to_string(d.keys) +
               " heads " + std::to_string(d.heads) + "/" +
               std::to_string(d.kv_heads) + " dims " +
               std::to_string(d.head_dim) + "/" + std::to_string(d.value_dim) +
               " causal " + std::to_string(d.causal) + " window " +
               std::to_string(d.window));
  for (const kernels::Isa *isa : supportedIsas()) {
    const Result one = run(test, *isa, 1);
    compare(test, reference, one);
    for (int32_t workers : {2, 3}) {
      const Result more = run(test, *isa, workers);
      EXPECT_TRUE(sameBits(one.o, more.o) && sameBits(one.lse, more.lse) &&
                  sameBits(one.dq, more.dq) && sameBits(one.dk, more.dk) &&
                  sameBits(one.dv, more.dv))
          << isa->name << " with " << workers << " workers";
    }
  }
}

#define RETURN_IF_FAILED()                                                     \
  if (HasFailure())                                                            \
  return

TEST(Attention, RandomShapes) {
  Random random(31);
  for (int i = 0; i < 120; ++i) {
    const int64_t kvHeads = random.integer(1, 2);
    const Shape shape = {random.integer(1, 2),
                         random.integer(1, 90),
                         random.integer(1, 150),
                         kvHeads * random.integer(1, 3),
                         kvHeads,
                         random.integer(1, 40),
                         random.integer(1, 40)};
    Style style;
    style.causal = random.chance(0.5);
    style.window = random.chance(0.3) ? random.integer(1, 70) : 0;
    style.mask =
        random.pick({MaskKind::kNone, MaskKind::kDense, MaskKind::kPerKey,
                     MaskKind::kPerHead, MaskKind::kExcluding});
    check(makeCase(random, shape, style));
    RETURN_IF_FAILED();
  }
}

TEST(Attention, LengthsAroundTheTiles) {
  Random random(32);
  for (bool causal : {false, true})
    for (int64_t queries : {1, 7, 8, 9, 63, 64, 65, 255, 256, 257, 270})
      for (int64_t keys : {1, 31, 33, 119, 120, 121, 127, 128, 129, 261}) {
        Style style;
        style.causal = causal;
        check(makeCase(random, {1, queries, keys, 2, 1, 5, 3}, style));
        RETURN_IF_FAILED();
      }
}

TEST(Attention, HeadDims) {
  Random random(33);
  Style style;
  style.causal = true;
  for (int64_t dim : {1,  2,  8,  15, 16, 17, 23,  24,  25,  31,
                      32, 33, 64, 72, 80, 96, 104, 128, 255, 256}) {
    check(makeCase(random, {1, 40, 50, 2, 2, dim, dim}, style));
    RETURN_IF_FAILED();
  }
}

TEST(Attention, WindowsCrossTiles) {
  Random random(34);
  for (int64_t window : {1, 2, 30, 128, 129, 200, 1000})
    for (bool causal : {false, true}) {
      Style style;
      style.causal = causal;
      style.window = window;
      check(makeCase(random, {1, 300, 300, 1, 1, 8, 8}, style));
      check(makeCase(random, {1, 70, 300, 1, 1, 8, 8}, style));
      check(makeCase(random, {1, 300, 70, 1, 1, 8, 8}, style));
      RETURN_IF_FAILED();
    }
}

TEST(Attention, LargeLogits) {
  Random random(35);
  for (float logits : {3.0f, 60.0f, 500.0f})
    for (bool causal : {false, true}) {
      Style style;
      style.causal = causal;
      style.logits = logits;
      style.mask = causal ? MaskKind::kNone : MaskKind::kExcluding;
      check(makeCase(random, {1, 130, 140, 2, 1, 16, 16}, style));
      RETURN_IF_FAILED();
    }
}

TEST(Attention, LargeCommonOffset) {
  // A mask of -3e4 everywhere, below any sentinel: the softmax does not see it,
  // but each score is rounded to 2e-3, which the bound contains.
  Random random(36);
  Style style;
  style.mask = MaskKind::kPerKey;
  AttentionCase test = makeCase(random, {1, 70, 140, 1, 1, 16, 16}, style);
  for (float &value : test.mask)
    value = -3e4f;
  check(test);
}

TEST(Attention, RowsThatSeeNothing) {
  // Causal with more queries than keys: the first 60 rows see no key.
  Random random(37);
  Style style;
  style.causal = true;
  const AttentionCase test = makeCase(random, {2, 100, 40, 2, 1, 8, 8}, style);
  check(test);
  const Result r = run(test, kernels::currentIsa(), 1);
  const ech_attention &d = test.d;
  for (int64_t i = 0; i < 60; ++i) {
    EXPECT_EQ(r.lse[static_cast<size_t>(i)], -kInfinity);
    EXPECT_EQ(r.o[static_cast<size_t>(i * d.o.position)], 0.0f);
    EXPECT_EQ(r.dq[static_cast<size_t>(i * d.dq.position)], 0.0f);
  }
  EXPECT_TRUE(std::isfinite(r.lse[60]));
}

TEST(Attention, NaNIsNotHidden) {
  Random random(38);
  AttentionCase test = makeCase(random, {1, 4, 50, 1, 1, 8, 8}, {});
  test.k[static_cast<size_t>(37 * test.d.k.position)] = kNaN;
  for (const kernels::Isa *isa : supportedIsas()) {
    const Result r = run(test, *isa, 1);
    EXPECT_TRUE(std::isnan(r.o[0]));
    EXPECT_TRUE(std::isnan(r.lse[0]));
    EXPECT_TRUE(std::isnan(r.dq[0]));
  }
}

TEST(Attention, SlicesOfOnePackedProjection) {
  // q, k, v are slices of [batch, positions, 3, heads, dim], and so are their
  // gradients.
  Random random(39);
  const int64_t batch = 2, length = 37, heads = 3, dim = 20;
  Style style;
  style.causal = true;
  AttentionCase test =
      makeCase(random, {batch, length, length, heads, heads, dim, dim}, style);
  ech_attention &d = test.d;
  const int64_t row = 3 * heads * dim;
  d.q = d.k = d.v = d.dq = d.dk = d.dv = {length * row, row, dim};
  const std::vector<float> packed = random.floats(batch * length * row, -1, 1);
  test.q = packed;
  test.k.assign(packed.begin() + heads * dim, packed.end());
  test.v.assign(packed.begin() + 2 * heads * dim, packed.end());
  check(test);

  const Result apart = run(test, kernels::currentIsa(), 1);
  Launch launch(2);
  std::vector<float> grad(packed.size(), kNaN);
  ech_attention_grad_f32(
      launch.fresh(), &d, packed.data(), packed.data() + heads * dim,
      packed.data() + 2 * heads * dim, nullptr, apart.o.data(),
      apart.lse.data(), test.dout.data(), grad.data(),
      grad.data() + heads * dim, grad.data() + 2 * heads * dim);
  for (int64_t r = 0; r < batch * length; ++r)
    for (int64_t c = 0; c < heads * dim; ++c) {
      const auto at = static_cast<size_t>(r * row + c);
      ASSERT_EQ(grad[at], apart.dq[at]);
      ASSERT_EQ(grad[at + static_cast<size_t>(heads * dim)], apart.dk[at]);
      ASSERT_EQ(grad[at + static_cast<size_t>(2 * heads * dim)], apart.dv[at]);
    }
}

/// Central differences of the double objective: error h^2 f''' / 6 + 2^-53 f /
/// h, with h = 1e-4 and |f| < 30 below 1e-7 for these sizes.
void checkByDifferences(const AttentionCase &test, const ech_strides3 &strides,
                        int64_t positions, int64_t heads, int64_t dims,
                        int which, const Bounded &gradient) {
  std::vector<double> operands[3] = {{test.q.begin(), test.q.end()},
                                     {test.k.begin(), test.k.end()},
                                     {test.v.begin(), test.v.end()}};
  const double h = 1e-4;
  size_t i = 0;
  for (int64_t b = 0; b < test.d.batch; ++b)
    for (int64_t p = 0; p < positions; ++p)
      for (int64_t head = 0; head < heads; ++head)
        for (int64_t c = 0; c < dims; ++c, ++i) {
          double &value = operands[which][static_cast<size_t>(
              b * strides.batch + p * strides.position + head * strides.head +
              c)];
          const double kept = value;
          value = kept + h;
          const double above =
              attentionObjective(test, operands[0], operands[1], operands[2]);
          value = kept - h;
          const double below =
              attentionObjective(test, operands[0], operands[1], operands[2]);
          value = kept;
          ASSERT_NEAR((above - below) / (2 * h), gradient.value[i], 2e-7)
              << "operand " << which << " element " << i;
        }
}

TEST(AttentionReference, GradientsAreFiniteDifferences) {
  Random random(40);
  for (MaskKind mask :
       {MaskKind::kNone, MaskKind::kDense, MaskKind::kExcluding})
    for (bool causal : {false, true}) {
      Style style;
      style.causal = causal;
      style.window = causal ? 4 : 0;
      style.mask = mask;
      const Shape s = {2, 7, 6, 4, 2, 3, 2};
      const AttentionCase test = makeCase(random, s, style);
      const AttentionReference r = referenceAttention(test);
      checkByDifferences(test, test.d.q, s.queries, s.heads, s.headDim, 0,
                         r.dq);
      checkByDifferences(test, test.d.k, s.keys, s.kvHeads, s.headDim, 1, r.dk);
      checkByDifferences(test, test.d.v, s.keys, s.kvHeads, s.valueDim, 2,
                         r.dv);
      RETURN_IF_FAILED();
    }
}

TEST(AttentionDeathTest, RefusesWhatItCannotDo) {
  Random random(41);
  Launch launch(1);
  AttentionCase test = makeCase(random, {1, 2, 2, 3, 3, 4, 4}, {});
  float out[64];
  test.d.kv_heads = 2;
  EXPECT_DEATH(ech_attention_f32(&launch.launch, &test.d, test.q.data(),
                                 test.k.data(), test.v.data(), nullptr, out,
                                 out),
               "3 heads are no multiple of 2 key-value heads");
  test.d.kv_heads = 3, test.d.head_dim = 5000;
  EXPECT_DEATH(ech_attention_f32(&launch.launch, &test.d, test.q.data(),
                                 test.k.data(), test.v.data(), nullptr, out,
                                 out),
               "head dim 5000 with value dim 4 needs");
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
//
// ech_contraction_f32 against a double product, over random shapes and strides:
// permuted and padded layouts, broadcast operands, batches, bias, accumulation,
// tails of every block size.
#include "test/numerics/kernels/launch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

using namespace echelon;
using namespace echelon::test;

namespace {

/// Strides of a tensor of four dims in a random order of dims, some padded.
struct Layout {
  std::array<int64_t, 4> strides;
  int64_t floats;
};

Layout randomLayout(Random &random, const std::array<int64_t, 4> &shape,
                    std::array<int, 4> order, bool mayBroadcast) {
  Layout layout = {};
  int64_t stride = 1;
  for (int i = 3; i >= 0; --i) {
    const auto dim = static_cast<size_t>(order[static_cast<size_t>(i)]);
    if (mayBroadcast && random.chance(0.1))
      continue;
    layout.strides[dim] = stride;
    stride *= shape[dim];
    if (random.chance(0.3))
      stride += random.integer(1, 5);
  }
  layout.floats = stride;
  return layout;
}

struct Case {
  ech_contraction d = {};
  std::vector<float> a, b, bias, c;
};

std::vector<float> operand(Random &random, int64_t count, bool integers) {
  std::vector<float> values = random.floats(count, -1, 1);
  if (integers)
    for (float &value : values)
      value = std::round(value * 4);
  return values;
}

Case makeCase(Random &random, int64_t x, int64_t y, int64_t m, int64_t n,
              int64_t k, bool integers) {
  Case test;
  std::array<int, 4> order = {0, 1, 2, 3};
  const auto shuffled = [&] {
    for (int i = 3; i > 0; --i)
      std::swap(order[static_cast<size_t>(i)],
                order[static_cast<size_t>(random.integer(0, i))]);
    return order;
  };
  const Layout a = randomLayout(random, {x, y, m, k}, shuffled(), true);
  const Layout b = randomLayout(random, {x, y, k, n}, shuffled(), true);
  shuffled();
  // The innermost dim of c is m or n, and contiguous.
  auto inner = std::find(order.begin(), order.end(), random.pick({2, 3}));
  std::swap(*inner, order[3]);
  const Layout c = randomLayout(random, {x, y, m, n}, order, false);
  test.d = {x,
            y,
            m,
            n,
            k,
            a.strides[0],
            a.strides[1],
            a.strides[2],
            a.strides[3],
            b.strides[0],
            b.strides[1],
            b.strides[2],
            b.strides[3],
            c.strides[0],
            c.strides[1],
            c.strides[2],
            c.strides[3],
            random.integer(0, 1)};
  // One float more: with k = 0 there would be no memory at all.
  test.a = operand(random, a.floats + 1, integers);
  test.b = operand(random, b.floats + 1, integers);
  if (random.chance(0.5))
    test.bias = operand(random, n, integers);
  test.c = operand(random, c.floats, integers);
  return test;
}

/// Where c is written, the sum and the sum of magnitudes; elsewhere NaN.
struct Reference {
  std::vector<double> value, magnitude;
};

Reference multiply(const Case &test) {
  const ech_contraction &d = test.d;
  Reference r;
  r.value.assign(test.c.size(), kNaN);
  r.magnitude.assign(test.c.size(), kNaN);
  for (int64_t x = 0; x < d.x; ++x)
    for (int64_t y = 0; y < d.y; ++y)
      for (int64_t m = 0; m < d.m; ++m)
        for (int64_t n = 0; n < d.n; ++n) {
          const auto at = static_cast<size_t>(x * d.c_x + y * d.c_y +
                                              m * d.c_m + n * d.c_n);
          double sum = d.accumulate ? test.c[at] : 0.0;
          double magnitude = std::fabs(sum);
          if (!test.bias.empty()) {
            const double bias = test.bias[static_cast<size_t>(n)];
            sum += bias, magnitude += std::fabs(bias);
          }
          const float *a =
              &test.a[static_cast<size_t>(x * d.a_x + y * d.a_y + m * d.a_m)];
          const float *b =
              &test.b[static_cast<size_t>(x * d.b_x + y * d.b_y + n * d.b_n)];
          for (int64_t k = 0; k < d.k; ++k) {
            const double term =
                static_cast<double>(a[k * d.a_k]) * b[k * d.b_k];
            sum += term, magnitude += std::fabs(term);
          }
          r.value[at] = sum, r.magnitude[at] = magnitude;
        }
  return r;
}

/// Runs with poisoned output: what is not written stays NaN.
std::vector<float> run(const Case &test, const Reference &reference,
                       const kernels::Isa &isa, Launch &launch) {
  std::vector<float> c = test.c;
  for (size_t i = 0; i < c.size(); ++i)
    if (!test.d.accumulate || std::isnan(reference.value[i]))
      c[i] = kNaN;
  kernels::contract(isa, launch.fresh(), test.d, test.a.data(), test.b.data(),
                    test.bias.empty() ? nullptr : test.bias.data(), c.data());
  EXPECT_TRUE(launch.intact());
  return c;
}

/// An element is a chain of fused multiply-adds for each block of the depth,
/// the chains, c and the bias added one by one: at most k + ceil(k / depth) + 2
/// roundings touch any term, so |error| <= (k + ceil(k / depth) + 2) u sum
/// |terms| to first order in u. Integers of at most 4 make products below 16:
/// sums below 2^24 are exact.
void expectEqual(const Case &test, const Reference &reference,
                 const std::vector<float> &c, bool exact) {
  const double k = static_cast<double>(test.d.k);
  const double roundings =
      k + std::ceil(k / static_cast<double>(kernels::kContractionDepth)) + 2;
  for (size_t i = 0; i < c.size(); ++i) {
    if (std::isnan(reference.value[i])) {
      ASSERT_TRUE(std::isnan(c[i])) << "wrote outside of c at " << i;
      continue;
    }
    const double bound =
        exact ? 0 : 1.001 * roundings * kRoundoff * reference.magnitude[i];
    ASSERT_LE(std::fabs(c[i] - reference.value[i]), bound)
        << "element " << i << " is " << c[i] << ", not " << reference.value[i]
        << " m " << test.d.m << " n " << test.d.n << " k " << test.d.k;
  }
}

void check(const Case &test, bool exact) {
  static Launch one(1), two(2), three(3);
  const Reference reference = multiply(test);
  const std::vector<float> first =
      run(test, reference, *supportedIsas()[0], one);
  expectEqual(test, reference, first, exact);
  for (const kernels::Isa *isa : supportedIsas())
    for (Launch *launch : {&one, &two, &three})
      ASSERT_TRUE(sameBits(first, run(test, reference, *isa, *launch)))
          << isa->name << " with " << launch->launch.workers << " workers, m "
          << test.d.m << " n " << test.d.n << " k " << test.d.k;
}

TEST(Contraction, EverySmallShapeIsExactOnIntegers) {
  Random random(1);
  for (int64_t m = 1; m <= 18; ++m)
    for (int64_t n : {1, 2, 7, 8, 15, 16, 17, 23, 24, 25, 31, 32, 33, 64, 65})
      for (int64_t k : {0, 1, 2, 3, 5, 16, 19}) {
        check(makeCase(random, 1, 1, m, n, k, true), true);
        if (HasFatalFailure())
          return;
      }
}

TEST(Contraction, RandomShapesAndStrides) {
  Random random(2);
  for (int i = 0; i < 400; ++i) {
    const int64_t x = random.integer(1, 3), y = random.integer(1, 3);
    const bool integers = random.chance(0.3);
    check(makeCase(random, x, y, random.integer(1, 70), random.integer(1, 110),
                   random.integer(0, 60), integers),
          integers);
    if (HasFatalFailure())
      return;
  }
}

TEST(Contraction, BlocksOfEveryCacheLevel) {
  Random random(3);
  const int64_t depth = kernels::kContractionDepth;
  const int64_t shapes[][3] = {
      {300, 200, 150},     {257, 97, depth + 1}, {64, 2500, 33},
      {9, 4700, 20},       {600, 10, 40},        {40, 40, 3 * depth + 7},
      {1, 300, 2 * depth}, {300, 1, 2 * depth},  {513, 65, depth},
      {200, 2305, 2},      {16, 2309, 400},
  };
  for (const auto &shape : shapes)
    for (int repeat = 0; repeat < 4; ++repeat) {
      check(makeCase(random, 1, random.integer(1, 2), shape[0], shape[1],
                     shape[2], false),
            false);
      if (HasFatalFailure())
        return;
    }
}

TEST(Contraction, BatchesThatShareAnOperandMerge) {
  // Rows of consecutive batches continue each other: the kernel treats 2 x 3 x
  // 40 rows as 240.
  Random random(4);
  Case test;
  test.d = {2, 3, 40, 50, 30,          3 * 40 * 30, 40 * 30, 30, 1,
            0, 0, 50, 1,  3 * 40 * 50, 40 * 50,     50,      1,  0};
  test.a = random.floats(2 * 3 * 40 * 30, -1, 1);
  test.b = random.floats(30 * 50, -1, 1);
  test.bias = random.floats(50, -1, 1);
  test.c = random.floats(2 * 3 * 40 * 50, -1, 1);
  check(test, false);
}

TEST(Contraction, NothingToDo) {
  Launch launch(1);
  ech_contraction d = {};
  d.x = d.y = d.m = d.k = 1, d.c_n = 1;
  ech_contraction_f32(launch.fresh(), &d, nullptr, nullptr, nullptr, nullptr);
}

TEST(Contraction, EntryPointUsesTheWidestLevel) {
  Random random(5);
  Case test = makeCase(random, 1, 1, 33, 45, 27, false);
  Launch launch(1);
  const Reference reference = multiply(test);
  const std::vector<float> expected =
      run(test, reference, kernels::currentIsa(), launch);
  std::vector<float> c = test.c;
  for (size_t i = 0; i < c.size(); ++i)
    if (!test.d.accumulate || std::isnan(reference.value[i]))
      c[i] = kNaN;
  ech_contraction_f32(launch.fresh(), &test.d, test.a.data(), test.b.data(),
                      test.bias.empty() ? nullptr : test.bias.data(), c.data());
  EXPECT_TRUE(sameBits(expected, c));
  EXPECT_EQ(&kernels::currentIsa(), supportedIsas().back());
}

TEST(ContractionDeathTest, CWithoutAUnitStrideIsRefused) {
  Launch launch(1);
  ech_contraction d = {};
  d.x = d.y = 1, d.m = d.n = d.k = 2;
  d.c_m = 4, d.c_n = 2;
  float values[16] = {};
  EXPECT_DEATH(
      ech_contraction_f32(&launch.launch, &d, values, values, nullptr, values),
      "neither c's m stride 4 nor its n stride 2 is 1");
}

TEST(Contraction, OffsetsBeyond32BitsOfElements) {
  // A single row of a far b: the address of k = 1 is 2^31 + 64 floats on.
  // Nothing in between is touched, so the memory is only mapped.
  const int64_t far = (int64_t{1} << 31) + 64;
  float *b = static_cast<float *>(
      std::calloc(static_cast<size_t>(far + 64), sizeof(float)));
  if (!b)
    GTEST_SKIP() << "cannot map 8 GiB";
  Random random(6);
  Case test;
  test.d = {1, 1, 3, 40, 2, 0, 0, 2, 1, 0, 0, far, 1, 0, 0, 40, 1, 0};
  test.a = {1, 2, 3, 4, 5, 6};
  std::vector<float> c(120, kNaN);
  for (int i = 0; i < 40; ++i)
    b[i] = static_cast<float>(i), b[far + i] = static_cast<float>(100 - i);
  Launch launch(1);
  for (const kernels::Isa *isa : supportedIsas()) {
    kernels::contract(*isa, launch.fresh(), test.d, test.a.data(), b, nullptr,
                      c.data());
    for (int m = 0; m < 3; ++m)
      for (int n = 0; n < 40; ++n)
        ASSERT_EQ(
            c[static_cast<size_t>(m * 40 + n)],
            static_cast<float>((2 * m + 1) * n + (2 * m + 2) * (100 - n)));
  }
  std::free(b);
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
//
// ech_cross_entropy_f32 and its gradient against a double reference: ignored
// rows, smoothing, large logits and offsets, tails, strided rows, gradient in
// the logits' own memory.
#include "test/numerics/kernels/launch.h"

#include <gtest/gtest.h>

using namespace echelon;
using namespace echelon::test;

namespace {

struct Case {
  ech_cross_entropy d;
  std::vector<float> logits;
  std::vector<int64_t> labels;
  float dloss;
};

Case makeCase(Random &random, int64_t rows, int64_t classes, float scale,
              float offset, double ignored) {
  Case test;
  test.d = {rows,
            classes,
            classes + random.integer(0, 4),
            classes + random.integer(0, 4),
            random.pick<int64_t>({-100, 0}),
            random.chance(0.5) ? 0.1 : 0.0};
  test.logits =
      random.floats(rows * test.d.logits_row, offset - scale, offset + scale);
  for (int64_t i = 0; i < rows; ++i)
    test.labels.push_back(random.chance(ignored)
                              ? test.d.ignore_index
                              : random.integer(0, classes - 1));
  test.dloss = random.uniform(0.01f, 2);
  return test;
}

struct Reference {
  double loss = 0, lossBound = 0;
  int64_t count = 0;
  std::vector<double> lse, lseBound, grad, gradBound;
};

/// 1 - p of the label without cancellation.
double others(const float *x, const ech_cross_entropy &d, int64_t label,
              double lse) {
  double sum = 0;
  for (int64_t c = 0; c < d.classes; ++c)
    sum += c == label ? 0 : std::exp(x[c] - lse);
  return sum;
}

/// Error of a softmax term e^(x - top): the difference is rounded (u |x -
/// top|), the exponential is within one ulp (2 u): relative error r = u |x -
/// top| + 2 u. The sum is in f64, so lse is off by at most the mean of r under
/// the softmax; then lse is rounded to f32 (u |lse|). Gradient: e^(x - lse)
/// inherits lse's error, rounds the difference (u |x - lse|) and has 2 u of its
/// own; scale and shift add 2 u more. The label's 1 - p is the sum of the
/// others' p.
void addRow(const Case &test, int64_t row, Reference &r) {
  const ech_cross_entropy &d = test.d;
  const float *x = &test.logits[static_cast<size_t>(row * d.logits_row)];
  double top = x[0], sum = 0, total = 0, meanError = 0;
  for (int64_t c = 0; c < d.classes; ++c)
    top = std::max<double>(top, x[c]);
  for (int64_t c = 0; c < d.classes; ++c) {
    const double e = std::exp(x[c] - top);
    sum += e, total += x[c];
    meanError += e * (kRoundoff * (top - x[c]) + 2.2 * kRoundoff);
  }
  meanError /= sum;
  const double lse = top + std::log(sum);
  const double lseBound = meanError + kRoundoff * std::fabs(lse) + 1e-12;
  r.lse.push_back(lse), r.lseBound.push_back(lseBound);
  const int64_t label = test.labels[static_cast<size_t>(row)];
  const bool ignored = label == d.ignore_index;
  const double s = d.label_smoothing, classes = static_cast<double>(d.classes);
  if (!ignored) {
    r.loss += lse - (1 - s) * x[label] - s / classes * total;
    r.lossBound += meanError + 1e-12 * (1 + std::fabs(top));
    ++r.count;
  }
  const auto error = [&](int64_t c) {
    return std::exp(x[c] - lse) *
           (lseBound + kRoundoff * std::fabs(x[c] - lse) + 4 * kRoundoff);
  };
  double othersError = 0;
  for (int64_t c = 0; c < d.classes; ++c)
    othersError += c == label ? 0x1p-53 : error(c) + 0x1p-53 + 1.2e-38;
  for (int64_t c = 0; c < d.classes; ++c) {
    const double p = std::exp(x[c] - lse);
    const double difference = c != label ? p
                              : p > 0.5  ? -others(x, d, label, lse)
                                         : p - 1;
    const double g =
        test.dloss * (difference + (c == label ? s : 0) - s / classes);
    const double own = c == label && p > 0.5 ? othersError : error(c);
    r.grad.push_back(ignored ? 0 : g);
    // 1.2e-38: exponentials below the normal range are flushed to 0.
    r.gradBound.push_back(
        ignored
            ? 0
            : 1.01 * test.dloss * (own + 2 * kRoundoff * s / classes) +
                  2 * kRoundoff * std::fabs(g) + 1.2e-38 * (1 + test.dloss));
  }
}

Reference evaluate(const Case &test) {
  Reference r;
  for (int64_t row = 0; row < test.d.rows; ++row)
    addRow(test, row, r);
  r.lossBound = 1.01 * r.lossBound + kRoundoff * std::fabs(r.loss);
  return r;
}

struct Result {
  float loss = kNaN, count = kNaN;
  std::vector<float> lse, grad;
};

Result run(const Case &test, const kernels::Isa &isa, int32_t workers) {
  Launch launch(workers);
  Result result;
  result.lse.assign(static_cast<size_t>(test.d.rows), kNaN);
  kernels::crossEntropy(isa, launch.fresh(), test.d, test.logits.data(),
                        test.labels.data(), &result.loss, &result.count,
                        result.lse.data());
  result.grad.assign(static_cast<size_t>(test.d.rows * test.d.dlogits_row),
                     kNaN);
  kernels::crossEntropyGrad(isa, launch.fresh(), test.d, test.logits.data(),
                            test.labels.data(), result.lse.data(), &test.dloss,
                            result.grad.data());
  EXPECT_TRUE(launch.intact());
  return result;
}

void expectClose(const Case &test, const Reference &r, const Result &result) {
  EXPECT_EQ(result.count, static_cast<float>(r.count));
  EXPECT_LE(std::fabs(result.loss - r.loss), r.lossBound) << result.loss;
  for (int64_t row = 0; row < test.d.rows; ++row) {
    const auto at = static_cast<size_t>(row);
    ASSERT_LE(std::fabs(result.lse[at] - r.lse[at]), r.lseBound[at]);
    for (int64_t c = 0; c < test.d.dlogits_row; ++c) {
      const float g =
          result.grad[static_cast<size_t>(row * test.d.dlogits_row + c)];
      if (c >= test.d.classes) {
        ASSERT_TRUE(std::isnan(g)) << "wrote into the padding";
        continue;
      }
      const auto i = static_cast<size_t>(row * test.d.classes + c);
      ASSERT_LE(std::fabs(g - r.grad[i]), r.gradBound[i])
          << "row " << row << " class " << c << " is " << g << ", not "
          << r.grad[i];
    }
  }
}

void check(const Case &test) {
  const Reference reference = evaluate(test);
  for (const kernels::Isa *isa : supportedIsas()) {
    const Result one = run(test, *isa, 1);
    expectClose(test, reference, one);
    for (int32_t workers : {2, 3}) {
      const Result more = run(test, *isa, workers);
      EXPECT_TRUE(sameBits(one.lse, more.lse));
      EXPECT_TRUE(sameBits(one.grad, more.grad));
      EXPECT_EQ(one.loss, more.loss);
    }
  }
}

TEST(CrossEntropy, RandomShapes) {
  Random random(21);
  for (int64_t classes :
       {1, 2, 3, 7, 8, 9, 15, 16, 17, 64, 257, 4096, 4097, 8200})
    for (float scale : {1.0f, 3.0f, 60.0f, 500.0f}) {
      const int64_t rows = classes > 1000 ? 9 : random.integer(1, 40);
      check(makeCase(random, rows, classes, scale, 0, 0.2));
      if (HasFatalFailure())
        return;
    }
}

TEST(CrossEntropy, LargeCommonOffset) {
  Random random(22);
  check(makeCase(random, 20, 300, 3, 1e4f, 0));
  check(makeCase(random, 20, 300, 3, -1e4f, 0));
}

TEST(CrossEntropy, LargestLogitInEveryChunk) {
  // The running maximum rises at each part of the row, or never again.
  Random random(23);
  for (int64_t peak : {0, 4095, 4096, 9000, 12287, 12290}) {
    Case test = makeCase(random, 2, 12291, 5, 0, 0);
    test.logits[static_cast<size_t>(peak)] = 90;
    test.logits[static_cast<size_t>(test.d.logits_row + peak)] = 20;
    check(test);
  }
}

TEST(CrossEntropy, AllRowsIgnored) {
  Random random(24);
  Case test = makeCase(random, 17, 33, 3, 0, 1);
  const Result result = run(test, kernels::currentIsa(), 2);
  EXPECT_EQ(result.loss, 0.0f);
  EXPECT_EQ(result.count, 0.0f);
  check(test);
}

TEST(CrossEntropy, ExcludedClassesOfMinusInfinity) {
  Random random(25);
  Case test = makeCase(random, 3, 5000, 3, 0, 0);
  test.d.label_smoothing = 0;
  for (int64_t row = 0; row < 3; ++row) {
    float *x = &test.logits[static_cast<size_t>(row * test.d.logits_row)];
    for (int c = 0; c < 4200; ++c)
      x[c] = -kInfinity; // more than the first part of the row
    test.labels[static_cast<size_t>(row)] = 4990;
  }
  const Result result = run(test, kernels::currentIsa(), 1);
  EXPECT_TRUE(std::isfinite(result.loss));
  for (int64_t c = 0; c < 5000; ++c) {
    const float g = result.grad[static_cast<size_t>(c)];
    ASSERT_TRUE(c < 4200 ? g == 0 : std::isfinite(g) && g != 0) << c;
  }
}

TEST(CrossEntropy, NaNIsNotHidden) {
  Random random(26);
  for (int64_t at : {0, 17, 36}) {
    Case test = makeCase(random, 1, 37, 3, 0, 0);
    test.d.ignore_index = -100;
    test.logits[static_cast<size_t>(at)] = kNaN;
    EXPECT_TRUE(std::isnan(run(test, kernels::currentIsa(), 1).loss));
  }
}

TEST(CrossEntropy, GradientInTheMemoryOfTheLogits) {
  Random random(27);
  Case test = makeCase(random, 13, 77, 4, 0, 0.2);
  test.d.dlogits_row = test.d.logits_row;
  const Result apart = run(test, kernels::currentIsa(), 1);
  Launch launch(2);
  std::vector<float> memory = test.logits;
  ech_cross_entropy_grad_f32(launch.fresh(), &test.d, memory.data(),
                             test.labels.data(), apart.lse.data(), &test.dloss,
                             memory.data());
  for (int64_t row = 0; row < 13; ++row)
    for (int64_t c = 0; c < 77; ++c) {
      const auto at = static_cast<size_t>(row * test.d.logits_row + c);
      ASSERT_EQ(memory[at], apart.grad[at]);
    }
}

TEST(CrossEntropy, ConfidentLabelKeepsItsSmallGradient) {
  // 440 logits of 0 and the label's 20: 1 - p = 9.07e-7, which p - 1 in f32
  // would miss by up to 20 u = 1.2e-6, the rounding of lse.
  Case test;
  test.d = {1, 441, 441, 441, -100, 0};
  test.logits.assign(441, 0.0f);
  test.logits[5] = 20;
  test.labels = {5};
  test.dloss = 1;
  const double sum = 440 * std::exp(-20.0);
  const double exact = -sum / (1 + sum);
  EXPECT_NEAR(run(test, kernels::currentIsa(), 1).grad[5], exact,
              50 * kRoundoff * -exact);
  check(test);
}

TEST(CrossEntropyDeathTest, LabelOutsideTheClasses) {
  Launch launch(1);
  const ech_cross_entropy d = {1, 3, 3, 3, -100, 0};
  const float logits[3] = {};
  const int64_t label = 3;
  float loss, count, lse;
  EXPECT_DEATH(ech_cross_entropy_f32(&launch.launch, &d, logits, &label, &loss,
                                     &count, &lse),
               "label 3 of row 0 is outside \\[0, 3\\)");
}

TEST(CrossEntropy, ManyRowsKeepThePartialSumsInTheWorkspace) {
  // 3 million rows of one class: loss 0, count exact in f32; chunks grow beyond
  // 8 rows.
  const int64_t rows = 3000000;
  Case test;
  test.d = {rows, 1, 1, 1, -100, 0};
  test.logits.assign(static_cast<size_t>(rows), 2.5f);
  test.labels.assign(static_cast<size_t>(rows), 0);
  test.dloss = 1;
  const Result result = run(test, kernels::currentIsa(), 2);
  EXPECT_EQ(result.loss, 0.0f);
  EXPECT_EQ(result.count, 3e6f);
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
//
// The kernels' vectorised exponential against libm in double, at every
// instruction-set level, through the softmax gradient: with scale 1, shift 0
// and lse 0 it returns e^x itself.
#include "test/numerics/kernels/launch.h"

#include <gtest/gtest.h>

using namespace echelon;
using namespace echelon::test;

namespace {

std::vector<float> exponentials(const kernels::Isa &isa,
                                const std::vector<float> &x) {
  std::vector<float> y(x.size(), kNaN);
  isa.softmaxGrad(x.data(), static_cast<int64_t>(x.size()), 0, 1, 0, y.data());
  return y;
}

/// Distance in units of the last place of the exact value.
double ulps(float y, double exact) {
  const double spacing = std::ldexp(1.0, std::ilogb(exact) - 23);
  return std::fabs(y - exact) / spacing;
}

TEST(Exponential, WithinItsBoundOverTheNormalRange) {
  std::vector<float> x;
  for (int i = 0; i <= 4000000; ++i)
    x.push_back(-87.33f + 175.7f * static_cast<float>(i) / 4000000.0f);
  for (const kernels::Isa *isa : supportedIsas()) {
    const std::vector<float> y = exponentials(*isa, x);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i)
      worst = std::max(worst, ulps(y[i], std::exp(static_cast<double>(x[i]))));
    EXPECT_LE(worst, 1.1) << isa->name;
    RecordProperty(isa->name, std::to_string(worst));
    std::printf("%s: %.3f ulp at most\n", isa->name, worst);
  }
}

TEST(Exponential, SpecialValues) {
  const std::vector<float> x = {0,    -0.0f,  -kInfinity, kInfinity, kNaN,
                                -104, -1e30f, -87.7f,     1e30f,     88.8f};
  const std::vector<float> expected = {1, 1, 0, kInfinity, kNaN,
                                       0, 0, 0, kInfinity, kInfinity};
  for (const kernels::Isa *isa : supportedIsas()) {
    const std::vector<float> y = exponentials(*isa, x);
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_TRUE(y[i] == expected[i] ||
                  (std::isnan(y[i]) && std::isnan(expected[i])))
          << "e^" << x[i] << " is " << y[i];
  }
}

TEST(Exponential, FallsThroughTheDenormals) {
  // Between 2^-126 and the cut the error is that of a rounded denormal, half of
  // 2^-149, besides the relative one.
  std::vector<float> x;
  for (int i = 0; i <= 10000; ++i)
    x.push_back(-87.33f - 0.34f * static_cast<float>(i) / 10000.0f);
  for (const kernels::Isa *isa : supportedIsas()) {
    const std::vector<float> y = exponentials(*isa, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = std::exp(static_cast<double>(x[i]));
      ASSERT_NEAR(y[i], exact, 2.2 * kRoundoff * exact + 0x1p-149) << x[i];
    }
  }
}

} // namespace

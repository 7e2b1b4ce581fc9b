// SPDX-License-Identifier: Apache-2.0
//
// Accuracy of the functions in generated kernels, in ulp of f32, over whole ranges; and their values at the edges.
#include "test/numerics/fused/fused_program.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace echelon::test {
namespace {

std::string unaryText(const std::string &kind, size_t count) {
  std::string type = "tensor<" + std::to_string(count) + "xf32>";
  return "func.func @f(%x: " + type + ") -> " + type + " {\n %y = graph.unary " + kind + " %x : " + type +
         "\n return %y : " + type + "\n}";
}

double ulpOf(double value) {
  int exponent;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, std::max(exponent, -125) - 24);
}

struct Case {
  const char *kind;
  double (*exact)(double);
  double low, high, ulps, absolute;
};

double gelu(double x) { return 0.5 * x * std::erfc(-x * M_SQRT1_2); }
double geluTanh(double x) { return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
double silu(double x) { return x / (1 + std::exp(-x)); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double rsqrt(double x) { return 1 / std::sqrt(x); }

class Accuracy : public testing::TestWithParam<Case> {};

TEST_P(Accuracy, WithinUlps) {
  const Case &c = GetParam();
  constexpr size_t kCount = 1 << 18;
  FusedProgram program(unaryText(c.kind, kCount));
  std::vector<double> x;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(c.low, c.high);
  for (size_t i = 0; i < kCount; ++i)
    x.push_back(double(float(uniform(random))));
  std::vector<std::vector<double>> y = program.run({x});
  ASSERT_EQ(y.size(), 1u);
  double worst = 0, at = 0;
  for (size_t i = 0; i < kCount; ++i) {
    double exact = c.exact(x[i]);
    double error = std::max(0.0, std::fabs(y[0][i] - exact) - c.absolute) / ulpOf(exact);
    if (!(error <= worst)) {
      worst = error;
      at = x[i];
    }
  }
  std::printf("%-10s [%g, %g]: %.2f ulp at %.9g\n", c.kind, c.low, c.high, worst, at);
  EXPECT_LE(worst, c.ulps) << "at " << at;
}

INSTANTIATE_TEST_SUITE_P(
    Functions, Accuracy,
    testing::Values(Case{"exp", std::exp, -87, 88.7, 1.5, 0}, Case{"exp", std::exp, -103, -87, 1.5, 0},
                    Case{"exp", std::exp, -1, 1, 1.5, 0}, Case{"tanh", std::tanh, -12, 12, 3, 0},
                    Case{"tanh", std::tanh, -0.5, 0.5, 3, 0}, Case{"tanh", std::tanh, -1e-3, 1e-3, 3, 0},
                    Case{"erf", std::erf, -5, 5, 2, 0}, Case{"erf", std::erf, -0.1, 0.1, 1.5, 0},
                    Case{"log", std::log, 1e-3, 100, 1.5, 0}, Case{"log", std::log, 0.9, 1.1, 1.5, 0},
                    Case{"log", std::log, 1e-44, 1e-37, 1.5, 0}, Case{"sin", std::sin, -10, 10, 2, 0},
                    Case{"sin", std::sin, -65536, 65536, 2, 0}, Case{"cos", std::cos, -10, 10, 2, 0},
                    Case{"cos", std::cos, -65536, 65536, 2, 0}, Case{"sigmoid", sigmoid, -87, 100, 3, 0},
                    Case{"rsqrt", rsqrt, 1e-6, 1e6, 1.5, 0}, Case{"sqrt", std::sqrt, 0, 1e6, 0.5, 0},
                    Case{"silu", silu, -20, 20, 4, 0}, Case{"gelu", gelu, -1, 8, 4, 0},
                    Case{"gelu", gelu, -8, -1, 4, 4e-7}, Case{"gelu_tanh", geluTanh, -3, 8, 24, 0}),
    [](const testing::TestParamInfo<Case> &info) { return std::string(info.param.kind) + std::to_string(info.index); });

TEST(FusedMath, Edges) {
  double inf = INFINITY, nan = NAN;
  std::vector<double> x = {0, -0.0, inf, -inf, nan, 100, -100, 1e-45, -1};
  auto at = [&](const char *kind) { return FusedProgram(unaryText(kind, x.size())).run({x}).at(0); };
  std::vector<double> e = at("exp");
  EXPECT_EQ(e[0], 1);
  EXPECT_EQ(e[2], inf);
  EXPECT_EQ(e[3], 0);
  EXPECT_TRUE(std::isnan(e[4]));
  EXPECT_EQ(e[5], inf);
  EXPECT_NEAR(e[6], std::exp(-100.0), 1e-44);
  std::vector<double> l = at("log");
  EXPECT_EQ(l[0], -inf);
  EXPECT_EQ(l[1], -inf);
  EXPECT_EQ(l[2], inf);
  EXPECT_TRUE(std::isnan(l[3]) && std::isnan(l[4]) && std::isnan(l[8]));
  EXPECT_NEAR(l[7], std::log(0x1p-149), 1e-4);
  std::vector<double> t = at("tanh");
  EXPECT_EQ(t[2], 1);
  EXPECT_EQ(t[3], -1);
  EXPECT_TRUE(std::isnan(t[4]));
  EXPECT_TRUE(t[1] == 0 && std::signbit(t[1]));
  std::vector<double> r = at("erf");
  EXPECT_EQ(r[2], 1);
  EXPECT_EQ(r[6], -1);
  EXPECT_TRUE(std::isnan(r[4]));
  std::vector<double> s = at("sigmoid");
  EXPECT_EQ(s[2], 1);
  EXPECT_EQ(s[3], 0);
  EXPECT_EQ(s[5], 1);
  EXPECT_TRUE(std::isnan(s[4]));
  std::vector<double> sine = at("sin");
  EXPECT_TRUE(std::isnan(sine[2]) && std::isnan(sine[3]) && std::isnan(sine[4]));
  std::vector<double> relu = at("relu");
  EXPECT_TRUE(std::isnan(relu[4]));
  EXPECT_EQ(relu[8], 0);
}

TEST(FusedMath, Power) {
  const char *text = R"(func.func @f(%x: tensor<12xf32>, %y: tensor<12xf32>) -> tensor<12xf32> {
    %z = graph.binary pow %x, %y : tensor<12xf32>
    return %z : tensor<12xf32>
  })";
  std::vector<double> x = {2, 2, -2, -2, 0, 0, 3.5, 1e20, 1.0001220703125, 0.5, -8, 10};
  std::vector<double> y = {10, -1.5, 3, 2, 2, -1, 0, 2, 10000, 149, 0.5, -38.5};
  std::vector<double> z = FusedProgram(text).run({x, y}).at(0);
  for (size_t i = 0; i < x.size(); ++i) {
    float exact = float(std::pow(x[i], y[i]));
    if (std::isnan(exact))
      EXPECT_TRUE(std::isnan(z[i])) << x[i] << " ^ " << y[i];
    else
      EXPECT_TRUE(z[i] == exact || std::fabs(z[i] - exact) <= 1e-6 * std::fabs(exact)) << x[i] << " ^ " << y[i];
  }
}

} // namespace
} // namespace echelon::test

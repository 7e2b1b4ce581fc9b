// SPDX-License-Identifier: Apache-2.0
//
// Gradients of graph.unary, graph.binary, graph.select, graph.convert: every
// kind against differences away from kinks, and by formula on them.
#include "dialects/graph/graph_dialect.h"
#include "test/numerics/gradients/gradient_check.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace echelon;
using namespace echelon::test;

namespace {

std::string unaryText(const std::string &kind, llvm::ArrayRef<int64_t> shape) {
  std::string type = tensorType(shape);
  return "func.func @f(%x: " + type + ") -> " + type +
         " {\n  %0 = graph.unary " + kind + " %x : " + type +
         "\n  return %0 : " + type + "\n}";
}

struct UnaryRange {
  const char *kind;
  double low, high, hole;
};

class Unary : public testing::TestWithParam<UnaryRange> {};

TEST_P(Unary, Differences) {
  const UnaryRange &range = GetParam();
  Inputs inputs;
  inputs.low = range.low;
  inputs.high = range.high;
  inputs.hole = range.hole;
  const Shape shapes[] = {{}, {7}, {3, 5}, {2, 1, 4}};
  for (const Shape &shape : shapes)
    checkGradient(unaryText(range.kind, shape), inputs);
}

const UnaryRange kUnary[] = {
    {"neg", -3, 3, 0},           {"exp", -3, 3, 0},
    {"log", 0.2, 4, 0},          {"sqrt", 0.2, 4, 0},
    {"rsqrt", 0.2, 4, 0},        {"reciprocal", 0.3, 4, 0},
    {"reciprocal", -4, -0.3, 0}, {"tanh", -3, 3, 0},
    {"erf", -3, 3, 0},           {"sigmoid", -6, 6, 0},
    {"sin", -6, 6, 0},           {"cos", -6, 6, 0},
    {"abs", -3, 3, 0.01},        {"sign", -3, 3, 0.01},
    {"gelu", -4, 4, 0},          {"gelu_tanh", -4, 4, 0},
    {"silu", -6, 6, 0},          {"relu", -3, 3, 0.01}};

INSTANTIATE_TEST_SUITE_P(Kinds, Unary, testing::ValuesIn(kUnary),
                         [](const testing::TestParamInfo<UnaryRange> &info) {
                           return std::string(info.param.kind) + "_" +
                                  std::to_string(info.index);
                         });

/// The list above has every kind that works on floats.
TEST(Unary, AllKindsAreTested) {
  for (uint32_t kind = 0; kind <= graph::getMaxEnumValForUnaryKind(); ++kind) {
    auto symbol = graph::symbolizeUnaryKind(kind);
    ASSERT_TRUE(symbol.has_value());
    if (*symbol == graph::UnaryKind::Not)
      continue;
    EXPECT_TRUE(llvm::any_of(kUnary, [&](const UnaryRange &range) {
      return graph::stringifyUnaryKind(*symbol) == range.kind;
    })) << graph::stringifyUnaryKind(*symbol).str();
  }
}

/// dialects/graph/elementwise.td: relu'(0) = 0, abs'(0) = 0.
TEST(Unary, Kinks) {
  Tensor zero{{2}, {0, 0}}, dy{{2}, {3, -2}};
  for (const char *kind : {"relu", "abs", "sign"}) {
    std::vector<Tensor> gradients =
        gradientsOf(unaryText(kind, {2}), {zero}, {dy});
    ASSERT_EQ(gradients.size(), 1u);
    EXPECT_EQ(gradients[0].values, (std::vector<double>{0, 0})) << kind;
  }
}

std::string binaryText(const std::string &kind, llvm::ArrayRef<int64_t> shape) {
  std::string type = tensorType(shape);
  return "func.func @f(%a: " + type + ", %b: " + type + ") -> " + type +
         " {\n  %0 = graph.binary " + kind + " %a, %b : " + type +
         "\n  return %0 : " + type + "\n}";
}

TEST(Binary, Arithmetic) {
  Inputs inputs;
  inputs.low = -3;
  inputs.high = 3;
  inputs.hole = 0.3;
  const Shape shapes[] = {{}, {6}, {3, 4}, {2, 1, 3}};
  for (const char *kind : {"add", "sub", "mul", "div"})
    for (const Shape &shape : shapes)
      checkGradient(binaryText(kind, shape), inputs);
}

TEST(Binary, OneOperandTwice) {
  for (const char *kind : {"add", "sub", "mul", "div"}) {
    std::string name = kind;
    checkGradient("func.func @f(%a: tensor<5xf64>) -> tensor<5xf64> {\n"
                  "  %0 = graph.binary " +
                      name +
                      " %a, %a : tensor<5xf64>\n  return %0 : tensor<5xf64>\n}",
                  {0.5, 2, 0, {}});
  }
}

TEST(Binary, MaxAndMinApart) {
  Draw draw(3);
  Tensor all = draw.distinct({24});
  Inputs inputs;
  inputs.given[0] = {{3, 4}, {all.values.begin(), all.values.begin() + 12}};
  inputs.given[1] = {{3, 4}, {all.values.begin() + 12, all.values.end()}};
  checkGradient(binaryText("max", {3, 4}), inputs);
  checkGradient(binaryText("min", {3, 4}), inputs);
}

/// On ties both operands get half of the gradient.
TEST(Binary, MaxAndMinTies) {
  Tensor a{{3}, {1, 2, -4}}, b{{3}, {1, 3, -4}}, dy{{3}, {6, 5, -8}};
  auto max = gradientsOf(binaryText("max", {3}), {a, b}, {dy});
  auto min = gradientsOf(binaryText("min", {3}), {a, b}, {dy});
  ASSERT_EQ(max.size(), 2u);
  ASSERT_EQ(min.size(), 2u);
  EXPECT_EQ(max[0].values, (std::vector<double>{3, 0, -4}));
  EXPECT_EQ(max[1].values, (std::vector<double>{3, 5, -4}));
  EXPECT_EQ(min[0].values, (std::vector<double>{3, 5, -4}));
  EXPECT_EQ(min[1].values, (std::vector<double>{3, 0, -4}));
}

std::string powText(const std::string &exponent, int64_t size) {
  std::string type = tensorType({size});
  return "func.func @f(%a: " + type + ") -> " + type +
         " {\n  %e = graph.constant dense<" + exponent + "> : " + type + " : " +
         type + "\n  %0 = graph.binary pow %a, %e : " + type +
         "\n  return %0 : " + type + "\n}";
}

TEST(Binary, PowConstantExponent) {
  for (const char *exponent :
       {"2.0", "3.0", "0.5", "-1.0", "-2.0", "1.0", "0.0", "1.5", "-0.5"})
    checkGradient(powText(exponent, 6), {0.4, 3, 0, {}});
  for (const char *exponent : {"2.0", "3.0", "-1.0", "-2.0", "4.0", "1.0"})
    checkGradient(powText(exponent, 6), {-3, -0.4, 0, {}});
}

/// Exponents that are constants, but not all equal.
TEST(Binary, PowConstantList) {
  checkGradient(powText("[2.0, 3.0, 0.5, -1.0]", 4), {0.4, 3, 0, {}});
}

/// x^2 at 0 has slope 0 and takes no logarithm; x^0 is flat everywhere.
TEST(Binary, PowAtZero) {
  Tensor x{{3}, {0, -1, 2}}, dy{{3}, {1, 1, 1}};
  const std::pair<const char *, std::vector<double>> cases[] = {
      {"2.0", {0, -2, 4}},
      {"3.0", {0, 3, 12}},
      {"1.0", {1, 1, 1}},
      {"0.0", {0, 0, 0}}};
  for (const auto &[exponent, slopes] : cases) {
    auto gradients = gradientsOf(powText(exponent, 3), {x}, {dy});
    ASSERT_EQ(gradients.size(), 1u);
    EXPECT_EQ(gradients[0].values, slopes) << "x^" << exponent;
  }
}

TEST(Binary, PowTensorExponent) {
  Inputs inputs{0.4, 2.5, 0, {}};
  inputs.given[1] = Draw(5).uniform({3, 4}, -2, 3);
  checkGradient(binaryText("pow", {3, 4}), inputs);
  // A negative base with whole exponents: the base has a slope, the exponent
  // counts as 0 (its logarithm does not exist).
  Tensor base{{3}, {-2, -1.5, -3}}, exponent{{3}, {2, 3, -1}},
      dy{{3}, {1, 1, 1}};
  auto gradients = gradientsOf(binaryText("pow", {3}), {base, exponent}, {dy});
  ASSERT_EQ(gradients.size(), 2u);
  const double expected[] = {-4, 6.75, -1.0 / 9};
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(gradients[0].values[i], expected[i], 1e-14);
  EXPECT_EQ(gradients[1].values, (std::vector<double>{0, 0, 0}));
}

/// 0^0 is 1 for every base: a tensor exponent of 0 has slope 0, as a constant
/// one.
TEST(Binary, PowTensorExponentAtZero) {
  Tensor base{{4}, {0, 0, 0, 2}}, exponent{{4}, {0, 1, 2, 0}},
      dy{{4}, {1, 1, 1, 1}};
  auto gradients = gradientsOf(binaryText("pow", {4}), {base, exponent}, {dy});
  ASSERT_EQ(gradients.size(), 2u);
  EXPECT_EQ(gradients[0].values, (std::vector<double>{0, 1, 0, 0}));
  EXPECT_EQ(gradients[1].values, (std::vector<double>{0, 0, 0, std::log(2.0)}));
}

constexpr char kSelect[] = R"(
func.func @f(%c: tensor<2x3xi1>, %a: tensor<2x3xf64>, %b: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %0 = graph.select %c, %a, %b : (tensor<2x3xi1>, tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
})";

TEST(Select, Differences) {
  Inputs inputs;
  inputs.given[0] = {{2, 3}, {1, 0, 0, 1, 1, 0}};
  checkGradient(kSelect, inputs);
}

/// where(x > 0, log x, x) and its gradient stay finite where log is not.
TEST(Select, TheSideNotChosenDoesNotLeak) {
  constexpr char text[] = R"(
func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {
  %zero = graph.constant dense<0.0> : tensor<3xf64> : tensor<3xf64>
  %one = graph.constant dense<1.0> : tensor<3xf64> : tensor<3xf64>
  %c = graph.compare gt %x, %zero : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xi1>
  %safe = graph.select %c, %x, %one : (tensor<3xi1>, tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  %l = graph.unary log %safe : tensor<3xf64>
  %0 = graph.select %c, %l, %x : (tensor<3xi1>, tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
})";
  Inputs inputs;
  inputs.given[0] = {{3}, {2, -1, 0.5}};
  checkGradient(text, inputs);
  Tensor infinite{{2, 3}, {1, 2, 3, 4, 5, 6}}, nan = infinite;
  Tensor condition{{2, 3}, {1, 1, 1, 1, 1, 1}};
  nan.values.assign(6, NAN);
  auto gradients = gradientsOf(kSelect, {condition, infinite, nan}, {infinite});
  ASSERT_EQ(gradients.size(), 3u);
  EXPECT_EQ(gradients[1].values, infinite.values);
  EXPECT_EQ(gradients[2].values, std::vector<double>(6, 0));
}

TEST(Convert, ThereAndBack) {
  checkGradient(R"(
func.func @f(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %n = graph.convert %x : (tensor<2x3xf64>) -> tensor<2x3xf32>
  %s = graph.unary tanh %n : tensor<2x3xf32>
  %0 = graph.convert %s : (tensor<2x3xf32>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
})");
  checkGradient(R"(
func.func @f(%x: tensor<4xbf16>) -> tensor<4xf32> {
  %0 = graph.convert %x : (tensor<4xbf16>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
})");
}

/// A way through integers carries no gradient.
TEST(Convert, NoGradientThroughIntegers) {
  constexpr char text[] = R"(
func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {
  %i = graph.convert %x : (tensor<3xf64>) -> tensor<3xi64>
  %s = graph.binary mul %i, %i : tensor<3xi64>
  %r = graph.convert %s : (tensor<3xi64>) -> tensor<3xf64>
  %0 = graph.binary mul %r, %x : tensor<3xf64>
  return %0 : tensor<3xf64>
})";
  Inputs inputs;
  inputs.given[0] = {{3}, {2.5, -1.5, 3.25}};
  checkGradient(text, inputs);
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
//
// The ops of the forward pass in the reference interpreter against numbers
// worked out by hand (the arithmetic stands beside them): finite differences
// cannot see a wrong forward value.
#include "test/numerics/reference_run.h"

using namespace echelon::test;

namespace {

/// One op `text` on %a (and %b) of type `type`.
std::string pointwise(const std::string &op, const std::string &type) {
  return "func.func @f(%a: " + type + ", %b: " + type + ") -> " + type +
         " {\n  %0 = " + op + " : " + type + "\n  return %0 : " + type + "\n}";
}

TEST(Reference, Unary) {
  const double kX = 0.5;
  // sigmoid(1/2) = 0.6224593312018546, Phi(1/2) = 0.6914624612740131.
  const std::pair<const char *, double> cases[] = {
      {"neg", -kX},
      {"exp", 1.6487212707001282},
      {"log", -0.6931471805599453},
      {"sqrt", 0.7071067811865476},
      {"rsqrt", 1.4142135623730951},
      {"reciprocal", 2},
      {"tanh", 0.46211715726000973},
      {"erf", 0.5204998778130465},
      {"sigmoid", 0.6224593312018546},
      {"sin", 0.479425538604203},
      {"cos", 0.8775825618903728},
      {"abs", 0.5},
      {"sign", 1},
      {"gelu", 0.34573123063700656},
      // u = sqrt(2/pi) (1/2 + 0.044715/8) = 0.4034019, x/2 (1 + tanh u)
      {"gelu_tanh", 0.34571400982514394},
      {"silu", 0.3112296656009273},
      {"relu", 0.5}};
  for (auto [kind, expected] : cases) {
    Function run(
        pointwise(std::string("graph.unary ") + kind + " %a", "tensor<1xf64>"));
    expectNear(run({{{1}, {kX}}, {{1}, {0}}})[0], {expected}, 1e-15 * 4);
  }
  Function relu(pointwise("graph.unary relu %a", "tensor<4xf64>"));
  Tensor special{{4}, {-2, 0, NAN, INFINITY}};
  expectNear(relu({special, special})[0], {0, 0, NAN, INFINITY});
  Function sign(pointwise("graph.unary sign %a", "tensor<4xf64>"));
  expectNear(sign({special, special})[0], {-1, 0, NAN, 1});
  Function isNot(pointwise("graph.unary not %a", "tensor<2xi1>"));
  expectNear(isNot({{{2}, {0, 1}}, {{2}, {0, 0}}})[0], {1, 0});
}

TEST(Reference, Binary) {
  Tensor a{{4}, {7, -7, 2, NAN}}, b{{4}, {2, 2, -3, 1}};
  const std::pair<const char *, std::vector<double>> cases[] = {
      {"add", {9, -5, -1, NAN}},    {"sub", {5, -9, 5, NAN}},
      {"mul", {14, -14, -6, NAN}},  {"div", {3.5, -3.5, -2.0 / 3, NAN}},
      {"max", {7, 2, 2, NAN}},      {"min", {2, -7, -3, NAN}},
      {"pow", {49, 49, 0.125, NAN}}};
  for (const auto &[kind, expected] : cases) {
    Function run(pointwise(std::string("graph.binary ") + kind + " %a, %b",
                           "tensor<4xf64>"));
    expectNear(run({a, b})[0], expected);
  }
  // Integers divide towards zero.
  Function divide(pointwise("graph.binary div %a, %b", "tensor<3xi64>"));
  expectNear(divide({{{3}, {7, -7, 6}}, {{3}, {2, 2, -4}}})[0], {3, -3, -1});
  EXPECT_EQ(divide.errorOf({{{3}, {7, -7, 6}}, {{3}, {2, 0, -4}}}),
            "integer division by zero");
  Function both(pointwise("graph.binary and %a, %b", "tensor<4xi1>"));
  expectNear(both({{{4}, {0, 0, 1, 1}}, {{4}, {0, 1, 0, 1}}})[0], {0, 0, 0, 1});
  Function either(pointwise("graph.binary or %a, %b", "tensor<4xi1>"));
  expectNear(either({{{4}, {0, 0, 1, 1}}, {{4}, {0, 1, 0, 1}}})[0],
             {0, 1, 1, 1});
}

TEST(Reference, CompareSelectConvert) {
  const std::pair<const char *, std::vector<double>> cases[] = {
      {"eq", {0, 1, 0, 0}}, {"ne", {1, 0, 1, 1}}, {"lt", {1, 0, 0, 0}},
      {"le", {1, 1, 0, 0}}, {"gt", {0, 0, 1, 0}}, {"ge", {0, 1, 1, 0}}};
  for (const auto &[predicate, expected] : cases) {
    Function run(
        std::string("func.func @f(%a: tensor<4xf64>, %b: tensor<4xf64>) -> "
                    "tensor<4xi1> {\n"
                    "  %0 = graph.compare ") +
        predicate +
        " %a, %b : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>\n"
        "  return %0 : tensor<4xi1>\n}");
    expectNear(run({{{4}, {1, 2, 3, NAN}}, {{4}, {2, 2, 2, 2}}})[0], expected);
  }
  Function select(R"(
func.func @f(%c: tensor<2xi1>, %a: tensor<2xf64>, %b: tensor<2xf64>) -> tensor<2xf64> {
  %0 = graph.select %c, %a, %b : (tensor<2xi1>, tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
})");
  expectNear(select({{{2}, {1, 0}}, {{2}, {3, NAN}}, {{2}, {NAN, 4}}})[0],
             {3, 4});
  Function convert(R"(
func.func @f(%a: tensor<3xf64>) -> (tensor<3xi64>, tensor<3xi1>, tensor<3xf32>) {
  %i = graph.convert %a : (tensor<3xf64>) -> tensor<3xi64>
  %b = graph.convert %a : (tensor<3xf64>) -> tensor<3xi1>
  %f = graph.convert %a : (tensor<3xf64>) -> tensor<3xf32>
  return %i, %b, %f : tensor<3xi64>, tensor<3xi1>, tensor<3xf32>
})");
  auto converted = convert({{{3}, {-1.75, 0, 0.1}}});
  expectNear(converted[0], {-1, 0, 0});
  expectNear(converted[1], {1, 0, 1});
  EXPECT_EQ(converted[2].values, (std::vector<double>{-1.75, 0, 0.1}));
}

TEST(Reference, Einsum) {
  Function product(R"(
func.func @f(%a: tensor<2x1x2xf64>, %b: tensor<2x3xf64>) -> tensor<3x2x1xf64> {
  %0 = graph.einsum "b m k, k n -> n b m" %a, %b : (tensor<2x1x2xf64>, tensor<2x3xf64>) -> tensor<3x2x1xf64>
  return %0 : tensor<3x2x1xf64>
})");
  // [1 2] and [3 4] times [[1 2 3], [10 20 30]]: 21 42 63 and 43 86 129.
  expectNear(
      product({{{2, 1, 2}, {1, 2, 3, 4}}, {{2, 3}, {1, 2, 3, 10, 20, 30}}})[0],
      {21, 43, 42, 86, 63, 129});
  Function sums(R"(
func.func @f(%a: tensor<2x2x2xf64>, %b: tensor<2x2x2xf64>) -> tensor<2xf64> {
  %0 = graph.einsum "x y m, m y x -> m" %a, %b : (tensor<2x2x2xf64>, tensor<2x2x2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
})");
  // m = 0: a 0 2 4 6 at xy 00 01 10 11; b[0,y,x]: 1 3 2 4 -> 0 + 6 + 8 + 24.
  // m = 1: a 1 3 5 7; b[1,y,x]: 5 7 6 8 -> 5 + 21 + 30 + 56.
  expectNear(sums({{{2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}},
                   {{2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}})[0],
             {38, 112});
}

TEST(Reference, ReduceAndNormalize) {
  Function reduce(R"(
func.func @f(%a: tensor<2x3xf64>) -> (tensor<3xf64>, tensor<2xf64>, tensor<2xf64>, tensor<f64>) {
  %s = graph.reduce sum %a over [0] : (tensor<2x3xf64>) -> tensor<3xf64>
  %m = graph.reduce mean %a over [1] : (tensor<2x3xf64>) -> tensor<2xf64>
  %x = graph.reduce max %a over [1] : (tensor<2x3xf64>) -> tensor<2xf64>
  %t = graph.reduce sum %a over [0, 1] : (tensor<2x3xf64>) -> tensor<f64>
  return %s, %m, %x, %t : tensor<3xf64>, tensor<2xf64>, tensor<2xf64>, tensor<f64>
})");
  auto reduced = reduce({{{2, 3}, {1, 2, 6, -4, -5, -9}}});
  expectNear(reduced[0], {-3, -3, -3});
  expectNear(reduced[1], {3, -6});
  expectNear(reduced[2], {6, -4});
  expectNear(reduced[3], {-9});
  Function rows(R"(
func.func @f(%a: tensor<2x2xf64>, %s: tensor<2xf64>, %b: tensor<2xf64>) -> (tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>) {
  %0 = graph.softmax %a : (tensor<2x2xf64>) -> tensor<2x2xf64>
  %1 = graph.layer_norm %a, %s, %b {epsilon = 3.0 : f64} : (tensor<2x2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2x2xf64>
  %2 = graph.rms_norm %a, %s {epsilon = 6.5 : f64} : (tensor<2x2xf64>, tensor<2xf64>) -> tensor<2x2xf64>
  return %0, %1, %2 : tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>
})");
  double ln3 = std::log(3.0);
  auto normal =
      rows({{{2, 2}, {1, 3, 1000, 1000 + ln3}}, {{2}, {2, 4}}, {{2}, {1, -1}}});
  double e2 = std::exp(2.0);
  expectNear(normal[0], {1 / (1 + e2), e2 / (1 + e2), 0.25, 0.75}, 1e-12);
  // Row 0: mean 2, variance 1, sqrt(1 + 3) = 2: -1/2 and 1/2, times 2 and 4,
  // plus 1 and -1.
  EXPECT_EQ(normal[1].values[0], 0);
  EXPECT_EQ(normal[1].values[1], 1);
  // Mean square 5, sqrt(11.5).
  EXPECT_NEAR(normal[2].values[0], 2 / std::sqrt(11.5), 1e-15);
  EXPECT_NEAR(normal[2].values[1], 12 / std::sqrt(11.5), 1e-15);
  Function masked(
      "func.func @f(%a: tensor<1x2xf64>) -> tensor<1x2xf64> {\n"
      "  %0 = graph.softmax %a : (tensor<1x2xf64>) -> tensor<1x2xf64>\n"
      "  return %0 : tensor<1x2xf64>\n}");
  expectNear(masked({{{1, 2}, {-INFINITY, -INFINITY}}})[0], {NAN, NAN});
  expectNear(masked({{{1, 2}, {-INFINITY, 5}}})[0], {0, 1});
}

std::string attention(int queries, int keys, int heads,
                      const std::string &attributes, bool masked) {
  std::string n = std::to_string(queries), m = std::to_string(keys),
              h = std::to_string(heads);
  std::string q = "tensor<1x" + n + "x" + h + "x1xf64>",
              k = "tensor<1x" + m + "x1x1xf64>",
              mask = "tensor<1x1x" + n + "x" + m + "xf64>",
              lse = "tensor<1x" + h + "x" + n + "xf64>";
  return "func.func @f(%q: " + q + ", %k: " + k + ", %v: " + k +
         (masked ? ", %m: " + mask : "") + ") -> (" + q + ", " + lse +
         ") {\n  %0, %1 = graph.attention %q, %k, %v" + (masked ? ", %m" : "") +
         " {scale = 0.5 : f64, " + attributes + "} : (" + q + ", " + k + ", " +
         k + (masked ? ", " + mask : "") + ") -> (" + q + ", " + lse +
         ")\n  return %0, %1 : " + q + ", " + lse + "\n}";
}

/// Scores are 1/2 q k: with q = 2 and k = log w the weights are w / sum w.
TEST(Reference, Attention) {
  Tensor k{{1, 3, 1, 1}, {std::log(1.0), std::log(2.0), std::log(3.0)}},
      v{{1, 3, 1, 1}, {10, 20, 30}};
  Tensor q3{{1, 3, 1, 1}, {2, 2, 2}}, q2{{1, 2, 1, 1}, {2, 2}};
  const double all = (10 + 40 + 90) / 6.0;
  auto full = Function(attention(3, 3, 1, "causal = false", false))({q3, k, v});
  expectNear(full[0], {all, all, all});
  expectNear(full[1], std::vector<double>(3, std::log(6.0)));
  // Query i sees keys up to i: 10; (10 + 40) / 3; all.
  auto causal =
      Function(attention(3, 3, 1, "causal = true", false))({q3, k, v});
  expectNear(causal[0], {10, 50.0 / 3, all});
  expectNear(causal[1], {0, std::log(3.0), std::log(6.0)});
  // Two queries are the last two positions.
  expectNear(
      Function(attention(2, 3, 1, "causal = true", false))({q2, k, v})[0],
      {50.0 / 3, all});
  // A window of two keys: the last one is (40 + 90) / 5.
  expectNear(Function(attention(3, 3, 1, "causal = true, window = 2 : i64",
                                false))({q3, k, v})[0],
             {10, 50.0 / 3, 26});
  // A window alone bounds the past only: query 2 loses key 0.
  expectNear(Function(attention(3, 3, 1, "causal = false, window = 2 : i64",
                                false))({q3, k, v})[0],
             {all, all, 26});
  // The mask adds log 4 to key 0 (weight 4 of 9) and hides key 2 from the
  // second query: (10 + 40) / 3.
  Tensor mask{{1, 1, 2, 3}, {std::log(4.0), 0, 0, 0, 0, -INFINITY}};
  auto biased =
      Function(attention(2, 3, 1, "causal = false", true))({q2, k, v, mask});
  expectNear(biased[0], {(40 + 40 + 90) / 9.0, 50.0 / 3});
  expectNear(biased[1], {std::log(9.0), std::log(3.0)});
  // Two query heads share one key head; the second one's scores are 0.
  auto grouped = Function(attention(1, 3, 2, "causal = false", false))(
      {{{1, 1, 2, 1}, {2, 0}}, k, v});
  expectNear(grouped[0], {all, 20});
  expectNear(grouped[1], {std::log(6.0), std::log(3.0)});
  // Three queries on one key: the first two see nothing.
  auto blind = Function(attention(3, 1, 1, "causal = true", false))(
      {q3, {{1, 1, 1, 1}, {1}}, {{1, 1, 1, 1}, {7}}});
  expectNear(blind[0], {0, 0, 7});
  expectNear(blind[1], {-INFINITY, -INFINITY, 1});
}

} // namespace

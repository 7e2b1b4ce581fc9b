// SPDX-License-Identifier: Apache-2.0
//
// The reference interpreter against numbers worked out by hand (the arithmetic
// stands beside them): finite differences cannot see a wrong forward value.
#include "mlir/Parser/Parser.h"
#include "test/numerics/reference_interpreter.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace echelon::test;

namespace {

struct Run {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Interpreter interpreter;

  /// `body`: the ops of one function that returns what `types` lists.
  explicit Run(const std::string &text) {
    context
        .loadDialect<echelon::graph::GraphDialect, mlir::func::FuncDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
  }
  llvm::Expected<std::vector<Tensor>> tryRun(llvm::ArrayRef<Tensor> arguments) {
    auto function = module->lookupSymbol<mlir::func::FuncOp>("f");
    return interpreter.run(function, arguments);
  }
  std::vector<Tensor> operator()(llvm::ArrayRef<Tensor> arguments) {
    auto results = tryRun(arguments);
    if (results)
      return std::move(*results);
    ADD_FAILURE() << llvm::toString(results.takeError());
    return std::vector<Tensor>(8);
  }
  std::string errorOf(llvm::ArrayRef<Tensor> arguments) {
    auto results = tryRun(arguments);
    return results ? "none" : llvm::toString(results.takeError());
  }
};

void expectNear(const Tensor &tensor, const std::vector<double> &expected,
                double tolerance = 1e-14) {
  ASSERT_EQ(tensor.values.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(tensor.values[i])) << "element " << i;
    else if (std::isinf(expected[i]))
      EXPECT_EQ(tensor.values[i], expected[i]) << "element " << i;
    else
      EXPECT_NEAR(tensor.values[i], expected[i], tolerance) << "element " << i;
}

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
    Run run(
        pointwise(std::string("graph.unary ") + kind + " %a", "tensor<1xf64>"));
    expectNear(run({{{1}, {kX}}, {{1}, {0}}})[0], {expected}, 1e-15 * 4);
  }
  Run relu(pointwise("graph.unary relu %a", "tensor<4xf64>"));
  Tensor special{{4}, {-2, 0, NAN, INFINITY}};
  expectNear(relu({special, special})[0], {0, 0, NAN, INFINITY});
  Run sign(pointwise("graph.unary sign %a", "tensor<4xf64>"));
  expectNear(sign({special, special})[0], {-1, 0, NAN, 1});
  Run isNot(pointwise("graph.unary not %a", "tensor<2xi1>"));
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
    Run run(pointwise(std::string("graph.binary ") + kind + " %a, %b",
                      "tensor<4xf64>"));
    expectNear(run({a, b})[0], expected);
  }
  // Integers divide towards zero.
  Run divide(pointwise("graph.binary div %a, %b", "tensor<3xi64>"));
  expectNear(divide({{{3}, {7, -7, 6}}, {{3}, {2, 2, -4}}})[0], {3, -3, -1});
  EXPECT_EQ(divide.errorOf({{{3}, {7, -7, 6}}, {{3}, {2, 0, -4}}}),
            "integer division by zero");
  Run both(pointwise("graph.binary and %a, %b", "tensor<4xi1>"));
  expectNear(both({{{4}, {0, 0, 1, 1}}, {{4}, {0, 1, 0, 1}}})[0], {0, 0, 0, 1});
  Run either(pointwise("graph.binary or %a, %b", "tensor<4xi1>"));
  expectNear(either({{{4}, {0, 0, 1, 1}}, {{4}, {0, 1, 0, 1}}})[0],
             {0, 1, 1, 1});
}

TEST(Reference, CompareSelectConvert) {
  const std::pair<const char *, std::vector<double>> cases[] = {
      {"eq", {0, 1, 0, 0}}, {"ne", {1, 0, 1, 1}}, {"lt", {1, 0, 0, 0}},
      {"le", {1, 1, 0, 0}}, {"gt", {0, 0, 1, 0}}, {"ge", {0, 1, 1, 0}}};
  for (const auto &[predicate, expected] : cases) {
    Run run(std::string("func.func @f(%a: tensor<4xf64>, %b: tensor<4xf64>) -> "
                        "tensor<4xi1> {\n"
                        "  %0 = graph.compare ") +
            predicate +
            " %a, %b : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>\n"
            "  return %0 : tensor<4xi1>\n}");
    expectNear(run({{{4}, {1, 2, 3, NAN}}, {{4}, {2, 2, 2, 2}}})[0], expected);
  }
  Run select(R"(
func.func @f(%c: tensor<2xi1>, %a: tensor<2xf64>, %b: tensor<2xf64>) -> tensor<2xf64> {
  %0 = graph.select %c, %a, %b : (tensor<2xi1>, tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
})");
  expectNear(select({{{2}, {1, 0}}, {{2}, {3, NAN}}, {{2}, {NAN, 4}}})[0],
             {3, 4});
  Run convert(R"(
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
  Run product(R"(
func.func @f(%a: tensor<2x1x2xf64>, %b: tensor<2x3xf64>) -> tensor<3x2x1xf64> {
  %0 = graph.einsum "b m k, k n -> n b m" %a, %b : (tensor<2x1x2xf64>, tensor<2x3xf64>) -> tensor<3x2x1xf64>
  return %0 : tensor<3x2x1xf64>
})");
  // [1 2] and [3 4] times [[1 2 3], [10 20 30]]: 21 42 63 and 43 86 129.
  expectNear(
      product({{{2, 1, 2}, {1, 2, 3, 4}}, {{2, 3}, {1, 2, 3, 10, 20, 30}}})[0],
      {21, 43, 42, 86, 63, 129});
  Run sums(R"(
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
  Run reduce(R"(
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
  Run rows(R"(
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
  Run masked("func.func @f(%a: tensor<1x2xf64>) -> tensor<1x2xf64> {\n"
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
  auto full = Run(attention(3, 3, 1, "causal = false", false))({q3, k, v});
  expectNear(full[0], {all, all, all});
  expectNear(full[1], std::vector<double>(3, std::log(6.0)));
  // Query i sees keys up to i: 10; (10 + 40) / 3; all.
  auto causal = Run(attention(3, 3, 1, "causal = true", false))({q3, k, v});
  expectNear(causal[0], {10, 50.0 / 3, all});
  expectNear(causal[1], {0, std::log(3.0), std::log(6.0)});
  // Two queries are the last two positions.
  expectNear(Run(attention(2, 3, 1, "causal = true", false))({q2, k, v})[0],
             {50.0 / 3, all});
  // A window of two keys: the last one is (40 + 90) / 5.
  expectNear(Run(attention(3, 3, 1, "causal = true, window = 2 : i64", false))(
                 {q3, k, v})[0],
             {10, 50.0 / 3, 26});
  // A window alone bounds the past only: query 2 loses key 0.
  expectNear(Run(attention(3, 3, 1, "causal = false, window = 2 : i64", false))(
                 {q3, k, v})[0],
             {all, all, 26});
  // The mask adds log 4 to key 0 (weight 4 of 9) and hides key 2 from the
  // second query: (10 + 40) / 3.
  Tensor mask{{1, 1, 2, 3}, {std::log(4.0), 0, 0, 0, 0, -INFINITY}};
  auto biased =
      Run(attention(2, 3, 1, "causal = false", true))({q2, k, v, mask});
  expectNear(biased[0], {(40 + 40 + 90) / 9.0, 50.0 / 3});
  expectNear(biased[1], {std::log(9.0), std::log(3.0)});
  // Two query heads share one key head; the second one's scores are 0.
  auto grouped = Run(attention(1, 3, 2, "causal = false", false))(
      {{{1, 1, 2, 1}, {2, 0}}, k, v});
  expectNear(grouped[0], {all, 20});
  expectNear(grouped[1], {std::log(6.0), std::log(3.0)});
  // Three queries on one key: the first two see nothing.
  auto blind = Run(attention(3, 1, 1, "causal = true", false))(
      {q3, {{1, 1, 1, 1}, {1}}, {{1, 1, 1, 1}, {7}}});
  expectNear(blind[0], {0, 0, 7});
  expectNear(blind[1], {-INFINITY, -INFINITY, 1});
}

TEST(Reference, Views) {
  Run views(R"(
func.func @f(%a: tensor<2x3xf64>) -> (tensor<3x2xf64>, tensor<3x2xf64>, tensor<2x2x3xf64>, tensor<2x2xf64>, tensor<3x4xf64>, tensor<2x5xf64>) {
  %r = graph.reshape %a : (tensor<2x3xf64>) -> tensor<3x2xf64>
  %t = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<2x3xf64>) -> tensor<3x2xf64>
  %b = graph.broadcast %a {dims = array<i64: 0, 2>} : (tensor<2x3xf64>) -> tensor<2x2x3xf64>
  %s = graph.slice %a {offsets = array<i64: 1, 2>, strides = array<i64: -1, -2>} : (tensor<2x3xf64>) -> tensor<2x2xf64>
  %p = graph.pad %s {offsets = array<i64: 0, 3>, strides = array<i64: 2, -2>} : (tensor<2x2xf64>) -> tensor<3x4xf64>
  %c = graph.concat %s, %a {dim = 1 : i64} : (tensor<2x2xf64>, tensor<2x3xf64>) -> tensor<2x5xf64>
  return %r, %t, %b, %s, %p, %c : tensor<3x2xf64>, tensor<3x2xf64>, tensor<2x2x3xf64>, tensor<2x2xf64>, tensor<3x4xf64>, tensor<2x5xf64>
})");
  auto results = views({{{2, 3}, {1, 2, 3, 4, 5, 6}}});
  expectNear(results[0], {1, 2, 3, 4, 5, 6});
  expectNear(results[1], {1, 4, 2, 5, 3, 6});
  expectNear(results[2], {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  expectNear(results[3], {6, 4, 3, 1});
  expectNear(results[4], {0, 4, 0, 6, 0, 0, 0, 0, 0, 1, 0, 3});
  expectNear(results[5], {6, 4, 1, 2, 3, 3, 1, 4, 5, 6});
}

TEST(Reference, RowsAndLoss) {
  Run rows(R"(
func.func @f(%t: tensor<3x2xf64>, %i: tensor<2xi64>) -> (tensor<2x2xf64>, tensor<3x2xf64>) {
  %0 = graph.embedding %t, %i : (tensor<3x2xf64>, tensor<2xi64>) -> tensor<2x2xf64>
  %1 = graph.embedding_grad %i, %0 : (tensor<2xi64>, tensor<2x2xf64>) -> tensor<3x2xf64>
  return %0, %1 : tensor<2x2xf64>, tensor<3x2xf64>
})");
  Tensor table{{3, 2}, {1, 2, 3, 4, 5, 6}};
  auto taken = rows({table, {{2}, {-1, 2}}});
  expectNear(taken[0], {5, 6, 5, 6});
  expectNear(taken[1], {0, 0, 0, 0, 10, 12});
  EXPECT_EQ(rows.errorOf({table, {{2}, {0, 3}}}),
            "index 3 is outside a table of 3 rows");
  EXPECT_EQ(rows.errorOf({table, {{2}, {0, -4}}}),
            "index -4 is outside a table of 3 rows");
  Run loss(R"(
func.func @f(%x: tensor<3x2xf64>, %y: tensor<3xi64>) -> (tensor<f64>, tensor<f64>, tensor<3xf64>) {
  %0, %1, %2 = graph.softmax_cross_entropy %x, %y {ignore_index = -7 : i64, label_smoothing = 0.5 : f64} : (tensor<3x2xf64>, tensor<3xi64>) -> (tensor<f64>, tensor<f64>, tensor<3xf64>)
  return %0, %1, %2 : tensor<f64>, tensor<f64>, tensor<3xf64>
})");
  // Probabilities 1/4 3/4 and 1/2 1/2; targets 1/4 3/4 (label 1) and 3/4 1/4.
  double ln3 = std::log(3.0), ln2 = std::log(2.0);
  Tensor x{{3, 2}, {0, ln3, 5, 6, 1000, 1000}};
  auto computed = loss({x, {{3}, {1, -7, 0}}});
  expectNear(computed[0], {0.25 * 2 * ln2 + 0.75 * (2 * ln2 - ln3) + ln2},
             1e-12);
  expectNear(computed[1], {2});
  expectNear(computed[2],
             {2 * ln2, 5 + std::log(1 + std::exp(1.0)), 1000 + ln2}, 1e-12);
  EXPECT_EQ(loss.errorOf({x, {{3}, {1, 2, 0}}}),
            "label 2 is not one of 2 classes");
}

TEST(Reference, ScheduleAndUpdate) {
  const auto rates = [](const char *kind) {
    Run run(
        std::string(
            "func.func @f() -> tensor<f32> {\n  %0 = graph.learning_rate ") +
        "{schedule = #graph<schedule_kind " + kind +
        ">, base = 8.0 : f64, min_lr = 2.0 : f64, warmup_steps = 2 : i64, "
        "total_steps = 7 : i64} : () -> "
        "tensor<f32>\n  return %0 : tensor<f32>\n}");
    std::vector<double> result;
    for (run.interpreter.step = 0; run.interpreter.step < 9;
         ++run.interpreter.step)
      result.push_back(run({})[0].values[0]);
    return Tensor{{9}, result};
  };
  // Two steps of warmup to 8; from step 2 to step 6 down to 2 in quarters.
  expectNear(rates("constant"), {4, 8, 8, 8, 8, 8, 8, 8, 8});
  expectNear(rates("linear"), {4, 8, 8, 6.5, 5, 3.5, 2, 2, 2});
  double part = 3 * std::sqrt(0.5);
  expectNear(rates("cosine"), {4, 8, 8, 5 + part, 5, 5 - part, 2, 2, 2}, 1e-14);
  Run update(R"(
func.func @f(%p: tensor<1xf64>, %g: tensor<1xf64>, %m: tensor<1xf64>, %v: tensor<1xf64>, %s: tensor<f64>, %lr: tensor<f64>) -> (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>, tensor<2xf64>) {
  %bias = graph.adam_bias {beta1 = 0.5 : f64, beta2 = 0.75 : f64} : () -> tensor<2xf64>
  %0, %1, %2 = graph.adamw %p, %g, %m, %v, %s, %lr, %bias {beta1 = 0.5 : f64, beta2 = 0.75 : f64, epsilon = 1.0 : f64, weight_decay = 0.5 : f64} : (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>, tensor<1xf64>, tensor<f64>, tensor<f64>, tensor<2xf64>) -> (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>)
  return %0, %1, %2, %bias : tensor<1xf64>, tensor<1xf64>, tensor<1xf64>, tensor<2xf64>
})");
  // Step 1: bias [1 / (1 - 1/2), 1 / sqrt(1 - 3/4)] = [2, 2]. g = 4 * 1/2 = 2,
  // m = 1, v = 1. p = 3 (1 - 0.1 * 0.5) - 0.1 * 2 * 1 / (1 * 2 + 1) = 2.85 -
  // 0.2 / 3.
  auto stepped = update({{{1}, {3}},
                         {{1}, {4}},
                         {{1}, {0}},
                         {{1}, {0}},
                         {{}, {0.5}},
                         {{}, {0.1}}});
  expectNear(stepped[0], {2.85 - 0.2 / 3});
  expectNear(stepped[1], {1});
  expectNear(stepped[2], {1});
  expectNear(stepped[3], {2, 2});
}

TEST(Reference, VariablesAndGroups) {
  Run run(R"(
graph.variable parameter @w : tensor<2xf64> = #graph.init<constant, 3.0, 0.0>
graph.variable gradient @g : tensor<2xf64> = #graph.init<constant, 0.0, 0.0>
func.func @f(%x: tensor<2x2xf64>) -> (tensor<2xf64>, tensor<2xf64>) {
  %before = graph.read @w : tensor<2xf64>
  %0 = graph.fused(%x, %before) over [2, 2] rows 1 : (tensor<2x2xf64>, tensor<2xf64>) -> tensor<2xf64> {
  ^bb0(%a: tensor<2x2xf64>, %b: tensor<2xf64>):
    %c = graph.broadcast %b {dims = array<i64: 1>} : (tensor<2xf64>) -> tensor<2x2xf64>
    %d = graph.binary mul %a, %c : tensor<2x2xf64>
    %e = graph.reduce sum %d over [1] : (tensor<2x2xf64>) -> tensor<2xf64>
    graph.yield %e : tensor<2xf64>
  }
  graph.accumulate %0 into @g : tensor<2xf64>
  graph.accumulate %0 into @g : tensor<2xf64>
  graph.assign %0 to @w : tensor<2xf64>
  %after = graph.read @w : tensor<2xf64>
  return %before, %after : tensor<2xf64>, tensor<2xf64>
})");
  auto first = firstValues(*run.module, "");
  ASSERT_TRUE(bool(first));
  run.interpreter.variables = *first;
  auto results = run({{{2, 2}, {1, 2, 3, 4}}});
  expectNear(results[0], {3, 3});
  expectNear(results[1], {9, 21});
  expectNear(run.interpreter.variables["g"], {18, 42});
  run.interpreter.variables.erase("g");
  EXPECT_EQ(run.errorOf({{{2, 2}, {1, 2, 3, 4}}}), "no variable 'g'");
  EXPECT_EQ(run.errorOf({}), "@f takes 1 arguments, 0 are given");
  EXPECT_EQ(run.errorOf({{{4}, {1, 2, 3, 4}}}),
            "argument 0 of @f does not have the shape of its type");
}

TEST(Reference, AnOpOfAnotherDialectIsRefused) {
  Run run(R"(
func.func private @g(tensor<f64>) -> tensor<f64>
func.func @f(%x: tensor<f64>) -> tensor<f64> {
  %0 = func.call @g(%x) : (tensor<f64>) -> tensor<f64>
  return %0 : tensor<f64>
})");
  EXPECT_EQ(run.errorOf({{{}, {1}}}), "no reference for 'func.call'");
}

} // namespace

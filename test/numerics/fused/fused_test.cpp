// SPDX-License-Identifier: Apache-2.0
//
// Fused and generated kernels against the unfused ops in double, within a running error bound of the f32 evaluation.
#include "test/numerics/fused/fused_program.h"
#include "test/numerics/fused/fused_reference.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace echelon::test {
namespace {

using Values = std::vector<double>;

Values randomValues(mlir::Type type, unsigned seed) {
  auto tensor = mlir::cast<mlir::RankedTensorType>(type);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Values values;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    double value = normal(random);
    if (tensor.getElementType().isBF16())
      value = std::ldexp(std::round(std::ldexp(value, 5)), -5);
    else if (tensor.getElementType().isInteger(1))
      value = value > 0;
    else if (tensor.getElementType().isInteger(64) || tensor.getElementType().isInteger(32))
      value = std::round(10 * value);
    values.push_back(double(float(value)));
  }
  return values;
}

struct Expectations {
  size_t groups = 1;
  double before = 0;       // first value of accumulated results
  double tolerance = 2e-5; // the bound itself must be this small, relative to the largest result
  /// Non-negative arguments.
  std::vector<unsigned> positive = {};
};

/// Compiles `text`, runs it on random arguments and compares all results.
void check(const std::string &text, Expectations expected = {}, ProgramOptions options = {}) {
  FusedProgram program(text, options);
  ASSERT_EQ(program.groups(), expected.groups);
  for (const std::string &symbol : program.undefinedSymbols())
    EXPECT_TRUE(symbol == "memset" || symbol == "memcpy" || symbol == "memmove") << symbol;
  std::vector<Values> arguments;
  for (auto argument : program.source().getArguments()) {
    arguments.push_back(randomValues(argument.getType(), 17 + argument.getArgNumber()));
    if (llvm::is_contained(expected.positive, argument.getArgNumber()))
      for (double &value : arguments.back())
        value = std::fabs(value);
  }
  std::vector<Bounded> exact = evaluate(program.source(), arguments);
  std::vector<Values> got = program.run(arguments, expected.before);
  ASSERT_EQ(got.size(), exact.size());
  for (size_t r = 0; r < got.size(); ++r) {
    ASSERT_EQ(got[r].size(), exact[r].values.size());
    double largest = 0, bound = 0, worst = 0;
    for (size_t i = 0; i < got[r].size(); ++i) {
      double value = exact[r].values[i] + expected.before, error = exact[r].errors[i] * 2;
      error += 0x1p-24 * 2 * std::fabs(expected.before) + 1e-37;
      largest = std::max(largest, std::fabs(value));
      bound = std::max(bound, error);
      worst = std::max(worst, std::fabs(got[r][i] - value) / error);
      ASSERT_LE(std::fabs(got[r][i] - value), error)
          << "result " << r << " element " << i << " is " << got[r][i] << ", should be " << value;
    }
    EXPECT_LE(bound, expected.tolerance * largest) << "the bound of result " << r << " proves nothing";
    std::printf("  result %zu: worst error %.3f of its bound, bound %.2g of the largest value\n", r, worst,
                bound / largest);
  }
}

/// Replaces each of F, R, C in `text` by a tensor type.
std::string typed(std::string text, const std::map<char, std::string> &types) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '$' && types.count(text[i + 1]))
      out += types.at(text[++i]);
    else
      out += text[i];
  return out;
}

const std::map<char, std::string> kTypes = {{'F', "tensor<6x37x200xf32>"}, {'R', "tensor<6x37xf32>"},
                                            {'C', "tensor<200xf32>"},      {'S', "tensor<f32>"},
                                            {'P', "tensor<37x200xf32>"},   {'B', "tensor<6x37x200xi1>"}};

TEST(Fused, BiasGelu) {
  check(typed(R"(func.func @f(%x: $F, %b: $C) -> $F {
    %s = graph.broadcast %b {dims = array<i64: 2>} : ($C) -> $F
    %u = graph.binary add %x, %s : $F
    %y = graph.unary gelu %u : $F
    return %y : $F
  })",
              kTypes));
}

TEST(Fused, ResidualLayerNorm) {
  check(typed(R"(func.func @f(%x: $F, %h: $F, %scale: $C, %bias: $C) -> ($F, $F) {
    %u = graph.binary add %x, %h : $F
    %y = graph.layer_norm %u, %scale, %bias {epsilon = 1.0e-5 : f64} : ($F, $C, $C) -> $F
    return %u, %y : $F, $F
  })",
              kTypes));
}

TEST(Fused, Softmax) {
  check(typed(R"(func.func @f(%x: $F) -> $F {
    %y = graph.softmax %x : ($F) -> $F
    return %y : $F
  })",
              kTypes));
}

TEST(Fused, RmsNorm) {
  check(typed(R"(func.func @f(%x: $F, %scale: $C) -> $F {
    %y = graph.rms_norm %x, %scale {epsilon = 1.0e-6 : f64} : ($F, $C) -> $F
    return %y : $F
  })",
              kTypes));
}

/// dx, dscale, dbias in one pass, with the residual gradient added.
TEST(Fused, LayerNormBackward) {
  check(typed(R"(func.func @f(%x: $F, %dy: $F, %scale: $C, %res: $F) -> ($F, $C, $C) {
    %n = graph.constant dense<5.0e-3> : $R : $R
    %eps = graph.constant dense<1.0e-5> : $R : $R
    %sum = graph.reduce sum %x over [2] : ($F) -> $R
    %mean = graph.binary mul %sum, %n : $R
    %means = graph.broadcast %mean {dims = array<i64: 0, 1>} : ($R) -> $F
    %c = graph.binary sub %x, %means : $F
    %c2 = graph.binary mul %c, %c : $F
    %sq = graph.reduce mean %c2 over [2] : ($F) -> $R
    %var = graph.binary add %sq, %eps : $R
    %rstd = graph.unary rsqrt %var : $R
    %rs = graph.broadcast %rstd {dims = array<i64: 0, 1>} : ($R) -> $F
    %norm = graph.binary mul %c, %rs : $F
    %sc = graph.broadcast %scale {dims = array<i64: 2>} : ($C) -> $F
    %dn = graph.binary mul %dy, %sc : $F
    %mg = graph.reduce mean %dn over [2] : ($F) -> $R
    %mgs = graph.broadcast %mg {dims = array<i64: 0, 1>} : ($R) -> $F
    %pn = graph.binary mul %dn, %norm : $F
    %pr = graph.reduce mean %pn over [2] : ($F) -> $R
    %prs = graph.broadcast %pr {dims = array<i64: 0, 1>} : ($R) -> $F
    %a = graph.binary sub %dn, %mgs : $F
    %b = graph.binary mul %norm, %prs : $F
    %i = graph.binary sub %a, %b : $F
    %dx = graph.binary mul %i, %rs : $F
    %total = graph.binary add %dx, %res : $F
    %dsx = graph.binary mul %dy, %norm : $F
    %ds = graph.reduce sum %dsx over [0, 1] : ($F) -> $C
    %db = graph.reduce sum %dy over [0, 1] : ($F) -> $C
    return %total, %ds, %db : $F, $C, $C
  })",
              kTypes),
        {1, 0, 1e-4});
}

const char *kGeluBackward = R"(func.func @f(%x: $F, %bias: $C, %dy: $F) -> ($F, $C) {
    %s = graph.broadcast %bias {dims = array<i64: 2>} : ($C) -> $F
    %u = graph.binary add %x, %s : $F
    %root = graph.constant dense<0.70710678118654757> : $F : $F
    %one = graph.constant dense<1.0> : $F : $F
    %half = graph.constant dense<0.5> : $F : $F
    %minus = graph.constant dense<-0.5> : $F : $F
    %norm = graph.constant dense<0.3989422804014327> : $F : $F
    %v = graph.binary mul %u, %root : $F
    %e = graph.unary erf %v : $F
    %e1 = graph.binary add %e, %one : $F
    %cdf = graph.binary mul %e1, %half : $F
    %uu = graph.binary mul %u, %u : $F
    %w = graph.binary mul %uu, %minus : $F
    %g = graph.unary exp %w : $F
    %density = graph.binary mul %g, %norm : $F
    %ud = graph.binary mul %u, %density : $F
    %slope = graph.binary add %cdf, %ud : $F
    %dx = graph.binary mul %dy, %slope : $F
    %db = graph.reduce sum %dx over [0, 1] : ($F) -> $C
    return %dx, %db : $F, $C
  })";

TEST(Fused, GeluBackwardWithBiasGradient) { check(typed(kGeluBackward, kTypes), {1, 0, 1e-4}); }

TEST(Fused, AccumulatedSums) {
  ProgramOptions options;
  options.accumulate = true;
  Expectations expected;
  expected.before = 3;
  check(typed(kGeluBackward, kTypes), expected, options);
}

const char *kAdamW = R"(func.func @f(%p: $F, %g: $F, %m: $F, %v: $F, %s: $S, %lr: $S, %bias: tensor<2xf32>)
      -> ($F, $F, $F) {
    %a:3 = graph.adamw %p, %g, %m, %v, %s, %lr, %bias {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64,
      weight_decay = 0.1 : f64} : ($F, $F, $F, $F, $S, $S, tensor<2xf32>) -> ($F, $F, $F)
    return %a#0, %a#1, %a#2 : $F, $F, $F
  })";

TEST(Fused, AdamW) {
  Expectations expected;
  expected.positive = {3, 4, 5, 6};
  check(typed(kAdamW, kTypes), expected);
}

TEST(Fused, AdamWInPlace) {
  Expectations expected;
  expected.positive = {3, 4, 5, 6};
  ProgramOptions options;
  options.inPlace = true;
  check(typed(kAdamW, kTypes), expected, options);
}

TEST(Fused, LayerNormInPlace) {
  ProgramOptions options;
  options.inPlace = true;
  check(typed(R"(func.func @f(%x: $F, %scale: $C, %bias: $C) -> $F {
    %y = graph.layer_norm %x, %scale, %bias {epsilon = 1.0e-5 : f64} : ($F, $C, $C) -> $F
    return %y : $F
  })",
              kTypes),
        {}, options);
}

TEST(Fused, SquareSum) {
  check(R"(func.func @f(%x: tensor<1000x777xf32>) -> tensor<f32> {
    %y = graph.binary mul %x, %x : tensor<1000x777xf32>
    %z = graph.reduce sum %y over [0, 1] : (tensor<1000x777xf32>) -> tensor<f32>
    return %z : tensor<f32>
  })",
        {1, 0, 1e-4});
}

/// The f64 accumulation keeps a long sum far better than its bound asks.
TEST(Fused, LongSumIsExact) {
  FusedProgram program(R"(func.func @f(%x: tensor<4000000xf32>) -> tensor<f32> {
    %z = graph.reduce sum %x over [0] : (tensor<4000000xf32>) -> tensor<f32>
    return %z : tensor<f32>
  })");
  Values x(4000000);
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i)
    sum += x[i] = double(float(0.5 + double(i % 1009) / 1009));
  EXPECT_NEAR(program.run({x}).at(0).at(0) / sum, 1, 2e-7);
}

TEST(Fused, PositionGradientSumsOverTheBatch) {
  check(typed(R"(func.func @f(%x: $F, %y: $F) -> ($F, $P) {
    %z = graph.binary mul %x, %y : $F
    %s = graph.reduce sum %z over [0] : ($F) -> $P
    return %z, %s : $F, $P
  })",
              kTypes));
}

TEST(Fused, PositionEmbeddingIsNotMaterialised) {
  check(typed(R"(func.func @f(%x: $F, %p: $P, %scale: $C) -> ($F, $F) {
    %s = graph.broadcast %p {dims = array<i64: 1, 2>} : ($P) -> $F
    %u = graph.binary add %x, %s : $F
    %y = graph.rms_norm %u, %scale {epsilon = 1.0e-6 : f64} : ($F, $C) -> $F
    return %u, %y : $F, $F
  })",
              kTypes));
}

TEST(Fused, RowValuesAndTheirSum) {
  check(typed(R"(func.func @f(%x: $F, %w: $R) -> ($R, $S) {
    %m = graph.reduce max %x over [2] : ($F) -> $R
    %ms = graph.broadcast %m {dims = array<i64: 0, 1>} : ($R) -> $F
    %d = graph.binary sub %x, %ms : $F
    %e = graph.unary exp %d : $F
    %s = graph.reduce sum %e over [2] : ($F) -> $R
    %l = graph.unary log %s : $R
    %lse = graph.binary add %l, %m : $R
    %weighted = graph.binary mul %lse, %w : $R
    %t = graph.reduce sum %weighted over [0, 1] : ($R) -> $S
    return %lse, %t : $R, $S
  })",
              kTypes),
        {1, 0, 1e-3});
}

TEST(Fused, MixedReduction) {
  check(typed(R"(func.func @f(%x: $F) -> tensor<37xf32> {
    %y = graph.unary tanh %x : $F
    %z = graph.reduce sum %y over [0, 2] : ($F) -> tensor<37xf32>
    return %z : tensor<37xf32>
  })",
              kTypes),
        {1, 0, 3e-4});
}

TEST(Fused, MiddleReduction) {
  check(typed(R"(func.func @f(%x: $F) -> tensor<6x200xf32> {
    %z = graph.reduce sum %x over [1] : ($F) -> tensor<6x200xf32>
    return %z : tensor<6x200xf32>
  })",
              kTypes));
}

TEST(Fused, TransposedOperand) {
  ProgramOptions options;
  options.argumentStrides[0] = {37 * 200, 1, 37};
  check(typed(R"(func.func @f(%x: $F, %y: $F) -> $F {
    %z = graph.binary mul %x, %y : $F
    %w = graph.unary silu %z : $F
    return %w : $F
  })",
              kTypes),
        {}, options);
}

TEST(Fused, TransposedResultAndSlices) {
  ProgramOptions options;
  options.argumentStrides[1] = {37 * 1000, 1000, 3};
  options.resultStrides[0] = {37 * 200, 1, 37};
  check(typed(R"(func.func @f(%x: $F, %y: $F) -> $F {
    %z = graph.binary sub %x, %y : $F
    return %z : $F
  })",
              kTypes),
        {}, options);
}

TEST(Fused, StridedLayerNorm) {
  ProgramOptions options;
  options.argumentStrides[0] = {1, 6, 6 * 37};
  options.resultStrides[0] = {37 * 512, 512, 2};
  check(typed(R"(func.func @f(%x: $F, %scale: $C, %bias: $C) -> $F {
    %y = graph.layer_norm %x, %scale, %bias {epsilon = 1.0e-5 : f64} : ($F, $C, $C) -> $F
    return %y : $F
  })",
              kTypes),
        {}, options);
}

TEST(Fused, SelectCompareAndBooleans) {
  check(typed(R"(func.func @f(%x: $F, %m: $B) -> ($F, $B) {
    %zero = graph.constant dense<0.0> : $F : $F
    %p = graph.compare gt %x, %zero : ($F, $F) -> $B
    %q = graph.binary and %p, %m : $B
    %y = graph.select %q, %x, %zero : ($B, $F, $F) -> $F
    return %y, %q : $F, $B
  })",
              kTypes));
}

TEST(Fused, Bfloat16) {
  check(R"(func.func @f(%x: tensor<64x200xbf16>, %s: tensor<200xf32>) -> tensor<64x200xbf16> {
    %w = graph.convert %x : (tensor<64x200xbf16>) -> tensor<64x200xf32>
    %y = graph.rms_norm %w, %s {epsilon = 1.0e-6 : f64} : (tensor<64x200xf32>, tensor<200xf32>) -> tensor<64x200xf32>
    %z = graph.convert %y : (tensor<64x200xf32>) -> tensor<64x200xbf16>
    return %z : tensor<64x200xbf16>
  })",
        {1, 0, 1e-2});
}

TEST(Fused, SharedOutRowsGiveTheSame) {
  ProgramOptions options;
  options.workers = 3;
  check(typed(R"(func.func @f(%x: $F, %h: $F, %scale: $C, %bias: $C) -> ($F, $F) {
    %u = graph.binary add %x, %h : $F
    %y = graph.layer_norm %u, %scale, %bias {epsilon = 1.0e-5 : f64} : ($F, $C, $C) -> $F
    return %u, %y : $F, $F
  })",
              kTypes),
        {}, options);
  check(R"(func.func @f(%x: tensor<100003xf32>) -> tensor<100003xf32> {
    %y = graph.unary exp %x : tensor<100003xf32>
    return %y : tensor<100003xf32>
  })",
        {}, options);
}

TEST(Fused, ScalarsOnly) {
  check(R"(func.func @f(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
    %s = graph.unary sqrt %x : tensor<f32>
    %z = graph.binary div %y, %s : tensor<f32>
    return %z : tensor<f32>
  })",
        {1, 0, 2e-5, {0}});
}

TEST(Fused, NanStaysVisible) {
  FusedProgram program(R"(func.func @f(%x: tensor<4x300xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %m = graph.reduce max %x over [1] : (tensor<4x300xf32>) -> tensor<4xf32>
    %s = graph.reduce sum %x over [1] : (tensor<4x300xf32>) -> tensor<4xf32>
    return %m, %s : tensor<4xf32>, tensor<4xf32>
  })");
  Values x(1200, 1.0);
  x[299] = x[300] = x[777] = NAN;
  std::vector<Values> y = program.run({x});
  ASSERT_EQ(y.size(), 2u);
  for (const Values &result : y) {
    EXPECT_TRUE(std::isnan(result[0]) && std::isnan(result[1]) && std::isnan(result[2]));
    EXPECT_EQ(result[3], &result == &y[0] ? 1 : 300);
  }
}

} // namespace
} // namespace echelon::test

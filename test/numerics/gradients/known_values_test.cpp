// SPDX-License-Identifier: Apache-2.0
//
// Gradients with published or hand-computed values, to the six digits given.
#include "test/numerics/gradients/gradient_check.h"
#include "test/numerics/gradients/training_program.h"
#include <gtest/gtest.h>

using namespace echelon;
using namespace echelon::test;

namespace {

void expectValues(const Tensor &tensor, const std::vector<double> &expected) {
  ASSERT_EQ(tensor.values.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(tensor.values[i], expected[i], 6e-7) << "element " << i;
}

/// A tied embedding: logits = W[ids] W^T. The gradient is the sum of the
/// embedding's and the head's part; one variable holds both.
TEST(KnownValues, TiedEmbedding) {
  TrainingProgram program(R"(
graph.variable parameter @W : tensor<3x2xf64> = #graph.init<constant, 0.0, 0.0> {trainable = true}
func.func @forward(%ids: tensor<3xi64>, %labels: tensor<3xi64>) -> (tensor<f64>, tensor<f64>) {
  %w = graph.read @W : tensor<3x2xf64>
  %x = graph.embedding %w, %ids : (tensor<3x2xf64>, tensor<3xi64>) -> tensor<3x2xf64>
  %l = graph.einsum "s d, v d -> s v" %x, %w : (tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<3x3xf64>
  %sum, %count, %lse = graph.softmax_cross_entropy %l, %labels {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<3x3xf64>, tensor<3xi64>) -> (tensor<f64>, tensor<f64>, tensor<3xf64>)
  return %sum, %count : tensor<f64>, tensor<f64>
})");
  ASSERT_TRUE(program.differentiate());
  program.set("W", {{3, 2}, {1, 0, 0, 1, 1, 1}});
  std::vector<Tensor> batch = {{{3}, {0, 2, 0}}, {{3}, {2, 0, 1}}};
  program.microbatch(batch);
  double count = program.scalar("echelon.loss_count");
  EXPECT_EQ(count, 3);
  EXPECT_NEAR(program.scalar("echelon.loss_sum") / count, 1.425145, 6e-7);
  Tensor gradient = program.get("grad.W");
  for (double &value : gradient.values)
    value /= count;
  expectValues(gradient,
               {0.248618, -0.544232, -0.159111, 0.070647, 0.069604, 0.454725});
}

TEST(KnownValues, LayerNorm) {
  constexpr char text[] = R"(
func.func @f(%x: tensor<1x3xf64>, %s: tensor<3xf64>, %b: tensor<3xf64>) -> tensor<1x3xf64> {
  %0 = graph.layer_norm %x, %s, %b {epsilon = 1.0e-5 : f64} : (tensor<1x3xf64>, tensor<3xf64>, tensor<3xf64>) -> tensor<1x3xf64>
  return %0 : tensor<1x3xf64>
})";
  std::vector<Tensor> arguments = {
      {{1, 3}, {1, 2, 4}}, {{3}, {1, 2, 3}}, {{3}, {0, 0, 0}}};
  Program program(text);
  Interpreter interpreter;
  expectValues(program.run(interpreter, "f", arguments)[0],
               {-1.069042, -0.534521, 4.008906});
  auto gradients = gradientsOf(text, arguments, {{{1, 3}, {1, 0, -1}}});
  ASSERT_EQ(gradients.size(), 3u);
  expectValues(gradients[0], {-0.114531, 0.171813, -0.057282});
  expectValues(gradients[1], {-1.069042, 0, -1.336302});
  expectValues(gradients[2], {1, 0, -1});
}

TEST(KnownValues, RmsNorm) {
  constexpr char text[] = R"(
func.func @f(%x: tensor<1x3xf64>, %s: tensor<3xf64>) -> tensor<1x3xf64> {
  %0 = graph.rms_norm %x, %s {epsilon = 1.0e-6 : f64} : (tensor<1x3xf64>, tensor<3xf64>) -> tensor<1x3xf64>
  return %0 : tensor<1x3xf64>
})";
  std::vector<Tensor> arguments = {{{1, 3}, {1, 2, 2}}, {{3}, {1, 1, 2}}};
  Program program(text);
  Interpreter interpreter;
  expectValues(program.run(interpreter, "f", arguments)[0],
               {0.577350, 1.154700, 2.309401});
  auto gradients = gradientsOf(text, arguments, {{{1, 3}, {1, 0, 1}}});
  ASSERT_EQ(gradients.size(), 2u);
  // Four digits are given for the input.
  const double input[] = {0.2566, -0.6415, 0.5132};
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(gradients[0].values[i], input[i], 6e-5);
  expectValues(gradients[1], {0.577350, 0, 1.154700});
}

/// [2,1,3] + [4,1]: the gradient of each operand is summed over the dims along
/// which it was repeated.
TEST(KnownValues, BroadcastAdd) {
  constexpr char text[] = R"(
func.func @f(%a: tensor<2x1x3xf64>, %b: tensor<4x1xf64>) -> tensor<2x4x3xf64> {
  %ar = graph.reshape %a : (tensor<2x1x3xf64>) -> tensor<2x3xf64>
  %ab = graph.broadcast %ar {dims = array<i64: 0, 2>} : (tensor<2x3xf64>) -> tensor<2x4x3xf64>
  %br = graph.reshape %b : (tensor<4x1xf64>) -> tensor<4xf64>
  %bb = graph.broadcast %br {dims = array<i64: 1>} : (tensor<4xf64>) -> tensor<2x4x3xf64>
  %0 = graph.binary add %ab, %bb : tensor<2x4x3xf64>
  return %0 : tensor<2x4x3xf64>
})";
  Draw draw;
  Tensor ones{{2, 4, 3}, std::vector<double>(24, 1)};
  auto gradients = gradientsOf(
      text, {draw.uniform({2, 1, 3}), draw.uniform({4, 1})}, {ones});
  ASSERT_EQ(gradients.size(), 2u);
  EXPECT_EQ(gradients[0].values, std::vector<double>(6, 4));
  EXPECT_EQ(gradients[1].values, std::vector<double>(4, 6));
}

/// A weight shared by all batches: its gradient is summed over them.
TEST(KnownValues, BatchedProduct) {
  constexpr char text[] = R"(
func.func @f(%a: tensor<2x1x2xf64>, %w: tensor<2x2xf64>) -> tensor<2x1x2xf64> {
  %0 = graph.einsum "b m k, k n -> b m n" %a, %w : (tensor<2x1x2xf64>, tensor<2x2xf64>) -> tensor<2x1x2xf64>
  return %0 : tensor<2x1x2xf64>
})";
  auto gradients =
      gradientsOf(text, {{{2, 1, 2}, {0, 1, 2, 3}}, {{2, 2}, {5, 6, 7, 8}}},
                  {{{2, 1, 2}, {1, 1, 1, 1}}});
  ASSERT_EQ(gradients.size(), 2u);
  EXPECT_EQ(gradients[0].values, (std::vector<double>{11, 15, 11, 15}));
  EXPECT_EQ(gradients[1].values, (std::vector<double>{2, 2, 4, 4}));
}

TEST(KnownValues, GatherRepeatedAndNegative) {
  constexpr char text[] = R"(
func.func @f(%t: tensor<3x2xf64>, %i: tensor<3xi64>) -> tensor<3x2xf64> {
  %0 = graph.embedding %t, %i : (tensor<3x2xf64>, tensor<3xi64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
})";
  auto gradients =
      gradientsOf(text, {{{3, 2}, {1, 1, 1, 1, 1, 1}}, {{3}, {0, -1, 0}}},
                  {{{3, 2}, {1, 2, 3, 4, 5, 6}}});
  ASSERT_EQ(gradients.size(), 2u);
  EXPECT_EQ(gradients[0].values, (std::vector<double>{6, 8, 0, 0, 3, 4}));
}

TEST(KnownValues, CrossEntropyWithIgnoredRow) {
  constexpr char text[] = R"(
func.func @f(%x: tensor<3x3xf64>, %y: tensor<3xi64>) -> tensor<f64> {
  %sum, %count, %lse = graph.softmax_cross_entropy %x, %y {ignore_index = -100 : i64, label_smoothing = 0.0 : f64} : (tensor<3x3xf64>, tensor<3xi64>) -> (tensor<f64>, tensor<f64>, tensor<3xf64>)
  %0 = graph.binary div %sum, %count : tensor<f64>
  return %0 : tensor<f64>
})";
  std::vector<Tensor> arguments = {{{3, 3}, {1, 2, 3, 4, 5, 6, 0, 0, 0}},
                                   {{3}, {2, -100, 1}}};
  Program program(text);
  Interpreter interpreter;
  expectValues(program.run(interpreter, "f", arguments)[0], {0.753109});
  auto gradients = gradientsOf(text, arguments, {{{}, {1}}});
  ASSERT_EQ(gradients.size(), 2u);
  expectValues(gradients[0], {0.045015, 0.122364, -0.167380, 0, 0, 0, 0.166667,
                              -0.333333, 0.166667});
}

} // namespace

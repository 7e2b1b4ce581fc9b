// SPDX-License-Identifier: Apache-2.0
//
// Gradients of graph.softmax, graph.layer_norm, graph.rms_norm for input, scale
// and bias, over several ranks, widths and epsilons.
#include "test/numerics/gradients/gradient_check.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace echelon;
using namespace echelon::test;

namespace {

const Shape kShapes[] = {{4}, {3, 5}, {2, 3, 4}, {2, 1, 2, 3}, {4, 2}};

TEST(Softmax, Differences) {
  for (const Shape &shape : kShapes) {
    std::string type = tensorType(shape);
    checkGradient("func.func @f(%x: " + type + ") -> " + type +
                      " {\n  %0 = graph.softmax %x : (" + type + ") -> " +
                      type + "\n  return %0 : " + type + "\n}",
                  {-3, 3, 0, {}});
  }
}

/// -inf masks an element out: it gets weight and gradient 0.
TEST(Softmax, MaskedElements) {
  constexpr char text[] = R"(
func.func @f(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %m = graph.constant dense<[[0.0, 0xFFF0000000000000, 0.0], [0.0, 0.0, 0xFFF0000000000000]]> : tensor<2x3xf64> : tensor<2x3xf64>
  %s = graph.binary add %x, %m : tensor<2x3xf64>
  %0 = graph.softmax %s : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
})";
  checkGradient(text);
  auto gradients = gradientsOf(text, {{{2, 3}, {1, 2, 3, 4, 5, 6}}},
                               {{{2, 3}, {1, -1, 2, 0.5, 1, 2}}});
  ASSERT_EQ(gradients.size(), 1u);
  EXPECT_EQ(gradients[0].values[1], 0);
  EXPECT_EQ(gradients[0].values[5], 0);
}

TEST(LayerNorm, Differences) {
  for (const Shape &shape : kShapes)
    for (const char *epsilon : {"1.0e-5", "0.1"}) {
      std::string type = tensorType(shape), row = tensorType({shape.back()});
      checkGradient(
          "func.func @f(%x: " + type + ", %s: " + row + ", %b: " + row +
              ") -> " + type +
              " {\n  %0 = graph.layer_norm %x, %s, %b {epsilon = " + epsilon +
              " : f64} : (" + type + ", " + row + ", " + row + ") -> " + type +
              "\n  return %0 : " + type + "\n}",
          {-3, 3, 0.2, {{0, Draw(4).distinct(shape, 0.3)}}});
    }
}

TEST(RmsNorm, Differences) {
  for (const Shape &shape : kShapes)
    for (const char *epsilon : {"1.0e-6", "0.1"}) {
      std::string type = tensorType(shape), row = tensorType({shape.back()});
      checkGradient("func.func @f(%x: " + type + ", %s: " + row + ") -> " +
                        type + " {\n  %0 = graph.rms_norm %x, %s {epsilon = " +
                        epsilon + " : f64} : (" + type + ", " + row + ") -> " +
                        type + "\n  return %0 : " + type + "\n}",
                    {-3, 3, 0.3, {}});
    }
}

/// A row of one element: the normalized value is constant (0, or the sign).
TEST(LayerNorm, RowsOfOneElement) {
  checkGradient(R"(
func.func @f(%x: tensor<3x1xf64>, %s: tensor<1xf64>, %b: tensor<1xf64>) -> tensor<3x1xf64> {
  %0 = graph.layer_norm %x, %s, %b {epsilon = 1.0e-5 : f64} : (tensor<3x1xf64>, tensor<1xf64>, tensor<1xf64>) -> tensor<3x1xf64>
  return %0 : tensor<3x1xf64>
})");
}

} // namespace

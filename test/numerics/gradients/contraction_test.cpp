// SPDX-License-Identifier: Apache-2.0
//
// Gradient of graph.einsum: plain, transposed, batched, several reductions,
// names of one operand only, outer products, size-1 dims.
#include "test/numerics/gradients/gradient_check.h"
#include <gtest/gtest.h>

using namespace echelon;
using namespace echelon::test;

namespace {

struct Case {
  const char *spec;
  Shape lhs, rhs, result;
};

class Einsum : public testing::TestWithParam<Case> {};

TEST_P(Einsum, Differences) {
  const Case &one = GetParam();
  std::string lhs = tensorType(one.lhs), rhs = tensorType(one.rhs),
              result = tensorType(one.result);
  checkGradient("func.func @f(%a: " + lhs + ", %b: " + rhs + ") -> " + result +
                " {\n  %0 = graph.einsum \"" + one.spec + "\" %a, %b : (" +
                lhs + ", " + rhs + ") -> " + result +
                "\n  return %0 : " + result + "\n}");
}

INSTANTIATE_TEST_SUITE_P(
    Specs, Einsum,
    testing::Values(
        Case{"m k, k n -> m n", {3, 4}, {4, 2}, {3, 2}},
        Case{"k m, k n -> m n", {4, 3}, {4, 2}, {3, 2}},
        Case{"m k, n k -> n m", {3, 4}, {2, 4}, {2, 3}},
        Case{"b m k, k n -> b m n", {2, 3, 4}, {4, 5}, {2, 3, 5}},
        Case{"b m k, b k n -> b m n", {2, 3, 4}, {2, 4, 2}, {2, 3, 2}},
        Case{"b q h d, b k h d -> b h q k",
             {2, 3, 2, 4},
             {2, 5, 2, 4},
             {2, 2, 3, 5}},
        Case{"b h q k, b k h d -> b q h d",
             {1, 2, 3, 4},
             {1, 4, 2, 3},
             {1, 3, 2, 3}},
        // Two and three names are summed, in another order on each side.
        Case{"b s i, b s j -> i j", {2, 3, 4}, {2, 3, 5}, {4, 5}},
        Case{"x y z m, z x y n -> n m", {2, 3, 2, 2}, {2, 2, 3, 3}, {3, 2}},
        // Outer product, and a product without any sum.
        Case{"m, n -> m n", {3}, {4}, {3, 4}},
        Case{"b m, b n -> m b n", {2, 3}, {2, 2}, {3, 2, 2}},
        Case{"a b, a b -> b a", {3, 2}, {3, 2}, {2, 3}},
        // Matrix times vector, and rows scaled by a vector.
        Case{"m k, k -> m", {3, 4}, {4}, {3}},
        Case{"k, k n -> n", {4}, {4, 3}, {3}},
        Case{"m n, m -> m n", {3, 2}, {3}, {3, 2}},
        Case{"m k, k n -> m n", {1, 4}, {4, 1}, {1, 1}},
        // A scalar result: the inner product.
        Case{"i, i ->", {5}, {5}, {}},
        Case{"i j, j i ->", {2, 3}, {3, 2}, {}}));

/// Both operands are one value: its two terms add up.
TEST(Einsum, OneOperandTwice) {
  checkGradient(R"(
func.func @f(%a: tensor<3x4xf64>) -> tensor<3x3xf64> {
  %0 = graph.einsum "m k, n k -> m n" %a, %a : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
})");
}

} // namespace

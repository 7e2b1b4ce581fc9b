// SPDX-License-Identifier: Apache-2.0
//
// Gradient of graph.embedding: repeated, negative and absent rows, indices of
// any rank, 32-bit indices.
#include "test/numerics/gradients/gradient_check.h"
#include <gtest/gtest.h>

using namespace echelon;
using namespace echelon::test;

namespace {

std::string embeddingText(llvm::ArrayRef<int64_t> table,
                          llvm::ArrayRef<int64_t> indices,
                          const std::string &element = "i64") {
  Shape shape(indices.begin(), indices.end());
  shape.push_back(table[1]);
  std::string t = tensorType(table), i = tensorType(indices, element),
              r = tensorType(shape);
  return "func.func @f(%t: " + t + ", %i: " + i + ") -> " + r +
         " {\n  %0 = graph.embedding %t, %i : (" + t + ", " + i + ") -> " + r +
         "\n  return %0 : " + r + "\n}";
}

TEST(Embedding, RepeatedNegativeAndAbsentRows) {
  Inputs inputs;
  inputs.given[1] = {{2, 4}, {0, 3, -1, 3, -5, 0, 2, 3}};
  checkGradient(embeddingText({5, 3}, {2, 4}), inputs);
}

TEST(Embedding, IndicesOfOtherRanks) {
  Inputs inputs;
  inputs.given[1] = {{}, {-2}};
  checkGradient(embeddingText({4, 2}, {}), inputs);
  inputs.given[1] = {{3}, {1, 1, 1}};
  checkGradient(embeddingText({4, 1}, {3}), inputs);
  inputs.given[1] = {{2, 1, 2}, {0, 1, -1, 0}};
  checkGradient(embeddingText({2, 3}, {2, 1, 2}, "i32"), inputs);
}

/// One table read twice: the terms of both readers add up.
TEST(Embedding, TwoReaders) {
  Inputs inputs;
  inputs.given[1] = {{3}, {0, 1, 0}};
  checkGradient(R"(
func.func @f(%t: tensor<3x2xf64>, %i: tensor<3xi64>) -> tensor<3x3xf64> {
  %x = graph.embedding %t, %i : (tensor<3x2xf64>, tensor<3xi64>) -> tensor<3x2xf64>
  %0 = graph.einsum "s d, v d -> s v" %x, %t : (tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
})",
                inputs);
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
//
// Gradient of graph.attention for query, key and value: causal, windows,
// grouped heads, queries other than keys, masks of every broadcast form, rows
// that see nothing.
#include "test/numerics/gradients/gradient_check.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace echelon;
using namespace echelon::test;

namespace {

struct Case {
  int64_t batch, queries, keys, heads, keyHeads, dim, valueDim;
  bool causal;
  int64_t window;
  Shape mask;           ///< empty: none
  bool blocked = false; ///< the mask hides some keys by -inf
};

std::string attentionText(const Case &one) {
  std::string q = tensorType({one.batch, one.queries, one.heads, one.dim}),
              k = tensorType({one.batch, one.keys, one.keyHeads, one.dim}),
              v = tensorType({one.batch, one.keys, one.keyHeads, one.valueDim}),
              r = tensorType({one.batch, one.queries, one.heads, one.valueDim}),
              lse = tensorType({one.batch, one.heads, one.queries});
  bool masked = !one.mask.empty();
  std::string m = tensorType(one.mask);
  return "func.func @f(%q: " + q + ", %k: " + k + ", %v: " + v +
         (masked ? ", %m: " + m : "") + ") -> " + r +
         " {\n  %0, %lse = graph.attention %q, %k, %v" +
         (masked ? ", %m" : "") +
         " {scale = 0.7 : f64, causal = " + (one.causal ? "true" : "false") +
         ", window = " + std::to_string(one.window) + " : i64} : (" + q + ", " +
         k + ", " + v + (masked ? ", " + m : "") + ") -> (" + r + ", " + lse +
         ")\n  return %0 : " + r + "\n}";
}

std::vector<Tensor> argumentsOf(const Case &one) {
  Draw draw(13);
  std::vector<Tensor> arguments = {
      draw.uniform({one.batch, one.queries, one.heads, one.dim}, -1.5, 1.5),
      draw.uniform({one.batch, one.keys, one.keyHeads, one.dim}, -1.5, 1.5),
      draw.uniform({one.batch, one.keys, one.keyHeads, one.valueDim})};
  if (!one.mask.empty()) {
    arguments.push_back(draw.uniform(one.mask));
    if (one.blocked)
      for (size_t i = 1; i < arguments[3].values.size(); i += 3)
        arguments[3].values[i] = -INFINITY;
  }
  return arguments;
}

class Attention : public testing::TestWithParam<Case> {};

/// The mask is an operand without a gradient: L is taken at a fixed mask.
TEST_P(Attention, Differences) {
  const Case &one = GetParam();
  std::string text = attentionText(one);
  std::vector<Tensor> arguments = argumentsOf(one);
  Tensor weights = Draw(17).uniform(
      {one.batch, one.queries, one.heads, one.valueDim}, -1, 1);
  Program program(text);
  Interpreter interpreter;
  auto loss = [&] {
    double sum = 0;
    Tensor result = program.run(interpreter, "f", arguments)[0];
    for (size_t i = 0; i < result.values.size(); ++i)
      sum += result.values[i] * weights.values[i];
    return sum;
  };
  std::vector<Tensor> gradients = gradientsOf(text, arguments, {weights});
  ASSERT_EQ(gradients.size(), arguments.size());
  const char *names[] = {"query", "key", "value"};
  for (int i = 0; i < 3; ++i)
    expectDifferences(names[i], arguments[i].values, gradients[i].values, loss);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, Attention,
    testing::Values(Case{2, 3, 3, 2, 2, 4, 4, false, 0, {}},
                    Case{1, 4, 4, 2, 2, 3, 3, true, 0, {}},
                    Case{1, 5, 5, 1, 1, 2, 2, true, 2, {}},
                    Case{1, 5, 5, 1, 1, 2, 2, false, 3, {}},
                    // Grouped heads, one key head, another value dim.
                    Case{2, 3, 3, 4, 2, 2, 3, true, 0, {}},
                    Case{1, 3, 4, 3, 1, 2, 1, false, 0, {}},
                    // Fewer and more queries than keys.
                    Case{1, 2, 5, 2, 1, 3, 2, true, 0, {}},
                    Case{1, 2, 5, 2, 2, 3, 2, true, 2, {}},
                    Case{1, 5, 3, 2, 2, 2, 2, true, 0, {}},
                    Case{1, 4, 2, 1, 1, 2, 2, false, 0, {}},
                    // Masks.
                    Case{2, 3, 4, 2, 2, 2, 2, false, 0, {1, 1, 3, 4}},
                    Case{2, 3, 3, 2, 1, 2, 2, true, 0, {1, 1, 3, 3}},
                    Case{2, 3, 4, 2, 2, 2, 2, false, 0, {2, 1, 3, 4}},
                    Case{2, 3, 4, 2, 1, 2, 2, false, 0, {1, 2, 3, 4}},
                    Case{2, 2, 3, 4, 2, 2, 2, false, 0, {2, 4, 2, 3}},
                    Case{1, 3, 4, 2, 2, 2, 2, false, 0, {1, 1, 3, 4}, true},
                    Case{1, 1, 1, 1, 1, 1, 1, false, 0, {}}));

/// With more queries than keys the first causal rows see nothing: result and
/// gradients are 0, and nothing is NaN.
TEST(Attention, RowsThatSeeNothing) {
  Case one{1, 3, 1, 1, 1, 2, 2, true, 0, {}};
  std::vector<Tensor> arguments = argumentsOf(one);
  Tensor dy{{1, 3, 1, 2}, {1, 2, 3, 4, 5, 6}};
  std::vector<Tensor> gradients =
      gradientsOf(attentionText(one), arguments, {dy});
  ASSERT_EQ(gradients.size(), 3u);
  // One key has weight 1: no gradient for scores, the row's for the value.
  EXPECT_EQ(gradients[0].values, std::vector<double>(6, 0));
  EXPECT_EQ(gradients[1].values, std::vector<double>(2, 0));
  EXPECT_EQ(gradients[2].values, (std::vector<double>{5, 6}));
}

} // namespace

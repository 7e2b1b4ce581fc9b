// SPDX-License-Identifier: Apache-2.0
//
// Gradient of graph.reduce: sum, mean, max over first, last, middle, several,
// all and no dims; ties of max by formula.
#include "test/numerics/gradients/gradient_check.h"
#include <gtest/gtest.h>

using namespace echelon;
using namespace echelon::test;

namespace {

std::string reduceText(const std::string &kind, llvm::ArrayRef<int64_t> shape,
                       llvm::ArrayRef<int64_t> over) {
  Shape kept;
  std::string list;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (llvm::is_contained(over, int64_t(dim)))
      list += (list.empty() ? "" : ", ") + std::to_string(dim);
    else
      kept.push_back(shape[dim]);
  std::string from = tensorType(shape), to = tensorType(kept);
  return "func.func @f(%x: " + from + ") -> " + to +
         " {\n  %0 = graph.reduce " + kind + " %x over [" + list + "] : (" +
         from + ") -> " + to + "\n  return %0 : " + to + "\n}";
}

struct Case {
  Shape shape, over;
};

class Reduce : public testing::TestWithParam<Case> {};

TEST_P(Reduce, Differences) {
  const Case &one = GetParam();
  Inputs inputs;
  inputs.given[0] = Draw(2).distinct(one.shape);
  for (const char *kind : {"sum", "mean", "max"})
    checkGradient(reduceText(kind, one.shape, one.over), inputs);
}

INSTANTIATE_TEST_SUITE_P(
    Dims, Reduce,
    testing::Values(Case{{5}, {0}}, Case{{3, 4}, {0}}, Case{{3, 4}, {1}},
                    Case{{3, 4}, {0, 1}}, Case{{2, 3, 4}, {1}},
                    Case{{2, 3, 4}, {0, 2}}, Case{{2, 3, 4}, {0, 1, 2}},
                    Case{{2, 1, 3}, {1}}, Case{{2, 2, 3, 2}, {1, 2}},
                    Case{{3, 2}, {}}));

/// All elements that attain the maximum get equal parts.
TEST(Reduce, MaxTies) {
  Tensor x{{2, 4}, {1, 3, 3, 3, 5, 5, 0, 1}}, dy{{2}, {6, 8}};
  auto gradients = gradientsOf(reduceText("max", {2, 4}, {1}), {x}, {dy});
  ASSERT_EQ(gradients.size(), 1u);
  EXPECT_EQ(gradients[0].values, (std::vector<double>{0, 2, 2, 2, 4, 4, 0, 0}));
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
//
// Gradient of graph.softmax_cross_entropy: ignored labels, smoothing, ranks;
// through the sum and through the mean.
#include "test/numerics/gradients/gradient_check.h"
#include <gtest/gtest.h>

using namespace echelon;
using namespace echelon::test;

namespace {

std::string lossText(llvm::ArrayRef<int64_t> rows, int64_t classes,
                     const std::string &smoothing, int64_t ignore,
                     const std::string &returned,
                     const std::string &label = "i64") {
  Shape full(rows.begin(), rows.end());
  full.push_back(classes);
  std::string x = tensorType(full), y = tensorType(rows, label),
              lse = tensorType(rows);
  std::string types = "tensor<f64>";
  return "func.func @f(%x: " + x + ", %y: " + y + ") -> (" + types +
         ") {\n  %sum, %count, %lse = graph.softmax_cross_entropy %x, %y "
         "{ignore_index = " +
         std::to_string(ignore) + " : i64, label_smoothing = " + smoothing +
         " : f64} : (" + x + ", " + y + ") -> (tensor<f64>, tensor<f64>, " +
         lse + ")\n  %mean = graph.binary div %sum, %count : tensor<f64>\n" +
         "  return " + returned + " : " + types + "\n}";
}

TEST(CrossEntropy, Differences) {
  for (const char *smoothing : {"0.0", "0.1", "0.5"})
    for (const char *returned : {"%sum", "%mean"}) {
      Inputs inputs{-3, 3, 0, {}};
      inputs.given[1] = {{4}, {0, 2, 1, 2}};
      checkGradient(lossText({4}, 3, smoothing, -100, returned), inputs);
      inputs.given[1] = {{2, 3}, {0, -100, 4, 2, 2, -100}};
      checkGradient(lossText({2, 3}, 5, smoothing, -100, returned), inputs);
      // A class may be the one that is ignored.
      inputs.given[1] = {{5}, {0, 1, 0, 2, 1}};
      checkGradient(lossText({5}, 3, smoothing, 0, returned, "i32"), inputs);
      inputs.given[1] = {{}, {1}};
      checkGradient(lossText({}, 2, smoothing, -100, returned), inputs);
    }
}

/// Nothing counts: no loss, no gradient.
TEST(CrossEntropy, AllIgnored) {
  Inputs inputs;
  inputs.given[1] = {{3}, {-1, -1, -1}};
  checkGradient(lossText({3}, 4, "0.1", -1, "%sum"), inputs);
}

} // namespace

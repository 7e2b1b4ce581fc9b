// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the reference interpreter share: a parsed function @f and a
// comparison that knows NaN and infinity.
#ifndef ECHELON_TEST_NUMERICS_REFERENCE_RUN_H
#define ECHELON_TEST_NUMERICS_REFERENCE_RUN_H

#include "mlir/Parser/Parser.h"
#include "test/numerics/reference_interpreter.h"
#include <cmath>
#include <gtest/gtest.h>

namespace echelon::test {

/// A module whose function @f is run on the reference interpreter.
struct Function {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Interpreter interpreter;

  explicit Function(const std::string &text) {
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

inline void expectNear(const Tensor &tensor,
                       const std::vector<double> &expected,
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

} // namespace echelon::test

#endif

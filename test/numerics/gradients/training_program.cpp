// SPDX-License-Identifier: Apache-2.0
//
// Passes over a training module, and its runs.
#include "test/numerics/gradients/training_program.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace echelon::test {

bool TrainingProgram::transform(const std::string &pipeline) {
  if (!program.module)
    return false;
  training::registerTrainingPasses();
  ScopedDiagnosticHandler handler(&program.context,
                                  [&](Diagnostic &diagnostic) {
                                    messages += diagnostic.str() + "\n";
                                    return success();
                                  });
  PassManager passes(&program.context);
  if (failed(parsePassPipeline(pipeline, passes)) ||
      failed(passes.run(*program.module)))
    return false;
  for (auto variable : program.module->getOps<graph::VariableOp>()) {
    auto type = cast<RankedTensorType>(variable.getType());
    interpreter.variables.insert(
        {variable.getSymName().str(),
         {Shape(type.getShape()),
          std::vector<double>(size_t(type.getNumElements()), 0)}});
  }
  return true;
}

void TrainingProgram::set(const std::string &variable, Tensor value) {
  ASSERT_TRUE(interpreter.variables.count(variable)) << variable;
  interpreter.variables[variable] = std::move(value);
}

const Tensor &TrainingProgram::get(const std::string &variable) {
  EXPECT_TRUE(interpreter.variables.count(variable)) << variable;
  return interpreter.variables[variable];
}

double TrainingProgram::scalar(const std::string &variable) {
  const Tensor &value = get(variable);
  EXPECT_EQ(value.values.size(), 1u) << variable;
  return value.values.empty() ? 0 : value.values[0];
}

void TrainingProgram::clearMetrics() {
  set(training::kLossSum.str(), {{}, {0}});
  set(training::kLossCount.str(), {{}, {0}});
}

void TrainingProgram::microbatch(ArrayRef<Tensor> inputs) {
  program.run(interpreter, "microbatch", inputs);
}

void TrainingProgram::update() {
  program.run(interpreter, "update", {});
  ++interpreter.step;
}

double TrainingProgram::lossSum(ArrayRef<Tensor> inputs) {
  clearMetrics();
  program.run(interpreter, "evaluate", inputs);
  return scalar(training::kLossSum.str());
}

std::vector<std::string> TrainingProgram::parameters() {
  std::vector<std::string> names;
  for (auto variable : program.module->getOps<graph::VariableOp>())
    if (variable.getTrainable())
      names.push_back(variable.getSymName().str());
  return names;
}

void TrainingProgram::drawParameters(double low, double high) {
  Draw draw(23);
  for (const std::string &name : parameters())
    set(name, draw.uniform(get(name).shape, low, high));
}

void TrainingProgram::checkGradients(ArrayRef<Tensor> inputs) {
  ASSERT_FALSE(parameters().empty());
  clearMetrics();
  microbatch(inputs);
  double sum = scalar(training::kLossSum.str());
  EXPECT_EQ(lossSum(inputs), sum) << "@evaluate computes the same loss";
  for (const std::string &name : parameters())
    expectDifferences("parameter " + name, interpreter.variables[name].values,
                      get("grad." + name).values,
                      [&] { return lossSum(inputs); });
}

} // namespace echelon::test

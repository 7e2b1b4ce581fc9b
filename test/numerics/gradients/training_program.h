// SPDX-License-Identifier: Apache-2.0
//
// A module with variables and @forward, taken through passes of the training
// phase and run by the reference interpreter.
#ifndef ECHELON_TEST_NUMERICS_GRADIENTS_TRAINING_PROGRAM_H
#define ECHELON_TEST_NUMERICS_GRADIENTS_TRAINING_PROGRAM_H

#include "passes/training/passes.h"
#include "test/numerics/gradients/gradient_check.h"

namespace echelon::test {

class TrainingProgram {
public:
  explicit TrainingProgram(const std::string &text) : program(text) {}

  /// Runs a pipeline ("attach-loss{...},differentiate"); makes every variable
  /// that is new, with zeros.
  [[nodiscard]] bool transform(const std::string &pipeline);
  /// What a failed transform said.
  const std::string &errors() const { return messages; }
  /// Needs @forward returning (sum, count); makes @microbatch and @evaluate.
  [[nodiscard]] bool differentiate() { return transform("differentiate"); }

  void set(const std::string &variable, Tensor value);
  const Tensor &get(const std::string &variable);
  double scalar(const std::string &variable);
  /// As the runtime before each step: loss sum and count start at 0.
  void clearMetrics();
  void microbatch(llvm::ArrayRef<Tensor> inputs);
  /// One @update, after which the step number is one more.
  void update();
  /// The loss sum of @evaluate.
  double lossSum(llvm::ArrayRef<Tensor> inputs);
  /// Draws every trainable parameter.
  void drawParameters(double low = -1, double high = 1);
  std::vector<std::string> parameters();

  /// Runs @microbatch and compares the gradient variable of every parameter
  /// with differences of @evaluate.
  void checkGradients(llvm::ArrayRef<Tensor> inputs);

private:
  Program program;
  Interpreter interpreter;
  std::string messages;
};

} // namespace echelon::test

#endif

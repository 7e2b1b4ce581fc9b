// SPDX-License-Identifier: Apache-2.0
//
// A tape over one block, and differences.
#include "test/numerics/gradients/gradient_check.h"
#include "dialects/graph/builders.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;

namespace echelon::test {

static int64_t countOf(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

Tensor Draw::uniform(ArrayRef<int64_t> shape, double low, double high,
                     double hole) {
  std::uniform_real_distribution<double> draw(low, high);
  Tensor result{Shape(shape.begin(), shape.end()), {}};
  while (int64_t(result.values.size()) < countOf(shape)) {
    double value = draw(generator);
    if (std::fabs(value) >= hole)
      result.values.push_back(value);
  }
  return result;
}

Tensor Draw::distinct(ArrayRef<int64_t> shape, double gap) {
  Tensor result{Shape(shape.begin(), shape.end()), {}};
  int64_t count = countOf(shape);
  for (int64_t i = 0; i < count; ++i)
    result.values.push_back(gap * (double(i) - double(count) / 2 + 0.25));
  std::shuffle(result.values.begin(), result.values.end(), generator);
  return result;
}

std::string dims(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text;
}

std::string tensorType(ArrayRef<int64_t> shape, StringRef element) {
  return "tensor<" + dims(shape) + element.str() + ">";
}

Program::Program(const std::string &text) {
  context.loadDialect<graph::GraphDialect, func::FuncDialect>();
  module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
}

func::FuncOp Program::function(StringRef name) {
  return module ? module->lookupSymbol<func::FuncOp>(name) : func::FuncOp();
}

std::vector<Tensor> Program::run(Interpreter &interpreter, StringRef name,
                                 ArrayRef<Tensor> arguments) {
  func::FuncOp target = function(name);
  if (!target) {
    ADD_FAILURE() << "no function @" << name.str();
    return {};
  }
  llvm::Expected<std::vector<Tensor>> results =
      interpreter.run(target, arguments);
  if (!results) {
    ADD_FAILURE() << "@" << name.str() << ": "
                  << llvm::toString(results.takeError());
    return {};
  }
  return std::move(*results);
}

static bool isFloatTensor(Type type) {
  return isa<FloatType>(cast<RankedTensorType>(type).getElementType());
}

namespace {
/// Reverse mode over one block, by the interface alone.
struct Tape {
  explicit Tape(OpBuilder &builder) : builder(builder) {}

  OpBuilder &builder;
  llvm::DenseMap<Value, Value> gradients;

  void add(Value value, Value term) {
    EXPECT_EQ(value.getType(), term.getType())
        << "a gradient has the type of its value";
    Value &total = gradients[value];
    total = total
                ? graph::GraphBuilder(builder, value.getLoc()).add(total, term)
                : term;
  }

  void visit(Operation &op) {
    SmallVector<Value> given;
    for (Value result : op.getResults())
      given.push_back(gradients.lookup(result));
    if (!llvm::any_of(given, [](Value value) { return bool(value); }))
      return;
    auto differentiable = dyn_cast<graph::DifferentiableOpInterface>(op);
    if (!differentiable) {
      EXPECT_TRUE(op.getNumOperands() == 0)
          << op.getName().getStringRef().str() << " has no gradient";
      return;
    }
    SmallVector<Value> terms = differentiable.buildGradient(builder, given);
    ASSERT_EQ(terms.size(), op.getNumOperands());
    for (auto [operand, term] : llvm::zip_equal(op.getOperands(), terms))
      if (term)
        add(operand, term);
  }
};
} // namespace

/// Turns @f into the function of its gradients: takes one more argument a
/// float result and returns one value an argument (zeros for none).
static void differentiate(func::FuncOp function) {
  Block &block = function.getBody().front();
  Operation *end = block.getTerminator();
  OpBuilder builder(end);
  Tape tape(builder);
  SmallVector<Operation *> forward;
  for (Operation &op : block.without_terminator())
    forward.push_back(&op);
  SmallVector<Value> arguments(block.getArguments());
  for (Value result : end->getOperands())
    if (isFloatTensor(result.getType()))
      tape.add(result, block.addArgument(result.getType(), result.getLoc()));
  for (Operation *op : llvm::reverse(forward))
    tape.visit(*op);
  SmallVector<Value> results;
  for (Value argument : arguments) {
    Value gradient = tape.gradients.lookup(argument);
    results.push_back(gradient ? gradient
                               : graph::GraphBuilder(builder, argument.getLoc())
                                     .splat(argument.getType(), 0));
  }
  end->setOperands(results);
  function.setFunctionType(builder.getFunctionType(
      block.getArgumentTypes(), ValueRange(results).getTypes()));
}

std::vector<Tensor> gradientsOf(const std::string &text,
                                ArrayRef<Tensor> arguments,
                                ArrayRef<Tensor> resultGradients) {
  Program program(text);
  if (!program.function("f"))
    return {};
  differentiate(program.function("f"));
  if (failed(verify(*program.module))) {
    ADD_FAILURE() << "the gradient does not verify:\n" << text;
    return {};
  }
  std::vector<Tensor> all(arguments.begin(), arguments.end());
  all.insert(all.end(), resultGradients.begin(), resultGradients.end());
  Interpreter interpreter;
  std::vector<Tensor> built = program.run(interpreter, "f", all);
  PassManager passes(&program.context);
  passes.addPass(createCanonicalizerPass());
  EXPECT_TRUE(succeeded(passes.run(*program.module)));
  std::vector<Tensor> folded = program.run(interpreter, "f", all);
  EXPECT_EQ(built.size(), folded.size());
  // Folds drop additions of 0 and factors of 1: nothing that rounds.
  for (size_t i = 0; i < std::min(built.size(), folded.size()); ++i)
    for (size_t j = 0; j < built[i].values.size(); ++j)
      EXPECT_TRUE(built[i].values[j] == folded[i].values[j] ||
                  std::isnan(built[i].values[j]))
          << "the canonicalizer changes gradient " << i << "\n"
          << text;
  return built;
}

double difference(double &value, const std::function<double()> &loss) {
  constexpr double kStep = 1e-3;
  const double kept = value;
  auto central = [&](double step) {
    value = kept + step;
    double above = loss(), up = value - kept;
    value = kept - step;
    double below = loss(), down = kept - value;
    return (above - below) / (up + down);
  };
  double coarse = central(kStep), fine = central(kStep / 2);
  value = kept;
  return (4 * fine - coarse) / 3;
}

void expectDifferences(const std::string &what, std::vector<double> &values,
                       const std::vector<double> &gradient,
                       const std::function<double()> &loss) {
  ASSERT_EQ(values.size(), gradient.size()) << what;
  double scale = std::max(1.0, std::fabs(loss()));
  for (double one : gradient)
    scale = std::max(scale, std::fabs(one));
  for (size_t i = 0; i < values.size(); ++i) {
    double expected = difference(values[i], loss);
    EXPECT_NEAR(gradient[i], expected, 1e-10 * scale)
        << what << ", element " << i << " at " << values[i];
  }
}

static std::vector<Tensor> argumentsOf(func::FuncOp function,
                                       const Inputs &inputs) {
  Draw draw(7);
  std::vector<Tensor> arguments;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto given = inputs.given.find(index);
    if (given != inputs.given.end()) {
      arguments.push_back(given->second);
      continue;
    }
    EXPECT_TRUE(isFloatTensor(type)) << "argument " << index << " is not given";
    arguments.push_back(draw.uniform(cast<RankedTensorType>(type).getShape(),
                                     inputs.low, inputs.high, inputs.hole));
  }
  return arguments;
}

void checkGradient(const std::string &text, const Inputs &inputs) {
  Program program(text);
  func::FuncOp function = program.function("f");
  ASSERT_TRUE(function) << text;
  std::vector<Tensor> arguments = argumentsOf(function, inputs), weights;
  Draw draw(11);
  for (Type type : function.getResultTypes())
    if (isFloatTensor(type))
      weights.push_back(
          draw.uniform(cast<RankedTensorType>(type).getShape(), -1, 1, 0.1));
  ASSERT_FALSE(weights.empty()) << text;
  Interpreter interpreter;
  auto loss = [&] {
    double sum = 0;
    size_t next = 0;
    std::vector<Tensor> results = program.run(interpreter, "f", arguments);
    for (auto [type, result] : llvm::zip(function.getResultTypes(), results)) {
      if (!isFloatTensor(type))
        continue;
      const Tensor &weight = weights[next++];
      for (size_t i = 0; i < result.values.size(); ++i)
        sum += weight.values[i] * result.values[i];
    }
    return sum;
  };
  std::vector<Tensor> gradients = gradientsOf(text, arguments, weights);
  ASSERT_EQ(gradients.size(), arguments.size()) << text;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (isFloatTensor(type))
      expectDifferences("argument " + std::to_string(index) + " of\n" + text,
                        arguments[index].values, gradients[index].values, loss);
}

} // namespace echelon::test

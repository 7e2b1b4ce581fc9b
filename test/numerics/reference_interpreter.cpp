// SPDX-License-Identifier: Apache-2.0
//
// Dispatch over the ops of a block, variables and their first values.
#include "test/numerics/reference_interpreter.h"
#include "test/numerics/reference_ops.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cstring>

using namespace llvm;

namespace echelon::test {

using Results = std::vector<RefTensor>;

static Error noVariable(StringRef name) {
  return createStringError("no variable '" + name + "'");
}

static RefResults assign(graph::AssignOp op, RefOperands in,
                         RefVariables &variables) {
  auto at = variables.find(op.getVariable().str());
  if (at == variables.end())
    return noVariable(op.getVariable());
  at->second = in[0];
  return Results{};
}

static RefResults accumulate(graph::AccumulateOp op, RefOperands in,
                             RefVariables &variables) {
  auto at = variables.find(op.getVariable().str());
  if (at == variables.end())
    return noVariable(op.getVariable());
  if (at->second.shape != in[0].shape)
    return createStringError("variable '" + op.getVariable() +
                             "' does not have the shape of what is added");
  for (size_t i = 0; i < in[0].values.size(); ++i)
    at->second.values[i] += in[0].values[i];
  return Results{};
}

static RefResults read(graph::ReadOp op, const RefVariables &variables) {
  auto at = variables.find(op.getVariable().str());
  if (at == variables.end())
    return noVariable(op.getVariable());
  if (at->second.shape != shapeOfType(op.getType()))
    return createStringError("variable '" + op.getVariable() +
                             "' does not have the shape of its type");
  return Results{at->second};
}

/// Ops that are functions of their operands.
static std::optional<RefResults> evaluateValues(mlir::Operation &op,
                                                RefOperands in) {
  return TypeSwitch<mlir::Operation *, std::optional<RefResults>>(&op)
      .Case<graph::UnaryOp, graph::BinaryOp, graph::CompareOp, graph::SelectOp,
            graph::ConvertOp, graph::EinsumOp, graph::ReduceOp,
            graph::SoftmaxOp, graph::LayerNormOp, graph::RmsNormOp,
            graph::AttentionOp, graph::AttentionGradOp, graph::ReshapeOp,
            graph::TransposeOp, graph::BroadcastOp, graph::SliceOp,
            graph::PadOp, graph::ConcatOp, graph::ConstantOp,
            graph::EmbeddingOp, graph::EmbeddingGradOp,
            graph::SoftmaxCrossEntropyOp, graph::SoftmaxCrossEntropyGradOp,
            graph::AdamWOp>([&](auto one) { return evaluate(one, in); })
      .Default([](mlir::Operation *) { return std::nullopt; });
}

Expected<Results> interpretOp(mlir::Operation &op, ArrayRef<RefTensor> in,
                              RefVariables &variables, int64_t step) {
  if (std::optional<RefResults> results = evaluateValues(op, in))
    return std::move(*results);
  if (auto fused = mlir::dyn_cast<graph::FusedOp>(op))
    return interpret(fused.getBody().front(), in, variables, step);
  if (auto one = mlir::dyn_cast<graph::ReadOp>(op))
    return read(one, variables);
  if (auto one = mlir::dyn_cast<graph::AssignOp>(op))
    return assign(one, in, variables);
  if (auto one = mlir::dyn_cast<graph::AccumulateOp>(op))
    return accumulate(one, in, variables);
  if (auto rate = mlir::dyn_cast<graph::LearningRateOp>(op))
    return Results{{{}, {learningRate(rate, step)}}};
  if (auto bias = mlir::dyn_cast<graph::AdamBiasOp>(op))
    return Results{adamBias(bias, step)};
  return createStringError("no reference for '" + op.getName().getStringRef() +
                           "'");
}

namespace {
/// The values of a block in flight; one is dropped after its last use.
class Environment {
public:
  explicit Environment(mlir::Block &block) {
    for (mlir::Operation &op : block)
      for (mlir::Value operand : op.getOperands())
        ++uses[operand];
  }
  void define(mlir::Value value, RefTensor tensor) {
    if (uses.count(value))
      values[value] = std::move(tensor);
  }
  Results takeOperands(mlir::Operation &op) {
    Results operands;
    for (mlir::Value operand : op.getOperands())
      operands.push_back(--uses[operand] ? values[operand]
                                         : std::move(values[operand]));
    return operands;
  }

private:
  DenseMap<mlir::Value, unsigned> uses;
  DenseMap<mlir::Value, RefTensor> values;
};
} // namespace

Expected<Results> interpret(mlir::Block &block, ArrayRef<RefTensor> arguments,
                            RefVariables &variables, int64_t step) {
  Environment environment(block);
  for (auto [argument, value] : zip_equal(block.getArguments(), arguments))
    environment.define(argument, value);
  for (mlir::Operation &op : block) {
    Results operands = environment.takeOperands(op);
    if (op.hasTrait<mlir::OpTrait::IsTerminator>())
      return operands;
    Expected<Results> results = interpretOp(op, operands, variables, step);
    if (!results)
      return results.takeError();
    for (auto [result, value] : zip_equal(op.getResults(), *results))
      environment.define(result, std::move(value));
  }
  return Results{};
}

static Expected<RefTensor> readFile(graph::FileAttr file, const Shape &shape,
                                    StringRef folder) {
  SmallString<256> path(folder);
  sys::path::append(path, file.getPath());
  auto buffer = MemoryBuffer::getFileSlice(path, file.getLength(),
                                           int64_t(file.getOffset()));
  if (!buffer)
    return createStringError("cannot read '" + path + "'");
  const char *bytes = (*buffer)->getBufferStart();
  mlir::Type element = file.getElement();
  size_t width = element.getIntOrFloatBitWidth() / 8;
  RefTensor result{shape, {}};
  for (size_t at = 0; at + width <= file.getLength(); at += width) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes + at, width);
    APFloat value(mlir::cast<mlir::FloatType>(element).getFloatSemantics(),
                  APInt(unsigned(8 * width), bits));
    result.values.push_back(value.convertToDouble());
  }
  return result;
}

Expected<RefVariables> firstValues(mlir::ModuleOp module, StringRef folder) {
  RefVariables variables;
  for (auto op : module.getBody()->getOps<graph::VariableOp>()) {
    RefTensor value = zeros(op.getType());
    if (auto file = mlir::dyn_cast<graph::FileAttr>(op.getFirst())) {
      Expected<RefTensor> read = readFile(file, value.shape, folder);
      if (!read)
        return read.takeError();
      value = std::move(*read);
    } else if (auto init = mlir::cast<graph::InitAttr>(op.getFirst());
               init.getKind() == graph::InitKind::Constant) {
      std::fill(value.values.begin(), value.values.end(),
                init.getA().getValueAsDouble());
    }
    variables[op.getSymName().str()] = std::move(value);
  }
  return variables;
}

Expected<std::vector<Tensor>> Interpreter::run(mlir::func::FuncOp function,
                                               ArrayRef<Tensor> arguments) {
  if (!function.getBody().hasOneBlock())
    return createStringError("@" + function.getName() +
                             " is not a function of one block");
  if (function.getNumArguments() != arguments.size())
    return createStringError("@" + function.getName() + " takes " +
                             Twine(function.getNumArguments()) +
                             " arguments, " + Twine(arguments.size()) +
                             " are given");
  for (auto [index, argument] : enumerate(arguments)) {
    mlir::Type type = function.getArgumentTypes()[index];
    Shape shape = shapeOfType(type);
    if (argument.shape != shape ||
        argument.values.size() != zeros(type).values.size())
      return createStringError("argument " + Twine(index) + " of @" +
                               function.getName() +
                               " does not have the shape of its type");
  }
  return interpret(function.getBody().front(), arguments, variables, step);
}

} // namespace echelon::test

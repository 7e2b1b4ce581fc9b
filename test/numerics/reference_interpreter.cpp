// SPDX-License-Identifier: Apache-2.0
//
// Dispatch, pointwise ops, views, state.
#include "test/numerics/reference_interpreter.h"
#include "test/numerics/reference_ops.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cmath>
#include <cstring>

using namespace llvm;

namespace echelon::test {

using Results = std::vector<RefTensor>;

static double apply(graph::UnaryKind kind, double x) {
  using Kind = graph::UnaryKind;
  switch (kind) {
  case Kind::Neg: return -x;
  case Kind::Exp: return std::exp(x);
  case Kind::Log: return std::log(x);
  case Kind::Sqrt: return std::sqrt(x);
  case Kind::Rsqrt: return 1 / std::sqrt(x);
  case Kind::Reciprocal: return 1 / x;
  case Kind::Tanh: return std::tanh(x);
  case Kind::Erf: return std::erf(x);
  case Kind::Sigmoid: return 1 / (1 + std::exp(-x));
  case Kind::Sin: return std::sin(x);
  case Kind::Cos: return std::cos(x);
  case Kind::Abs: return std::fabs(x);
  case Kind::Sign: return double((x > 0) - (x < 0));
  case Kind::Not: return x == 0;
  case Kind::Gelu: return x / 2 * (1 + std::erf(x * M_SQRT1_2));
  case Kind::GeluTanh:
    return x / 2 *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  case Kind::Silu: return x / (1 + std::exp(-x));
  case Kind::Relu: return x > 0 ? x : std::isnan(x) ? x : 0;
  }
  return NAN;
}

static double apply(graph::BinaryKind kind, double a, double b) {
  using Kind = graph::BinaryKind;
  bool isNan = std::isnan(a) || std::isnan(b);
  switch (kind) {
  case Kind::Add: return a + b;
  case Kind::Sub: return a - b;
  case Kind::Mul: return a * b;
  case Kind::Div: return a / b;
  case Kind::Max: return isNan ? NAN : std::max(a, b);
  case Kind::Min: return isNan ? NAN : std::min(a, b);
  case Kind::Pow: return std::pow(a, b);
  case Kind::And: return a != 0 && b != 0;
  case Kind::Or: return a != 0 || b != 0;
  }
  return NAN;
}

static bool apply(graph::Predicate predicate, double a, double b) {
  using Kind = graph::Predicate;
  switch (predicate) {
  case Kind::Eq: return a == b;
  case Kind::Ne: return a != b;
  case Kind::Lt: return a < b;
  case Kind::Le: return a <= b;
  case Kind::Gt: return a > b;
  case Kind::Ge: return a >= b;
  }
  return false;
}

static RefTensor convert(mlir::Type to, const RefTensor &input) {
  RefTensor result = input;
  mlir::Type element = mlir::cast<mlir::RankedTensorType>(to).getElementType();
  for (double &value : result.values)
    if (element.isInteger(1))
      value = value != 0;
    else if (mlir::isa<mlir::IntegerType>(element))
      value = std::trunc(value);
  return result;
}

/// Element of `input` at the place that `strides` give each result dim.
static RefTensor copyStrided(const RefTensor &input, const Shape &shape,
                             int64_t offset, const Shape &strides) {
  RefTensor result{shape, {}};
  Shape own = refStrides(shape);
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, at = offset;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      at += rest / own[dim] * strides[dim];
      rest %= own[dim];
    }
    result.values.push_back(input.values[at]);
  }
  return result;
}

static Shape shapeOfType(mlir::Type type) {
  return Shape(mlir::cast<mlir::RankedTensorType>(type).getShape());
}

static RefTensor transpose(graph::TransposeOp op, const RefTensor &input) {
  Shape own = refStrides(input.shape), strides;
  for (int64_t dim : op.getPermutation())
    strides.push_back(own[dim]);
  return copyStrided(input, shapeOfType(op.getType()), 0, strides);
}

static RefTensor broadcast(graph::BroadcastOp op, const RefTensor &input) {
  Shape shape = shapeOfType(op.getType()), own = refStrides(input.shape),
        strides(shape.size(), 0);
  for (auto [index, dim] : enumerate(op.getDims()))
    strides[dim] = own[index];
  return copyStrided(input, shape, 0, strides);
}

/// Where slice reads and pad writes: linear places of the window's elements.
static std::vector<int64_t> windowPlaces(const Shape &outer, const Shape &inner,
                                         ArrayRef<int64_t> offsets,
                                         ArrayRef<int64_t> steps) {
  RefTensor places{outer, {}};
  int64_t count = 1, offset = 0;
  for (int64_t size : outer)
    count *= size;
  for (int64_t i = 0; i < count; ++i)
    places.values.push_back(double(i));
  Shape strides = refStrides(outer);
  for (size_t dim = 0; dim < strides.size(); ++dim) {
    offset += offsets[dim] * strides[dim];
    strides[dim] *= steps[dim];
  }
  RefTensor taken = copyStrided(places, inner, offset, strides);
  return std::vector<int64_t>(taken.values.begin(), taken.values.end());
}

static RefTensor concat(graph::ConcatOp op, ArrayRef<RefTensor> in) {
  RefTensor result{shapeOfType(op.getType()), {}};
  int64_t outer = 1, inner = 1;
  for (size_t dim = 0; dim < result.shape.size(); ++dim)
    (int64_t(dim) < int64_t(op.getDim()) ? outer : inner) *= result.shape[dim];
  inner /= result.shape[op.getDim()];
  for (int64_t row = 0; row < outer; ++row)
    for (const RefTensor &part : in) {
      int64_t piece = part.shape[op.getDim()] * inner;
      auto from = part.values.begin() + row * piece;
      result.values.insert(result.values.end(), from, from + piece);
    }
  return result;
}

static Expected<Results> embedding(graph::EmbeddingOp op,
                                   ArrayRef<RefTensor> in) {
  int64_t rows = in[0].shape[0], width = in[0].shape[1];
  RefTensor result{shapeOfType(op.getType()), {}};
  for (double index : in[1].values) {
    int64_t row = int64_t(index) + (index < 0 ? rows : 0);
    if (row < 0 || row >= rows)
      return createStringError("index " + Twine(int64_t(index)) +
                               " is outside a table of " + Twine(rows));
    auto from = in[0].values.begin() + row * width;
    result.values.insert(result.values.end(), from, from + width);
  }
  return Results{result};
}

static RefTensor embeddingGrad(graph::EmbeddingGradOp op,
                               ArrayRef<RefTensor> in) {
  RefTensor result = zeros(op.getTableGradient().getType());
  int64_t rows = result.shape[0], width = result.shape[1];
  for (size_t i = 0; i < in[0].values.size(); ++i) {
    int64_t row = int64_t(in[0].values[i]);
    row += row < 0 ? rows : 0;
    for (int64_t d = 0; d < width; ++d)
      result.values[row * width + d] += in[1].values[i * width + d];
  }
  return result;
}

static RefTensor constant(graph::ConstantOp op) {
  RefTensor result{shapeOfType(op.getType()), {}};
  auto elements = mlir::cast<mlir::DenseElementsAttr>(op.getValue());
  if (mlir::isa<mlir::FloatType>(elements.getElementType()))
    for (APFloat value : elements.getValues<APFloat>())
      result.values.push_back(value.convertToDouble());
  else
    for (APInt value : elements.getValues<APInt>())
      result.values.push_back(value.getBitWidth() == 1
                                  ? double(value.getZExtValue())
                                  : double(value.getSExtValue()));
  return result;
}

/// runtime/abi/kernels.h, ech_learning_rate.
static double learningRate(graph::LearningRateOp op, int64_t step) {
  double base = op.getBase().convertToDouble(),
         low = op.getMinLr().convertToDouble();
  int64_t warmup = op.getWarmupSteps(), total = op.getTotalSteps();
  if (step < warmup)
    return base * double(step + 1) / double(warmup);
  if (op.getSchedule() == graph::ScheduleKind::Constant)
    return base;
  int64_t steps = total - 1 - warmup;
  double progress =
      step - warmup < steps ? double(step - warmup) / double(steps) : 1;
  if (op.getSchedule() == graph::ScheduleKind::Linear)
    return base + (low - base) * progress;
  return low + (base - low) * (1 + std::cos(M_PI * progress)) / 2;
}

static Expected<RefTensor *> find(RefVariables &variables, StringRef name) {
  auto at = variables.find(name.str());
  if (at == variables.end())
    return createStringError("no variable '" + name + "'");
  return &at->second;
}

namespace {
/// Evaluates one op; sets `error` for the few that can fail.
struct Evaluator {
  ArrayRef<RefTensor> in;
  RefVariables &variables;
  int64_t step;
  Error error = Error::success();

  Results failed(Error problem) {
    error = joinErrors(std::move(error), std::move(problem));
    return {};
  }
  template <typename Function> Results map(Function function) {
    RefTensor result = in[0];
    for (size_t i = 0; i < result.values.size(); ++i)
      result.values[i] = function(i);
    return {result};
  }
  Results run(mlir::Operation &op);
  Results runPointwise(mlir::Operation &op);
  Results runState(mlir::Operation &op);
  Results runFused(graph::FusedOp op) {
    auto results = interpret(op.getBody().front(), in, variables, step);
    return results ? *results : failed(results.takeError());
  }
};
} // namespace

Results Evaluator::runPointwise(mlir::Operation &op) {
  const std::vector<double> &a = in[0].values;
  return TypeSwitch<mlir::Operation *, Results>(&op)
      .Case([&](graph::UnaryOp unary) {
        return map([&](size_t i) { return apply(unary.getKind(), a[i]); });
      })
      .Case([&](graph::BinaryOp binary) {
        return map([&](size_t i) {
          return apply(binary.getKind(), a[i], in[1].values[i]);
        });
      })
      .Case([&](graph::CompareOp compare) {
        return map([&](size_t i) {
          return double(apply(compare.getPredicate(), a[i], in[1].values[i]));
        });
      })
      .Case([&](graph::SelectOp) {
        return map([&](size_t i) {
          return a[i] != 0 ? in[1].values[i] : in[2].values[i];
        });
      })
      .Default([&](mlir::Operation *other) {
        return failed(createStringError("no reference for " +
                                        other->getName().getStringRef()));
      });
}

Results Evaluator::runState(mlir::Operation &op) {
  return TypeSwitch<mlir::Operation *, Results>(&op)
      .Case([&](graph::ReadOp read) -> Results {
        auto value = find(variables, read.getVariable());
        return value ? Results{**value} : failed(value.takeError());
      })
      .Case([&](graph::AssignOp assign) -> Results {
        auto value = find(variables, assign.getVariable());
        if (!value)
          return failed(value.takeError());
        **value = in[0];
        return {};
      })
      .Case([&](graph::AccumulateOp accumulate) -> Results {
        auto value = find(variables, accumulate.getVariable());
        if (!value)
          return failed(value.takeError());
        for (size_t i = 0; i < in[0].values.size(); ++i)
          (*value)->values[i] += in[0].values[i];
        return {};
      })
      .Case([&](graph::ConstantOp op) { return Results{constant(op)}; })
      .Case([&](graph::LearningRateOp op) {
        return Results{{{}, {learningRate(op, step)}}};
      })
      .Case([&](graph::AdamBiasOp op) {
        double t = double(step + 1);
        return Results{
            {{2},
             {1 / (1 - std::pow(op.getBeta1().convertToDouble(), t)),
              1 / std::sqrt(1 - std::pow(op.getBeta2().convertToDouble(), t))}}};
      })
      .Default([&](mlir::Operation *other) { return runPointwise(*other); });
}

Results Evaluator::run(mlir::Operation &op) {
  return TypeSwitch<mlir::Operation *, Results>(&op)
      .Case([&](graph::EinsumOp op) { return refEinsum(op, in[0], in[1]); })
      .Case([&](graph::ReduceOp op) { return refReduce(op, in[0]); })
      .Case([&](graph::SoftmaxOp) { return refSoftmax(in[0]); })
      .Case([&](graph::LayerNormOp op) { return refLayerNorm(op, in); })
      .Case([&](graph::RmsNormOp op) { return refRmsNorm(op, in); })
      .Case([&](graph::AttentionOp op) { return refAttention(op, in); })
      .Case([&](graph::AttentionGradOp op) { return refAttentionGrad(op, in); })
      .Case([&](graph::SoftmaxCrossEntropyOp op) {
        return refCrossEntropy(op, in);
      })
      .Case([&](graph::SoftmaxCrossEntropyGradOp op) {
        return refCrossEntropyGrad(op, in);
      })
      .Case([&](graph::AdamWOp op) { return refAdamW(op, in); })
      .Case([&](graph::FusedOp op) { return runFused(op); })
      .Case([&](graph::EmbeddingOp op) -> Results {
        auto result = embedding(op, in);
        return result ? *result : failed(result.takeError());
      })
      .Case([&](graph::EmbeddingGradOp op) {
        return Results{embeddingGrad(op, in)};
      })
      .Case([&](graph::ConvertOp op) {
        return Results{convert(op.getType(), in[0])};
      })
      .Case([&](graph::ReshapeOp op) {
        return Results{{shapeOfType(op.getType()), in[0].values}};
      })
      .Case([&](graph::TransposeOp op) { return Results{transpose(op, in[0])}; })
      .Case([&](graph::BroadcastOp op) { return Results{broadcast(op, in[0])}; })
      .Case([&](graph::ConcatOp op) { return Results{concat(op, in)}; })
      .Case([&](graph::SliceOp op) {
        RefTensor result{shapeOfType(op.getType()), {}};
        for (int64_t at : windowPlaces(in[0].shape, result.shape,
                                       op.getOffsets(), op.getStrides()))
          result.values.push_back(in[0].values[at]);
        return Results{result};
      })
      .Case([&](graph::PadOp op) {
        RefTensor result = zeros(op.getType());
        for (auto [index, at] :
             enumerate(windowPlaces(result.shape, in[0].shape, op.getOffsets(),
                                    op.getStrides())))
          result.values[at] = in[0].values[index];
        return Results{result};
      })
      .Default([&](mlir::Operation *other) { return runState(*other); });
}

Expected<Results> interpretOp(mlir::Operation &op, ArrayRef<RefTensor> operands,
                              RefVariables &variables, int64_t step) {
  Evaluator evaluator{operands, variables, step};
  Results results = evaluator.run(op);
  if (evaluator.error)
    return std::move(evaluator.error);
  return results;
}

Expected<Results> interpret(mlir::Block &block, ArrayRef<RefTensor> arguments,
                            RefVariables &variables, int64_t step) {
  DenseMap<mlir::Value, RefTensor> values;
  for (auto [argument, value] : zip_equal(block.getArguments(), arguments))
    values[argument] = value;
  for (mlir::Operation &op : block) {
    Results operands;
    for (mlir::Value operand : op.getOperands())
      operands.push_back(values[operand]);
    if (op.hasTrait<mlir::OpTrait::IsTerminator>())
      return operands;
    Expected<Results> results = interpretOp(op, operands, variables, step);
    if (!results)
      return results.takeError();
    for (auto [result, value] : zip_equal(op.getResults(), *results))
      values[result] = std::move(value);
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

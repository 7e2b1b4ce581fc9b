// SPDX-License-Identifier: Apache-2.0
//
// Builds @update from the gradient variables: one square sum over all of them, the clipping factor, one AdamW a
// parameter. The gradients hold d(loss sum); everything that depends on the mean divides by the count here, once.
#include "dialects/graph/builders.h"
#include "llvm/Support/GlobPattern.h"
#include "passes/training/passes.h"

using namespace mlir;
using namespace llvm;
using namespace echelon::graph;

namespace echelon::training {
#define GEN_PASS_DEF_ATTACHOPTIMIZERPASS
#include "passes/training/passes.h.inc"

namespace {

struct Trained {
  VariableOp parameter, gradient, mean, variance;
  bool decays;
};

struct AttachOptimizerPass : impl::AttachOptimizerPassBase<AttachOptimizerPass> {
  using AttachOptimizerPassBase::AttachOptimizerPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<SmallVector<Trained>> trained = failure();
    if (succeeded(checkOptions(module)))
      trained = collect(module);
    if (failed(trained))
      return signalPassFailure();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto scalar = RankedTensorType::get({}, builder.getF32Type());
    declare(builder, module.getLoc(), kGradientSquareSum, VariableClass::Metric, scalar, {});
    declare(builder, module.getLoc(), kLearningRate, VariableClass::Metric, scalar, {});
    auto update = builder.create<func::FuncOp>(module.getLoc(), "update", builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(update.addEntryBlock());
    build(builder, module.getLoc(), *trained);
    builder.create<func::ReturnOp>(module.getLoc());
  }

  LogicalResult checkOptions(ModuleOp module) {
    if (!symbolizeScheduleKind(schedule))
      return module.emitError() << "optimizer.schedule.kind: '" << schedule
                                << "' is unknown; it is one of constant, linear, cosine";
    for (StringRef pattern : noDecay)
      if (pattern.starts_with("@") && !is_contained({"@1d", "@norm", "@bias", "@embedding"}, pattern))
        return module.emitError() << "optimizer.no_decay: '" << pattern
                                  << "' is unknown; it is one of @1d, @norm, @bias, @embedding";
    return success();
  }

  VariableOp declare(OpBuilder &builder, Location loc, StringRef name, VariableClass variableClass, Type type,
                     FlatSymbolRefAttr owner) {
    auto zero = builder.getF64FloatAttr(0);
    return builder.create<VariableOp>(loc, name, variableClass, type,
                                      InitAttr::get(&getContext(), InitKind::Constant, zero, zero), false, owner,
                                      StringAttr());
  }

  /// True if a pattern of no-decay matches; used[i] notes which patterns did.
  bool matchesNoDecay(VariableOp parameter, MutableArrayRef<bool> used) {
    bool matches = false;
    for (auto [index, pattern] : enumerate(noDecay)) {
      StringRef role = parameter.getRole().value_or("");
      bool hit = false;
      if (pattern == "@1d")
        hit = cast<RankedTensorType>(parameter.getType()).getRank() <= 1;
      else if (StringRef(pattern).starts_with("@"))
        hit = role == StringRef(pattern).drop_front();
      else if (Expected<GlobPattern> glob = GlobPattern::create(pattern))
        hit = glob->match(parameter.getSymName());
      else
        consumeError(glob.takeError());
      used[index] = used[index] || hit;
      matches |= hit;
    }
    return matches;
  }

  FailureOr<SmallVector<Trained>> collect(ModuleOp module) {
    SymbolTable symbols(module);
    SmallVector<Trained> trained;
    SmallVector<bool> used(noDecay.size(), false);
    SmallVector<VariableOp> gradients;
    for (auto variable : module.getOps<VariableOp>())
      if (variable.getVariableClass() == VariableClass::Gradient)
        gradients.push_back(variable);
    for (VariableOp gradient : gradients) {
      auto parameter = symbols.lookup<VariableOp>(gradient.getOwner().value_or(""));
      if (!parameter)
        return gradient.emitError() << "gradient has no parameter", failure();
      OpBuilder builder(&getContext());
      builder.setInsertionPointAfter(gradient);
      auto owner = FlatSymbolRefAttr::get(parameter.getSymNameAttr());
      auto state = [&](StringRef suffix) {
        return declare(builder, parameter.getLoc(), (parameter.getSymName() + suffix).str(), VariableClass::Optimizer,
                       parameter.getType(), owner);
      };
      trained.push_back({parameter, gradient, state(".exp_avg"), state(".exp_avg_sq"),
                         !matchesNoDecay(parameter, used)});
    }
    for (auto [index, pattern] : enumerate(noDecay))
      if (!used[index] && !StringRef(pattern).starts_with("@"))
        return module.emitError() << "optimizer.no_decay: '" << pattern << "' matches no parameter", failure();
    if (trained.empty())
      return module.emitError() << "no trainable parameter has a gradient", failure();
    return trained;
  }

  static Value read(GraphBuilder &g, VariableOp variable) {
    return g.builder.create<ReadOp>(g.loc, variable.getType(), FlatSymbolRefAttr::get(variable.getSymNameAttr()));
  }
  static void assign(GraphBuilder &g, StringRef name, Value value) {
    g.builder.create<AssignOp>(g.loc, FlatSymbolRefAttr::get(g.builder.getContext(), name), value);
  }

  Value squareSum(GraphBuilder &g, ArrayRef<Trained> trained) {
    Value total;
    for (const Trained &one : trained) {
      Value gradient = read(g, one.gradient);
      Value square = g.mul(gradient, gradient);
      Value sum = g.reduce(ReduceKind::Sum, square, llvm::to_vector(llvm::seq<int64_t>(0, shapeOf(square).size())));
      total = total ? g.add(total, sum) : sum;
    }
    return total;
  }

  void build(OpBuilder &builder, Location loc, ArrayRef<Trained> trained) {
    GraphBuilder g(builder, loc);
    auto scalar = RankedTensorType::get({}, builder.getF32Type());
    Value one = g.splat(scalar, 1);
    Value count = builder.create<ReadOp>(loc, scalar, FlatSymbolRefAttr::get(&getContext(), kLossCount));
    // No valid label in the whole step: the loss is 0/0 and stays visible as NaN, the parameters must not follow.
    Value inverse = g.div(one, g.binary(BinaryKind::Max, count, one));
    Value total = squareSum(g, trained);
    assign(g, kGradientSquareSum, total);
    Value factor = inverse;
    if (clipNorm > 0) {
      // As torch.nn.utils.clip_grad_norm_: limit / (norm + 1e-6), at most 1.
      Value norm = g.mul(g.unary(UnaryKind::Sqrt, total), inverse);
      Value ratio = g.div(g.splat(scalar, clipNorm), g.addScalar(norm, 1e-6));
      factor = g.mul(inverse, g.binary(BinaryKind::Min, ratio, one));
    }
    auto f64 = [&](double value) { return builder.getF64FloatAttr(value); };
    auto kind = *symbolizeScheduleKind(schedule);
    Value rate = builder.create<LearningRateOp>(
        loc, scalar, ScheduleKindAttr::get(&getContext(), kind), f64(lr), f64(minLr),
        builder.getI64IntegerAttr(warmupSteps), builder.getI64IntegerAttr(totalSteps));
    assign(g, kLearningRate, rate);
    Value bias = builder.create<AdamBiasOp>(loc, RankedTensorType::get({2}, builder.getF32Type()), f64(beta1),
                                            f64(beta2));
    for (const Trained &one : trained)
      step(g, one, factor, rate, bias);
  }

  void step(GraphBuilder &g, Trained one, Value factor, Value rate, Value bias) {
    auto f64 = [&](double value) { return g.builder.getF64FloatAttr(value); };
    Type type = one.parameter.getType();
    auto adamw = g.builder.create<AdamWOp>(
        one.parameter.getLoc(), TypeRange{type, type, type}, read(g, one.parameter), read(g, one.gradient),
        read(g, one.mean), read(g, one.variance), factor, rate, bias, f64(beta1), f64(beta2), f64(epsilon),
        f64(one.decays ? double(weightDecay) : 0.0));
    assign(g, one.parameter.getSymName(), adamw.getNewParameter());
    assign(g, one.mean.getSymName(), adamw.getNewMean());
    assign(g, one.variance.getSymName(), adamw.getNewVariance());
    assign(g, one.gradient.getSymName(), g.splat(type, 0));
  }
};

} // namespace
} // namespace echelon::training

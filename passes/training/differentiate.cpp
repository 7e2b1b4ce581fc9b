// SPDX-License-Identifier: Apache-2.0
//
// Reverse mode over DifferentiableOpInterface. Gradients of one value are gathered as a list of terms and summed when
// the value's definition is reached; terms for a parameter go into its gradient variable at once, so that none of
// them outlives its making.
#include "dialects/graph/builders.h"
#include "mlir/IR/IRMapping.h"
#include "passes/training/passes.h"

using namespace mlir;
using namespace llvm;
using namespace echelon::graph;

namespace echelon::training {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "passes/training/passes.h.inc"

namespace {

VariableOp declare(OpBuilder &builder, Location loc, StringRef name, VariableClass variableClass, Type type,
                   FlatSymbolRefAttr owner) {
  auto zero = builder.getF64FloatAttr(0);
  return builder.create<VariableOp>(loc, name, variableClass, type,
                                    InitAttr::get(builder.getContext(), InitKind::Constant, zero, zero),
                                    /*trainable=*/false, owner, /*role=*/StringAttr());
}

/// Writes loss sum and count into the metrics and ends the function without results.
void finishWithMetrics(func::FuncOp function) {
  auto end = cast<func::ReturnOp>(function.getBody().front().getTerminator());
  OpBuilder builder(end);
  builder.create<AccumulateOp>(end.getLoc(), FlatSymbolRefAttr::get(builder.getContext(), kLossSum),
                               end.getOperand(0));
  builder.create<AccumulateOp>(end.getLoc(), FlatSymbolRefAttr::get(builder.getContext(), kLossCount),
                               end.getOperand(1));
  builder.create<func::ReturnOp>(end.getLoc());
  end.erase();
  function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(), {}));
  function.removeResAttrsAttr();
}

/// One run of reverse mode over a block.
class Differentiation {
public:
  Differentiation(func::FuncOp function, const SymbolTable &symbols) : function(function), symbols(symbols) {}

  LogicalResult run();

private:
  void findActive();
  LogicalResult checkGradients();
  bool needsGradient(Operation &op);
  void visit(Operation &op);
  void addTerm(Value value, Value term);
  Value gradientOf(Value value);
  Value sum(Location loc, ArrayRef<Value> terms);
  Value concatPads(Location loc, ArrayRef<Value> terms);

  func::FuncOp function;
  const SymbolTable &symbols;
  OpBuilder builder{function.getContext()};
  llvm::DenseSet<Value> active; ///< depends on a trainable parameter
  llvm::DenseSet<Value> wanted; ///< active and leads to the loss
  llvm::DenseMap<Value, SmallVector<Value, 2>> terms;
};

void Differentiation::findActive() {
  Block &block = function.getBody().front();
  for (Operation &op : block) {
    bool isActive = llvm::any_of(op.getOperands(), [&](Value value) { return active.contains(value); });
    if (auto read = dyn_cast<ReadOp>(op)) {
      auto variable = symbols.lookup<VariableOp>(read.getVariable());
      isActive = variable && variable.getTrainable();
    }
    for (Value result : op.getResults())
      if (isActive && isa<FloatType>(elementOf(result)))
        active.insert(result);
  }
  Value loss = block.getTerminator()->getOperand(0);
  if (active.contains(loss))
    wanted.insert(loss);
  for (Operation &op : llvm::reverse(block.without_terminator()))
    if (llvm::any_of(op.getResults(), [&](Value result) { return wanted.contains(result); }))
      for (Value operand : op.getOperands())
        if (active.contains(operand))
          wanted.insert(operand);
}

bool Differentiation::needsGradient(Operation &op) {
  return llvm::any_of(op.getResults(), [&](Value result) { return wanted.contains(result); }) &&
         llvm::any_of(op.getOperands(), [&](Value operand) { return wanted.contains(operand); });
}

LogicalResult Differentiation::checkGradients() {
  LogicalResult result = success();
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (!needsGradient(op))
      continue;
    if (isa<DifferentiableOpInterface>(op)) {
      auto attention = dyn_cast<AttentionOp>(op);
      if (attention && attention.getMask() && wanted.contains(attention.getMask())) {
        InFlightDiagnostic error = op.emitError() << "no gradient for a trained attention bias";
        error.attachNote() << "help: freeze the parameters it comes from (parameters.frozen)";
        result = error;
      }
      bool throughLse = false;
      if (attention)
        throughLse = wanted.contains(attention.getLse());
      else if (auto entropy = dyn_cast<SoftmaxCrossEntropyOp>(op))
        throughLse = wanted.contains(entropy.getLse());
      if (throughLse)
        result = op.emitError() << "no gradient for the log-sum-exp of '" << op.getName() << "'";
      continue;
    }
    InFlightDiagnostic error = op.emitError() << "no gradient for '" << op.getName() << "' on the path to the loss";
    // The path up to a parameter, one op of it at a time, so that the user sees what to freeze.
    Value value = *llvm::find_if(op.getOperands(), [&](Value operand) { return wanted.contains(operand); });
    while (Operation *producer = value.getDefiningOp()) {
      if (auto read = dyn_cast<ReadOp>(producer)) {
        error.attachNote(producer->getLoc()) << "it carries the gradient of parameter '" << read.getVariable()
                                             << "'; parameters.frozen would cut it off";
        break;
      }
      value = *llvm::find_if(producer->getOperands(), [&](Value operand) { return wanted.contains(operand); });
    }
    result = error;
  }
  return result;
}

void Differentiation::addTerm(Value value, Value term) {
  if (!term || !wanted.contains(value))
    return;
  if (auto read = value.getDefiningOp<ReadOp>()) {
    auto name = ("grad." + read.getVariable()).str();
    builder.create<AccumulateOp>(term.getLoc(), FlatSymbolRefAttr::get(builder.getContext(), name), term);
    return;
  }
  terms[value].push_back(term);
}

/// The gradients of a split come back as pads that tile the whole: that is a concat.
Value Differentiation::concatPads(Location loc, ArrayRef<Value> list) {
  SmallVector<PadOp> pads;
  int64_t dim = -1;
  Shape shape = shapeOf(list[0]);
  for (Value term : list) {
    auto pad = term.getDefiningOp<PadOp>();
    if (!pad)
      return {};
    Shape inner = shapeOf(pad.getInput());
    for (size_t i = 0; i < shape.size(); ++i) {
      if (pad.getStrides()[i] != 1)
        return {};
      if (inner[i] == shape[i])
        continue;
      if (dim >= 0 && dim != int64_t(i))
        return {};
      dim = i;
    }
    pads.push_back(pad);
  }
  if (dim < 0)
    return {};
  llvm::sort(pads, [&](PadOp a, PadOp b) { return a.getOffsets()[dim] < b.getOffsets()[dim]; });
  int64_t next = 0;
  SmallVector<Value> inputs;
  for (PadOp pad : pads) {
    if (pad.getOffsets()[dim] != next)
      return {};
    next += shapeOf(pad.getInput())[dim];
    inputs.push_back(pad.getInput());
  }
  return next == shape[dim] ? GraphBuilder(builder, loc).concat(inputs, dim) : Value();
}

Value Differentiation::sum(Location loc, ArrayRef<Value> list) {
  if (list.size() > 1)
    if (Value whole = concatPads(loc, list))
      return whole;
  Value total = list[0];
  for (Value term : list.drop_front())
    total = GraphBuilder(builder, loc).add(total, term);
  return total;
}

Value Differentiation::gradientOf(Value value) {
  auto found = terms.find(value);
  return found == terms.end() ? Value() : sum(value.getLoc(), found->second);
}

void Differentiation::visit(Operation &op) {
  if (!needsGradient(op))
    return;
  SmallVector<Value> gradients;
  bool any = false;
  for (Value result : op.getResults()) {
    gradients.push_back(gradientOf(result));
    any |= bool(gradients.back());
  }
  if (!any)
    return;
  SmallVector<Value> results = cast<DifferentiableOpInterface>(op).buildGradient(builder, gradients);
  for (auto [operand, gradient] : llvm::zip_equal(op.getOperands(), results))
    addTerm(operand, gradient);
}

LogicalResult Differentiation::run() {
  findActive();
  if (wanted.empty())
    return function.emitError() << "the loss does not depend on any trainable parameter";
  if (failed(checkGradients()))
    return failure();
  Block &block = function.getBody().front();
  builder.setInsertionPoint(block.getTerminator());
  SmallVector<Operation *> forward;
  for (Operation &op : block.without_terminator())
    forward.push_back(&op);
  Value loss = block.getTerminator()->getOperand(0);
  terms[loss].push_back(GraphBuilder(builder, loss.getLoc()).splat(loss.getType(), 1));
  for (Operation *op : llvm::reverse(forward))
    visit(*op);
  return success();
}

struct DifferentiatePass : impl::DifferentiatePassBase<DifferentiatePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto forward = module.lookupSymbol<func::FuncOp>("forward");
    if (!forward || forward.getNumResults() != 2) {
      module.emitError() << "needs a function @forward that returns the loss as (sum, count)";
      return signalPassFailure();
    }
    declareVariables(module, forward);
    OpBuilder builder(forward);
    auto evaluate = cast<func::FuncOp>(builder.clone(*forward));
    forward.setName("microbatch");
    evaluate.setName("evaluate");
    SymbolTable symbols(module);
    if (failed(Differentiation(forward, symbols).run()))
      return signalPassFailure();
    finishWithMetrics(forward);
    finishWithMetrics(evaluate);
  }

  void declareVariables(ModuleOp module, func::FuncOp forward) {
    OpBuilder builder(forward);
    SmallVector<VariableOp> parameters(module.getOps<VariableOp>());
    for (VariableOp parameter : parameters)
      if (parameter.getTrainable())
        declare(builder, parameter.getLoc(), ("grad." + parameter.getSymName()).str(), VariableClass::Gradient,
                parameter.getType(), FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
    const StringRef metrics[] = {kLossSum, kLossCount};
    for (auto [name, type] : llvm::zip_equal(metrics, forward.getResultTypes()))
      declare(builder, forward.getLoc(), name, VariableClass::Metric, type, {});
  }
};

} // namespace
} // namespace echelon::training

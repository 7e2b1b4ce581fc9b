// SPDX-License-Identifier: Apache-2.0
//
// The table of phase contracts: which dialects may stand after each phase, and what holds.
#include "passes/contracts.h"

#include "dialects/exec/exec_dialect.h"
#include "dialects/graph/graph_dialect.h"
#include "llvm/ADT/StringSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace echelon {

StringRef phaseName(Phase phase) {
  switch (phase) {
  case Phase::Import: return "import";
  case Phase::Training: return "training";
  case Phase::Planning: return "planning";
  case Phase::Distribution: return "distribution";
  case Phase::Fusion: return "fusion";
  case Phase::Lowering: return "lowering";
  }
  return "";
}

namespace {

LogicalResult breach(Operation *op, Phase phase, const Twine &promise) {
  return op->emitError() << "internal: after the " << phaseName(phase) << " phase, " << promise;
}

LogicalResult checkDialects(ModuleOp module, Phase phase, ArrayRef<StringRef> allowed) {
  WalkResult walk = module->walk([&](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    if (!llvm::is_contained(allowed, dialect))
      return WalkResult(breach(op, phase, "no '" + op->getName().getStringRef() + "' may stand"));
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// One step function; every trainable parameter has a gradient and an update.
LogicalResult checkTraining(ModuleOp module, Phase phase) {
  SymbolTable symbols(module);
  for (StringRef name : {"microbatch", "update", "evaluate"})
    if (!symbols.lookup<func::FuncOp>(name))
      return breach(module, phase, "there is a function @" + name);
  llvm::StringSet<> accumulated, assigned;
  module->walk([&](graph::AccumulateOp op) { accumulated.insert(op.getVariable()); });
  module->walk([&](graph::AssignOp op) { assigned.insert(op.getVariable()); });
  for (auto variable : module.getOps<graph::VariableOp>()) {
    StringRef name = variable.getSymName();
    if (variable.getVariableClass() == graph::VariableClass::Parameter && variable.getTrainable() &&
        !assigned.contains(name))
      return breach(variable, phase, "every trainable parameter has an update");
    if (variable.getVariableClass() == graph::VariableClass::Gradient && !accumulated.contains(name))
      return variable.emitError() << "parameter '" << variable.getOwner().value_or("") << "' does not reach the loss; "
                                  << "freeze it with parameters.frozen";
  }
  return success();
}

LogicalResult checkPlanned(ModuleOp module, Phase phase) {
  return module->hasAttr("dist.plan_hash") ? success() : breach(module, phase, "the plan's hash is on the module");
}

/// Only what has a kernel, is a view or is state may stand outside a fused group.
LogicalResult checkFused(ModuleOp module, Phase phase) {
  WalkResult walk = module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<graph::FusedOp>(op))
      return WalkResult::skip();
    if (isa<graph::UnaryOp, graph::BinaryOp, graph::CompareOp, graph::SelectOp, graph::ConvertOp, graph::ReduceOp,
            graph::SoftmaxOp, graph::LayerNormOp, graph::RmsNormOp, graph::AdamWOp>(op))
      return WalkResult(breach(op, phase, "every elementwise op stands in a fused group"));
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

} // namespace

LogicalResult checkContract(ModuleOp module, Phase phase) {
  switch (phase) {
  case Phase::Import:
    return checkDialects(module, phase, {"builtin", "func", "graph"});
  case Phase::Training:
    return failure(failed(checkDialects(module, phase, {"builtin", "func", "graph"})) ||
                   failed(checkTraining(module, phase)));
  case Phase::Planning:
    return failure(failed(checkDialects(module, phase, {"builtin", "func", "graph"})) ||
                   failed(checkPlanned(module, phase)));
  case Phase::Distribution:
    return failure(failed(checkDialects(module, phase, {"builtin", "func", "graph", "dist"})) ||
                   failed(checkPlanned(module, phase)));
  case Phase::Fusion:
    return failure(failed(checkDialects(module, phase, {"builtin", "func", "graph", "dist"})) ||
                   failed(checkFused(module, phase)));
  case Phase::Lowering: // the variables stay: codegen writes the program table from them
    for (Operation &op : *module.getBody())
      if (!isa<graph::VariableOp, LLVM::LLVMFuncOp, LLVM::GlobalOp>(op))
        return breach(&op, phase, "no '" + op.getName().getStringRef() + "' may stand");
    return success();
  }
  return success();
}

} // namespace echelon

// SPDX-License-Identifier: Apache-2.0
//
// The pass: lowers @microbatch, @update and @evaluate, and writes what the runtime must know of the inputs.
#include "dialects/graph/builders.h"
#include "passes/lowering/entry_lowering.h"
#include "passes/lowering/passes.h"

using namespace mlir;
using namespace llvm;
using namespace echelon::graph;

namespace echelon::lowering {
#define GEN_PASS_DEF_LOWERGRAPHTOEXECPASS
#include "passes/lowering/passes.h.inc"

namespace {

struct LowerGraphToExecPass : impl::LowerGraphToExecPassBase<LowerGraphToExecPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    KernelTable kernels(module);
    SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      EntryLowering lowering(function, symbols, kernels);
      if (failed(lowering.run()))
        return signalPassFailure();
      if (function.getSymName() == "microbatch") {
        describeInputs(module, function);
        writeFlops(module, lowering.flops);
      }
      function.erase();
    }
  }

  void writeFlops(ModuleOp module, const FlopCount &flops) {
    Builder builder(&getContext());
    module->setAttr("exec.flops", builder.getDictionaryAttr(
                                      {builder.getNamedAttr("causal", builder.getF64FloatAttr(flops.causal)),
                                       builder.getNamedAttr("hardware", builder.getF64FloatAttr(flops.hardware)),
                                       builder.getNamedAttr("palm", builder.getF64FloatAttr(flops.palm))}));
  }

  /// role 0 feature, 1 tokens, 2 labels; limit: how many rows or classes its values index.
  DictionaryAttr describe(func::FuncOp function, BlockArgument argument) {
    int64_t limit = 0, role = 0, ignore = 0;
    SmallVector<Value> worklist = {argument};
    while (!worklist.empty()) {
      Value value = worklist.pop_back_val();
      for (Operation *user : value.getUsers()) {
        if (auto embedding = dyn_cast<EmbeddingOp>(user); embedding && embedding.getIndices() == value) {
          limit = shapeOf(embedding.getTable())[0];
          role = std::max<int64_t>(role, 1);
        } else if (auto loss = dyn_cast<SoftmaxCrossEntropyOp>(user); loss && loss.getLabels() == value) {
          limit = shapeOf(loss.getLogits()).back();
          role = 2;
          ignore = loss.getIgnoreIndex();
        } else if (isa<ReshapeOp, TransposeOp, SliceOp, BroadcastOp>(user)) {
          worklist.push_back(user->getResult(0));
        }
      }
    }
    auto type = cast<RankedTensorType>(argument.getType());
    if (!type.getElementType().isInteger(64) || type.getRank() != 2)
      role = 0;
    Builder builder(&getContext());
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.name");
    return builder.getDictionaryAttr({
        builder.getNamedAttr("ignore_index", builder.getI64IntegerAttr(ignore)),
        builder.getNamedAttr("limit", builder.getI64IntegerAttr(limit)),
        builder.getNamedAttr("name", name ? name : builder.getStringAttr("input")),
        builder.getNamedAttr("role", builder.getI64IntegerAttr(role)),
        builder.getNamedAttr("type", TypeAttr::get(type)),
    });
  }

  void describeInputs(ModuleOp module, func::FuncOp function) {
    SmallVector<Attribute> inputs;
    for (BlockArgument argument : function.getArguments())
      inputs.push_back(describe(function, argument));
    module->setAttr("exec.inputs", ArrayAttr::get(&getContext(), inputs));
  }
};

} // namespace
} // namespace echelon::lowering

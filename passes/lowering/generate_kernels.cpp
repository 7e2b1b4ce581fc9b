// SPDX-License-Identifier: Apache-2.0
//
// The pass: plans and emits the kernels of a module, lowers all of them in one pipeline run, adds their entries.
#include "passes/lowering/generate_kernels.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/lowering/generate_kernels_emit.h"

using namespace mlir;
using namespace echelon::graph;

namespace echelon::lowering {
#define GEN_PASS_DEF_GENERATEKERNELSPASS
#include "passes/lowering/generate_kernels.h.inc"

namespace {

/// Bytes of results and operands that make a parallel task worth its start.
constexpr int64_t kTaskBytes = 32 << 10;

/// The one fused group of a kernel; null, with a diagnostic, if its block is anything else.
FusedOp groupOf(exec::KernelOp kernel) {
  Block &block = kernel.getBody().front();
  auto group = dyn_cast<FusedOp>(block.front());
  Operation *end = block.getTerminator();
  if (group && group->getNextNode() == end && llvm::equal(group.getInputs(), block.getArguments()) &&
      llvm::equal(group.getResults(), end->getOperands()))
    return group;
  kernel.emitOpError("must hold one graph.fused of its arguments and yield its results");
  return {};
}

/// Rows of one parallel task: a multiple of the block size for flat kernels, 0 where rows depend on each other.
int64_t rowsPerTask(const KernelPlan &plan) {
  if (!plan.independentRows())
    return 0;
  int64_t tensors = plan.operands.size() + plan.results.size();
  int64_t rowBytes = (plan.blocked ? 1 : plan.innerCount()) * tensors * int64_t(sizeof(float));
  int64_t rows = std::max<int64_t>(1, (kTaskBytes + rowBytes - 1) / std::max<int64_t>(rowBytes, 1));
  return plan.blocked ? llvm::alignTo(rows, kBlockElements) : rows;
}

struct GenerateKernelsPass : impl::GenerateKernelsPassBase<GenerateKernelsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    SmallVector<exec::KernelOp> kernels(module.getOps<exec::KernelOp>());
    if (kernels.empty())
      return;
    // Lowered apart from the rest of the module, whose ops other passes lower.
    auto room = builder.create<ModuleOp>(module.getLoc());
    SmallVector<KernelEntry> entries;
    builder.setInsertionPointToStart(room.getBody());
    bool failedAny = false;
    for (exec::KernelOp kernel : kernels) {
      FusedOp group = groupOf(kernel);
      FailureOr<KernelPlan> plan = group ? planKernel(kernel, group) : FailureOr<KernelPlan>(failure());
      if (failed(plan) || failed(emitRows(builder, kernel, group, *plan))) {
        failedAny = true;
        continue;
      }
      unsigned pointers = plan->operands.size() + plan->results.size();
      entries.push_back({kernel.getSymNameAttr(), pointers, plan->rows(), rowsPerTask(*plan)});
    }
    if (failedAny || failed(lowerPointLoops(room)) || failed(lowerToLLVM(room))) {
      room.erase();
      return signalPassFailure();
    }
    for (exec::KernelOp kernel : kernels)
      kernel.erase();
    builder.setInsertionPoint(room);
    for (auto [function, entry] : llvm::zip_equal(llvm::to_vector(room.getOps<LLVM::LLVMFuncOp>()), entries)) {
      function->moveBefore(room);
      finishRows(function, entry.splits());
      emitEntry(builder, function, entry);
    }
    room.erase();
  }

  LogicalResult lowerToLLVM(ModuleOp room) {
    OpPassManager pipeline(ModuleOp::getOperationName());
    auto &functions = pipeline.nest<func::FuncOp>();
    functions.addPass(createCanonicalizerPass());
    functions.addPass(createCSEPass());
    functions.addPass(createLoopInvariantCodeMotionPass());
    pipeline.addPass(createConvertSCFToCFPass());
    pipeline.addPass(createConvertMathToLLVMPass());
    pipeline.addPass(createFinalizeMemRefToLLVMConversionPass());
    pipeline.addPass(createArithToLLVMConversionPass());
    ConvertFuncToLLVMPassOptions options;
    options.useBarePtrCallConv = true;
    pipeline.addPass(createConvertFuncToLLVMPass(options));
    pipeline.addPass(createConvertControlFlowToLLVMPass());
    pipeline.addPass(createReconcileUnrealizedCastsPass());
    return runPipeline(pipeline, room);
  }

  void finishRows(LLVM::LLVMFuncOp function, bool callTwice) {
    markParallelAccesses(function);
    function.setLinkage(LLVM::Linkage::Internal);
    // LLVM would otherwise choose half-width vectors on most machines with AVX-512.
    Builder builder(function.getContext());
    SmallVector<Attribute> attributes{builder.getStrArrayAttr({"prefer-vector-width", "512"}),
                                      builder.getStringAttr("nounwind")};
    // Both callers pass whole rows: a second copy would only cost code and compile time.
    if (callTwice)
      attributes.push_back(builder.getStringAttr("noinline"));
    function.setPassthroughAttr(builder.getArrayAttr(attributes));
  }
};

} // namespace
} // namespace echelon::lowering

// SPDX-License-Identifier: Apache-2.0
//
// The table of phase contracts: for each row a module that keeps it and, for each promise, one that breaks it.
#include "passes/contracts.h"

#include "dialects/exec/exec_dialect.h"
#include "dialects/graph/graph_dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using echelon::Phase;

namespace {

/// "kept", or the message of the breach.
std::string check(Phase phase, llvm::StringRef text) {
  DialectRegistry registry;
  registry.insert<echelon::graph::GraphDialect, echelon::exec::ExecDialect, func::FuncDialect, LLVM::LLVMDialect>();
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return "does not parse";
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  return succeeded(echelon::checkContract(*module, phase)) ? "kept" : message;
}

constexpr const char *kForward = R"(
func.func @forward(%x: tensor<4xf32>) {
  %0 = graph.unary exp %x : tensor<4xf32>
  return
})";

constexpr const char *kStep = R"(
module attributes {dist.plan_hash = "0123456789abcdef"} {
  graph.variable parameter @w : tensor<f32> = #graph.init<constant, 0.0 : f64, 0.0 : f64> {trainable = true}
  graph.variable gradient @grad.w : tensor<f32> = #graph.init<constant, 0.0 : f64, 0.0 : f64> {owner = @w}
  func.func @microbatch(%x: tensor<f32>) {
    graph.accumulate %x into @grad.w : tensor<f32>
    return
  }
  func.func @evaluate() { return }
  func.func @update() {
    %g = graph.read @grad.w : tensor<f32>
    graph.assign %g to @w : tensor<f32>
    return
  }
})";

std::string replaced(std::string text, llvm::StringRef what, llvm::StringRef with) {
  size_t at = text.find(what.str());
  EXPECT_NE(at, std::string::npos) << what.str();
  return text.replace(at, what.size(), with.str());
}

TEST(Contracts, PhasesHaveNames) {
  std::string names;
  for (Phase phase : echelon::kPhases)
    names += (echelon::phaseName(phase) + " ").str();
  EXPECT_EQ(names, "import training planning distribution fusion lowering ");
}

TEST(Contracts, ImportIsGraphOnly) {
  EXPECT_EQ(check(Phase::Import, kForward), "kept");
  EXPECT_EQ(check(Phase::Import, "exec.entry @e { }"),
            "internal: after the import phase, no 'exec.entry' may stand");
}

TEST(Contracts, TrainingHasOneStep) {
  EXPECT_EQ(check(Phase::Training, kStep), "kept");
  EXPECT_EQ(check(Phase::Training, kForward), "internal: after the training phase, there is a function @microbatch");
  EXPECT_EQ(check(Phase::Training, replaced(kStep, "@update()", "@upgrade()")),
            "internal: after the training phase, there is a function @update");
}

TEST(Contracts, TrainingUpdatesEachParameter) {
  EXPECT_EQ(check(Phase::Training, replaced(kStep, "graph.assign %g to @w", "graph.assign %g to @grad.w")),
            "internal: after the training phase, every trainable parameter has an update");
}

/// That one is the user's to mend: the message names the key.
TEST(Contracts, TrainingReachesEachParameter) {
  EXPECT_EQ(check(Phase::Training, replaced(kStep, "graph.accumulate %x into @grad.w", "graph.assign %x to @grad.w")),
            "parameter 'w' does not reach the loss; freeze it with parameters.frozen");
}

TEST(Contracts, PlanningLeavesItsHash) {
  EXPECT_EQ(check(Phase::Planning, kStep), "kept");
  EXPECT_EQ(check(Phase::Planning, replaced(kStep, "dist.plan_hash", "dist.plan")),
            "internal: after the planning phase, the plan's hash is on the module");
  EXPECT_EQ(check(Phase::Distribution, replaced(kStep, "dist.plan_hash", "dist.plan")),
            "internal: after the distribution phase, the plan's hash is on the module");
}

TEST(Contracts, FusionLeavesNoLooseElementwiseOp) {
  EXPECT_EQ(check(Phase::Fusion, kForward),
            "internal: after the fusion phase, every elementwise op stands in a fused group");
  EXPECT_EQ(check(Phase::Fusion, R"(
func.func @forward(%x: tensor<4xf32>) {
  %0 = graph.fused(%x) over [4] rows 0 : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %y = graph.unary exp %a : tensor<4xf32>
    graph.yield %y : tensor<4xf32>
  }
  return
})"),
            "kept");
}

TEST(Contracts, LoweringLeavesLlvmAndVariables) {
  EXPECT_EQ(check(Phase::Lowering, R"(
graph.variable parameter @w : tensor<f32> = #graph.init<constant, 0.0 : f64, 0.0 : f64>
llvm.func @ech_copy(!llvm.ptr)
llvm.mlir.global private constant @text("x\00"))"),
            "kept");
  EXPECT_EQ(check(Phase::Lowering, kForward), "internal: after the lowering phase, no 'func.func' may stand");
}

} // namespace

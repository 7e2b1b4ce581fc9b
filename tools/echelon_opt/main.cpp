// SPDX-License-Identifier: Apache-2.0
//
// echelon-opt: mlir-opt with Echelon's dialects and passes, for lit tests and pass work.
#include "dialects/exec/exec_dialect.h"
#include "dialects/graph/graph_dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/fusion/passes.h"
#include "passes/lowering/passes.h"
#include "passes/planning/passes.h"
#include "passes/training/passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<echelon::graph::GraphDialect, echelon::exec::ExecDialect, mlir::func::FuncDialect,
                  mlir::LLVM::LLVMDialect>();
  echelon::training::registerTrainingPasses();
  echelon::fusion::registerFusionPasses();
  echelon::planning::registerPlanningPasses();
  echelon::lowering::registerLoweringPasses();
  echelon::lowering::registerGenerateKernelsPasses();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "echelon-opt\n", registry));
}

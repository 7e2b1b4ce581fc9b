// SPDX-License-Identifier: Apache-2.0
// The pass that turns fused groups into machine-independent LLVM IR.
include "mlir/Pass/PassBase.td"

def GenerateKernelsPass : Pass<"generate-kernels", "::mlir::ModuleOp"> {
  let summary = "Each exec.kernel becomes an LLVM function over rows";
  let description = [{
    `void f(const ech_launch *, operands..., results...)`, one pointer a tensor. Rows run in a loop; row reductions
    split the work on a row into passes, which go through linalg.generic on views of the row. Rows that are independent
    are shared out through launch->parallel_for. An operand and a result of equal type and strides may be the same
    memory; any other overlap is the caller's fault. Test: test/passes/lowering/generate-kernels.mlir.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect", "::mlir::func::FuncDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

// SPDX-License-Identifier: Apache-2.0
// Phase 5: from a rank's graph to LLVM IR that calls the contract.
include "mlir/Pass/PassBase.td"

def ScheduleMicrobatchesPass : Pass<"schedule-microbatches", "::mlir::ModuleOp"> {
  let summary = "Writes the schedule of a step, as the planner prices it, on the module";
  let description = [{ Test: test/passes/lowering/schedule-microbatches.mlir. }];
  let options = [Option<"accumulate", "accumulate", "int64_t", "1", "microbatches of a step">];
}

def LowerGraphToExecPass : Pass<"lower-graph-to-exec", "::mlir::ModuleOp"> {
  let summary = "Functions of graph ops become entries of kernel launches";
  let description = [{
    Views (reshape, transpose, slice, broadcast) become strides; results are written where they are wanted: into the
    concat, gradient or parameter that they end in. Equal fused groups share one exec.kernel. Test:
    test/passes/lowering/lower-graph-to-exec.mlir.
  }];
  let dependentDialects = ["::echelon::graph::GraphDialect", "::echelon::exec::ExecDialect"];
}

def AssignBuffersPass : Pass<"assign-buffers", "::mlir::ModuleOp"> {
  let summary = "Places every byte of a rank in an arena";
  let description = [{
    Parameters, gradients, states and metrics get fixed offsets, inputs theirs, and activations are packed by lifetime:
    buffers that live together never overlap. Test: test/passes/lowering/assign-buffers.mlir.
  }];
  let dependentDialects = ["::echelon::exec::ExecDialect"];
  let options = [Option<"report", "report", "bool", "false", "print packed peak, lower bound and ratio">];
}

def LowerExecToLLVMPass : Pass<"lower-exec-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Entries become functions that call kernels with pointers into arenas";
  let description = [{ Test: test/passes/lowering/lower-exec-to-llvm.mlir. }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let options = [Option<"checkNumerics", "check-numerics", "bool", "false",
                        "call launch->check_numerics after each kernel">];
}

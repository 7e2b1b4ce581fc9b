// SPDX-License-Identifier: Apache-2.0
//
// The pieces of a generated kernel, before and after its lowering to LLVM.
#ifndef ECHELON_PASSES_LOWERING_GENERATE_KERNELS_EMIT_H
#define ECHELON_PASSES_LOWERING_GENERATE_KERNELS_EMIT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/lowering/generate_kernels_math.h"
#include "passes/lowering/generate_kernels_plan.h"

namespace echelon::lowering {

/// The scalar form of one elementwise op on values of ScalarMath::computeType; null where no such kernel exists
/// (transcendental functions of f64 and of integers).
mlir::Value emitScalar(ScalarMath &math, mlir::Operation *op, mlir::ValueRange operands);

/// a combined with b under a reduction kind; sums may be reassociated.
mlir::Value emitCombine(ScalarMath &math, graph::ReduceKind kind, mlir::Value a, mlir::Value b);
/// The value that changes nothing under `kind`.
mlir::Value emitNeutral(ScalarMath &math, graph::ReduceKind kind, mlir::Type type);

/// Builds `@<kernel>.rows(operands..., results..., first, last)`, which runs rows [first, last) (elements for a blocked
/// plan), at the builder's insertion point, as loops over linalg.generic ops. Sums over rows require the whole range.
mlir::FailureOr<mlir::func::FuncOp> emitRows(mlir::OpBuilder &builder, exec::KernelOp kernel, graph::FusedOp group,
                                             const KernelPlan &plan);

/// What the lowered function of a kernel needs beside its rows.
struct KernelEntry {
  mlir::StringAttr name;
  unsigned pointers;    // operands and results
  int64_t rows;         // or elements
  int64_t rowsPerChunk; // rows of one parallel task; 0: never split
  bool splits() const { return rowsPerChunk > 0 && rows > rowsPerChunk; }
};

/// Builds the function that the program calls and, if rows are split, the task that the runtime's workers call. `rows`
/// is the lowered row function.
void emitEntry(mlir::OpBuilder &builder, mlir::LLVM::LLVMFuncOp rows, const KernelEntry &entry);

/// Turns each linalg.generic under `root` into loops, whose innermost one is marked by its location.
mlir::LogicalResult lowerPointLoops(mlir::Operation *root);
/// After the lowering to LLVM: tells LLVM that the memory accesses of the marked loops do not depend on each other
/// across iterations, so that equal operand and result pointers do not stop vectorization.
void markParallelAccesses(mlir::LLVM::LLVMFuncOp function);

} // namespace echelon::lowering

#endif

// SPDX-License-Identifier: Apache-2.0
//
// The generated kernels of a module: equal groups under equal strides share one exec.kernel, so that identical blocks
// of a model compile once.
#ifndef ECHELON_PASSES_LOWERING_KERNEL_TABLE_H
#define ECHELON_PASSES_LOWERING_KERNEL_TABLE_H

#include "dialects/exec/exec_dialect.h"
#include "dialects/graph/graph_dialect.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/BuiltinOps.h"

namespace echelon::lowering {

class KernelTable {
public:
  explicit KernelTable(mlir::ModuleOp module) : module(module) {}

  /// The kernel for `fused` with the given layouts; `accumulate` has one flag a result. Made at the module's end on
  /// first use.
  mlir::FlatSymbolRefAttr get(graph::FusedOp fused, llvm::ArrayRef<StridedView> operands,
                              llvm::ArrayRef<StridedView> results, llvm::ArrayRef<bool> accumulate);

  /// A kernel that copies (or adds) a tensor of `type` from one layout to another.
  mlir::FlatSymbolRefAttr getCopy(mlir::Location loc, mlir::RankedTensorType type, const StridedView &from,
                                  const StridedView &to, bool accumulate);

private:
  mlir::ModuleOp module;
  llvm::StringMap<mlir::FlatSymbolRefAttr> kernels;
};

} // namespace echelon::lowering

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Lowering of one function of graph ops to an exec.entry. Each tensor has a place: a buffer and a strided view of it.
// Views cost nothing; a copy is made only where a kernel cannot take the strides.
#ifndef ECHELON_PASSES_LOWERING_ENTRY_LOWERING_H
#define ECHELON_PASSES_LOWERING_ENTRY_LOWERING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/lowering/kernel_table.h"
#include <optional>

namespace echelon::lowering {

/// Where a tensor lies. Offsets of the view count elements of the tensor's own type.
struct Place {
  mlir::Value buffer;
  StridedView view;
};

/// FLOPs of matrix products and attention in an entry, by convention (docs/explanation/mfu.md).
struct FlopCount {
  double palm = 0, causal = 0, hardware = 0;
};

class EntryLowering {
public:
  EntryLowering(mlir::func::FuncOp function, const mlir::SymbolTable &symbols, KernelTable &kernels);

  /// Builds the entry after the function; the function itself is left for the caller to erase.
  mlir::LogicalResult run();

  FlopCount flops;

private:
  // entry_placement.cpp: where results go
  mlir::Value allocate(mlir::Location loc, mlir::RankedTensorType type);
  Place freshPlace(mlir::Value tensor, llvm::ArrayRef<int64_t> order = {});
  Place variablePlace(mlir::Location loc, llvm::StringRef variable, mlir::Type type);
  /// The place that the only user of `tensor` wants it in, if it wants one.
  std::optional<Place> wantedPlace(mlir::Value tensor);
  std::optional<Place> wantedByAssign(graph::AssignOp assign);
  /// The part of the concat's place that its input number `index` takes.
  std::optional<Place> wantedByConcat(unsigned index, graph::ConcatOp concat);
  std::optional<Place> wantedByPad(mlir::Value tensor, graph::PadOp pad);
  Place resultPlace(mlir::Value tensor);
  /// The logits' own memory for their gradient, where nothing reads them afterwards.
  std::optional<Place> logitsPlace(graph::SoftmaxCrossEntropyGradOp op);
  /// The gradient variable that `tensor` is only accumulated into, as a place of the tensor's shape.
  std::optional<Place> accumulatePlace(mlir::Value tensor);
  /// Takes back what accumulatePlace noted, where the kernel cannot add after all.
  void cancelAccumulate(mlir::Value tensor);
  void indexOps();
  unsigned lastUse(mlir::Value tensor);
  bool mustCopyRead(graph::ReadOp read);

  // entry_lowering.cpp: ops
  mlir::LogicalResult lower(mlir::Operation &op);
  struct KernelPlaces {
    llvm::SmallVector<Place> operands, results;
    bool adds = false; ///< the result is added into a gradient
  };
  KernelPlaces kernelPlaces(graph::KernelOpInterface op);
  mlir::FailureOr<graph::KernelCall> describe(graph::KernelOpInterface op, KernelPlaces &places);
  mlir::LogicalResult lowerKernel(graph::KernelOpInterface op);
  mlir::LogicalResult lowerFused(graph::FusedOp op);
  void lowerConstant(graph::ConstantOp op);
  void lowerView(mlir::Operation &op);
  void lowerAccumulate(graph::AccumulateOp op);
  void lowerAssign(graph::AssignOp op);
  void countFlops(mlir::Operation &op);
  void markLogits(graph::SoftmaxCrossEntropyOp op);

  Place placeOf(mlir::Value tensor);
  /// A copy in dense memory whose dims lie in `order`, outermost first; empty: their own order.
  Place makeDense(mlir::Location loc, mlir::RankedTensorType type, const Place &place,
                  llvm::ArrayRef<int64_t> order = {});
  void copy(mlir::Location loc, mlir::RankedTensorType type, const Place &from, const Place &to,
            bool accumulate = false);
  void fillZero(mlir::Location loc, mlir::RankedTensorType type, const Place &place);
  struct Argument {
    const Place *place; ///< null: a null pointer
    mlir::Type element;
    bool written;
  };
  void launch(mlir::Location loc, llvm::StringRef callee, llvm::ArrayRef<Argument> arguments,
              llvm::ArrayRef<mlir::Attribute> descriptor);

  mlir::func::FuncOp function;
  const mlir::SymbolTable &symbols;
  KernelTable &kernels;
  mlir::OpBuilder builder;
  mlir::Type bufferType;
  mlir::Operation *current = nullptr; ///< the op whose results are being placed
  llvm::DenseMap<mlir::Value, Place> places;
  llvm::DenseMap<mlir::Operation *, unsigned> order; ///< position of each op in the function
  struct VariableUse {
    llvm::SmallVector<unsigned, 2> writes; ///< positions of its assigns and accumulates
    bool read = false, assigned = false;
  };
  llvm::StringMap<VariableUse> variables; ///< by name
  llvm::DenseSet<mlir::Value> accumulated;           ///< tensors that their producer already added
};

} // namespace echelon::lowering

#endif

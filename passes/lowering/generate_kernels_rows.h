// SPDX-License-Identifier: Apache-2.0
//
// The builder of a kernel's row function, in two rooms: what happens once a row or a call (generate_kernels_emit.cpp)
// and what happens at each point (generate_kernels_points.cpp).
#ifndef ECHELON_PASSES_LOWERING_GENERATE_KERNELS_ROWS_H
#define ECHELON_PASSES_LOWERING_GENERATE_KERNELS_ROWS_H

#include "passes/lowering/generate_kernels_emit.h"

namespace echelon::lowering {

/// One linalg.generic in the making: memory operands and what happens with their elements.
struct PointLoop {
  llvm::SmallVector<mlir::Value> inputs, outputs;
  llvm::SmallVector<mlir::AffineMap> inputMaps, outputMaps;
  llvm::MapVector<mlir::Value, unsigned> loaded; // graph value -> input index
  struct Output {
    enum Kind { Store, Add, Reduce, Buffer } kind;
    mlir::Value value; // graph value
    graph::ReduceKind reduce = graph::ReduceKind::Sum;
    mlir::Type element;
  };
  llvm::SmallVector<Output> sinks;
};

/// Emits the row function of one kernel.
class RowEmitter {
public:
  RowEmitter(mlir::OpBuilder &builder, exec::KernelOp kernel, graph::FusedOp group, const KernelPlan &plan)
      : builder(builder), loc(group.getLoc()), math(builder, loc), kernel(kernel), plan(plan),
        body(group.getBody().front()), yield(llvm::cast<graph::YieldOp>(body.getTerminator())) {}

  /// The function; failure, with a diagnostic at the kernel, where an op has no scalar form.
  mlir::FailureOr<mlir::func::FuncOp> run();

private:
  void prepare();
  void emitRange(mlir::Value first, mlir::Value last);
  void emitRow(mlir::Value row);
  void emitPhase(int phase, PointLoop &loop);
  void addReductions(int phase, PointLoop &loop);
  void addStores(PointLoop &loop);
  void emitGeneric(PointLoop &loop);
  void storeRowValues();
  void finish();
  void clear(const TensorAccess &tensor, mlir::Value pointer, mlir::Value value);
  void flushColumns();
  void addTo(mlir::Value memory, mlir::Type element, graph::ReduceKind kind, mlir::Value value);

  mlir::Value index(int64_t value);
  mlir::Value offsetOf(const TensorAccess &tensor);
  mlir::Value view(const TensorAccess &tensor, mlir::Value pointer, mlir::Value offset, mlir::AffineMap &map);
  mlir::Value element(const TensorAccess &tensor, mlir::Value pointer);
  mlir::AffineMap identityMap() { return builder.getMultiDimIdentityMap(plan.inner.size()); }
  mlir::AffineMap scalarMap() { return mlir::AffineMap::get(plan.inner.size(), 0, builder.getContext()); }
  mlir::Value scratch(mlir::Type element, llvm::ArrayRef<int64_t> shape);
  mlir::Value load(mlir::Value memory);
  void store(mlir::Value value, mlir::Value memory);
  mlir::Value compute(mlir::Value value, llvm::DenseMap<mlir::Value, mlir::Value> &known, ScalarMath &at);
  void computeLevel(Level level, int phase);
  void fill(mlir::Value memory, mlir::AffineMap map, mlir::Value value);
  void forRange(mlir::Value first, mlir::Value last, int64_t step, llvm::function_ref<void(mlir::Value)> emit);
  mlir::Value minimum(mlir::Value a, mlir::Value b);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  ScalarMath math;
  exec::KernelOp kernel;
  const KernelPlan &plan;
  mlir::Block &body;
  graph::YieldOp yield;

  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::Value> operandPointers, resultPointers;
  llvm::DenseMap<mlir::Value, mlir::Value> scalars;    // values of the call and of the row
  llvm::DenseMap<mlir::Value, mlir::Value> rowBuffers; // graph value -> memref
  llvm::DenseMap<mlir::Operation *, mlir::Value>
      partials;                                        // row, rows and total reductions -> scalar accumulator of a row
  llvm::DenseMap<unsigned, mlir::Value> totals;        // result -> f64 accumulator
  llvm::DenseMap<unsigned, mlir::Value> columnBuffers; // result -> memref
  llvm::SmallVector<mlir::Value> rowIndex;             // of the current row, one a loop dim
  mlir::Value blockOffset, blockSize;                  // of a blocked plan
  mlir::Value anchor;                                  // memory that is never read
  bool unsupported = false;
};

/// How the value of a result is reduced; Identity for anything but a reduction.
Reduction kindOf(const KernelPlan &plan, mlir::Value result);
/// True for reductions that are complete only after all rows.
inline bool sumsRows(Reduction kind) { return kind != Reduction::Identity && kind != Reduction::Row; }

} // namespace echelon::lowering

#endif

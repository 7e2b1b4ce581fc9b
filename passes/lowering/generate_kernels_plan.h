// SPDX-License-Identifier: Apache-2.0
//
// How one fused group runs: its loop dims, which values live at which loop level, and the passes over a row that its
// row reductions force. Dims of the group's domain that continue each other in every tensor are merged.
#ifndef ECHELON_PASSES_LOWERING_GENERATE_KERNELS_PLAN_H
#define ECHELON_PASSES_LOWERING_GENERATE_KERNELS_PLAN_H

#include "dialects/exec/exec_dialect.h"
#include "dialects/graph/graph_dialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace echelon::lowering {

using Dims = llvm::SmallVector<int64_t, 6>;

/// A pointer argument: element strides over the kernel's outer and inner dims, 0 where the tensor is repeated.
struct TensorAccess {
  mlir::Value value; // operand: argument of the group's body; result: the value yielded
  mlir::Type element;
  Dims domain; // strides over the dims of the group's domain
  Dims outer, inner;
  bool pointwise() const {
    return llvm::any_of(inner, [](int64_t stride) { return stride != 0; });
  }
  bool constant() const {
    return !pointwise() && llvm::all_of(outer, [](int64_t stride) { return stride == 0; });
  }
};

/// Where a value changes: never during a call, with the row, or with each point.
enum class Level { Call, Row, Point };

/// How a reduction is computed.
enum class Reduction {
  Identity,  // over dims of size 1
  Row,       // over the inner dims: a value of the row, used inside the group
  Column,    // over row dims only: added into the result, point by point
  Rows,      // over the inner dims and some row dims: the row's sum is added into the result
  RowValues, // of a value of the row, over row dims: added into the result
  Total      // over everything: kept in f64 until the end of the call
};

struct KernelPlan {
  Dims outer, inner;    // sizes of the loop dims
  bool blocked = false; // one flat inner dim that is walked in blocks; "rows" then are elements
  int phases = 1;       // passes over a row
  llvm::SmallVector<TensorAccess> operands, results;
  llvm::DenseMap<mlir::Value, Level> level;
  llvm::DenseMap<mlir::Value, int> phase;                   // first pass in which the value can be computed
  llvm::MapVector<mlir::Operation *, Reduction> reductions; // in the order of the ops
  /// Point values kept in a row buffer from the given pass on, since computing them again is dear.
  llvm::MapVector<mlir::Value, int> buffers;

  int64_t rows() const;
  int64_t innerCount() const;
  /// Rows may run in any order and at the same time.
  bool independentRows() const;
  Reduction reductionOf(mlir::Operation *op) const { return reductions.lookup(op); }
};

/// Elements of one block of a flat kernel, rows that a column sum adds in a buffer before it adds them to the result,
/// and bytes of stack that a kernel may use for row buffers.
inline constexpr int64_t kBlockElements = 2048, kColumnRows = 64, kStackBytes = 64 << 10;

/// The point values that pass `phase` computes or loads for the sake of `roots`: values that an earlier pass left in a
/// row buffer are loaded, so what they are made of does not count. The plan and the emitter both go by it.
llvm::DenseSet<mlir::Value> pointValues(const KernelPlan &plan, llvm::SmallVector<mlir::Value> roots, int phase);

/// Fills plan.buffers, within kStackBytes, once levels and phases are known.
void chooseBuffers(mlir::Block &body, KernelPlan &plan);

/// Plans `kernel`. Fails with a diagnostic at the kernel for a group that is not expressible.
mlir::FailureOr<KernelPlan> planKernel(exec::KernelOp kernel, graph::FusedOp group);

} // namespace echelon::lowering

#endif

// SPDX-License-Identifier: Apache-2.0
//
// What one pass over rows can compute: a group of elementwise ops and reductions over one domain, and when two groups
// are one.
#ifndef ECHELON_PASSES_FUSION_FUSION_GROUP_H
#define ECHELON_PASSES_FUSION_FUSION_GROUP_H

#include "dialects/graph/graph_dialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <optional>

namespace echelon::fusion {

using Dims = llvm::SmallVector<int64_t, 6>;

/// The value that an operand repeats, and for each of its dims the dim of the operand.
struct Source {
  mlir::Value value;
  Dims dims;
};

/// Looks through broadcasts.
Source sourceOf(mlir::Value operand);
/// Composes placements: dims of a value -> dims of a tensor -> dims of a domain.
Dims compose(llvm::ArrayRef<int64_t> inner, llvm::ArrayRef<int64_t> outer);
/// Ops that generated kernels compute, besides broadcasts and splats.
bool isComputed(mlir::Operation *op);
int64_t elementsOf(mlir::Value value);
int64_t bytesOf(mlir::Value value);

/// A group. Results of reductions over rows (`sums`) leave the group and are not read inside.
struct FusionGroup {
  Dims domain;
  int64_t fixedOuter = -1; // number of row dims, once something decides it
  int64_t minOuter = 0;    // row dims that column sums need
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, Dims> placement; // of an op's own shape (a reduction: its input's) in the domain

  explicit FusionGroup(mlir::Operation *op);
  int64_t outer() const;
  bool legal() const;
  /// Where the op's result lies in the domain.
  Dims placementOf(mlir::Value result) const;
  /// A reduction whose result is complete only after all rows.
  bool isSum(mlir::Operation *op) const;
  bool hasReductions() const;
};

/// True if an op outside `group` reads `result` from memory; elementwise readers of `recomputed` values do not.
bool isReadOutside(const FusionGroup &group, mlir::Value result, const llvm::DenseSet<mlir::Value> &recomputed);

/// One group that computes both, if `value` is a result of `producer` that `consumer` reads, or is read by both at
/// `producerDims` and `consumerDims` of their domains. `producer` must not need `consumer`.
std::optional<FusionGroup> unite(const FusionGroup &producer, const FusionGroup &consumer,
                                 llvm::ArrayRef<int64_t> producerDims, llvm::ArrayRef<int64_t> consumerDims);

} // namespace echelon::fusion

#endif

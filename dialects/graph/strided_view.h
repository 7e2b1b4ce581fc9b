// SPDX-License-Identifier: Apache-2.0
//
// How a tensor lies in memory, and a call of a library kernel. Free of IR.
#ifndef ECHELON_DIALECTS_GRAPH_STRIDED_VIEW_H
#define ECHELON_DIALECTS_GRAPH_STRIDED_VIEW_H

#include "dialects/graph/iteration_space.h"
#include <optional>
#include <variant>

namespace echelon {

/// Element [i0, i1, ...] of a tensor lies at offset + sum strides[d] * i_d elements of its buffer.
struct StridedView {
  Shape sizes;
  llvm::SmallVector<int64_t, 6> strides;
  int64_t offset = 0;

  static StridedView dense(llvm::ArrayRef<int64_t> sizes);
  bool isDense() const;
  /// The view with dims [first, first + count) merged into one (size, stride); nothing if they do not merge.
  /// No dims merge to (1, 0).
  std::optional<std::pair<int64_t, int64_t>> merge(unsigned first, unsigned count) const;
  /// Merges the dims listed, outermost first, of which each must continue the next.
  std::optional<std::pair<int64_t, int64_t>> merge(llvm::ArrayRef<unsigned> dims) const;
  /// The same memory under another shape, if strides allow it.
  std::optional<StridedView> reshape(llvm::ArrayRef<int64_t> newSizes) const;
  StridedView permute(llvm::ArrayRef<int64_t> permutation) const;
  /// New dims get stride 0; input dim i becomes dim dims[i].
  StridedView broadcast(llvm::ArrayRef<int64_t> newSizes, llvm::ArrayRef<int64_t> dims) const;
  StridedView slice(llvm::ArrayRef<int64_t> newSizes, llvm::ArrayRef<int64_t> offsets,
                    llvm::ArrayRef<int64_t> steps) const;
};

namespace graph {

/// A pointer argument of a kernel: operand, result, or null.
struct KernelArgument {
  enum Kind { Operand, Result, Null } kind;
  unsigned index = 0;
};

/// A call of a row of runtime/abi/kernels.def. `descriptor`: the consecutive 64-bit fields of its struct.
struct KernelCall {
  llvm::StringRef kernel;
  llvm::SmallVector<std::variant<int64_t, double>, 48> descriptor;
  llvm::SmallVector<KernelArgument, 10> arguments;
};

} // namespace graph
} // namespace echelon

#endif

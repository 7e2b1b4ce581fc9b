// SPDX-License-Identifier: Apache-2.0
//
// The iteration space of an op: its named dims. "b m k, b k n -> b m n" says which dims of the operands and
// results are the same; a name that no result has is a reduction; "(h d)" is one tensor dim made of two names,
// outermost first; ": whole d" lists names that must not be split over devices. Free of IR: the planner prices
// and the partitioner builds from this very object.
#ifndef ECHELON_DIALECTS_GRAPH_ITERATION_SPACE_H
#define ECHELON_DIALECTS_GRAPH_ITERATION_SPACE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace echelon {

/// One tensor dim as a product of names, outermost first; no name: a dim of size 1 that nothing shares.
using SpaceDim = llvm::SmallVector<unsigned, 2>;
/// One operand or result.
using SpaceTensor = llvm::SmallVector<SpaceDim, 4>;
using Shape = llvm::SmallVector<int64_t, 6>;

struct IterationSpace {
  struct Name {
    std::string text;
    int64_t size = 0; ///< 0 until bound
    bool whole = false;
  };
  llvm::SmallVector<Name, 8> names;
  llvm::SmallVector<SpaceTensor, 4> operands, results;

  /// Parses the textual form. "..." in a tensor stands for `ellipsisRank` names i0, i1, ... Errors name the
  /// offending word.
  static llvm::Expected<IterationSpace> parse(llvm::StringRef text, unsigned ellipsisRank = 0);

  /// Index of a name, adding it if new.
  unsigned addName(llvm::StringRef text, int64_t size = 0, bool whole = false);

  /// Gives every name its size from the shapes of operands and results; a compound dim must have all but one
  /// of its names bound otherwise. Errors: rank mismatch; two sizes for one name (both given); unbound name.
  llvm::Error bind(llvm::ArrayRef<Shape> operandShapes, llvm::ArrayRef<Shape> resultShapes);

  /// The shape of a tensor under the given size of each name (empty: the bound sizes).
  Shape shapeOf(const SpaceTensor &tensor, llvm::ArrayRef<int64_t> sizes = {}) const;

  /// Product of all name sizes: the points of the iteration.
  int64_t points() const;

  /// True if no result has the name: it is summed (or otherwise reduced) away.
  bool isReduction(unsigned name) const;

  std::string str() const;
};

} // namespace echelon

#endif

// SPDX-License-Identifier: Apache-2.0
//
// A dependency graph whose nodes are merged into units, kept in topological order all the time (Pearce and Kelly,
// "A dynamic topological sort algorithm for directed acyclic graphs", JEA 2006): a merge looks only at units between
// the two merged, so that fusing a whole model stays near linear. Free of IR.
#ifndef ECHELON_PASSES_FUSION_FUSION_GRAPH_H
#define ECHELON_PASSES_FUSION_FUSION_GRAPH_H

#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace echelon::fusion {

class FusionGraph {
public:
  /// Nodes are numbered in a topological order.
  explicit FusionGraph(unsigned nodes);

  /// `to` needs `from`; from < to.
  void addEdge(unsigned from, unsigned to);

  unsigned unitOf(unsigned node) const { return unit[node]; }
  /// Nodes of a unit, in no particular order.
  llvm::ArrayRef<unsigned> members(unsigned unit) const { return content[unit]; }
  unsigned order(unsigned unit) const { return position[unit]; }
  /// All units, each after the units that it needs.
  std::vector<unsigned> sorted() const;

  /// Merges two units unless a third would have to run between them, or finding that out takes too long. The merged
  /// unit has the number of the one that came first; false if nothing was merged.
  bool merge(unsigned a, unsigned b);

private:
  bool reach(unsigned from, unsigned limit, unsigned target, bool forward, std::vector<unsigned> &found);

  std::vector<unsigned> unit, position;
  std::vector<llvm::SmallVector<unsigned, 4>> content, successors, predecessors;
  std::vector<unsigned> mark; // of units: the search that saw them last
  unsigned search = 0;
};

} // namespace echelon::fusion

#endif

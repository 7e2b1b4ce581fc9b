// SPDX-License-Identifier: Apache-2.0
//
// Units in dynamic topological order.
#include "passes/fusion/fusion_graph.h"
#include <algorithm>

namespace echelon::fusion {

/// Units that one search may visit: farther apart, merging would stretch lifetimes anyway.
static constexpr size_t kSearchLimit = 400;

FusionGraph::FusionGraph(unsigned nodes)
    : unit(nodes), position(nodes), content(nodes), successors(nodes), predecessors(nodes), mark(nodes, 0) {
  for (unsigned node = 0; node < nodes; ++node) {
    unit[node] = position[node] = node;
    content[node].push_back(node);
  }
}

void FusionGraph::addEdge(unsigned from, unsigned to) {
  successors[from].push_back(to);
  predecessors[to].push_back(from);
}

/// Collects units reachable from `from` (itself not) whose position lies strictly on the near side of `limit`. False
/// when `target` is reached other than directly from `from`, or when the search grows too long.
bool FusionGraph::reach(unsigned from, unsigned limit, unsigned target, bool forward, std::vector<unsigned> &found) {
  ++search;
  std::vector<unsigned> work{from};
  while (!work.empty()) {
    unsigned current = work.back();
    work.pop_back();
    for (unsigned node : content[current])
      for (unsigned next : forward ? successors[node] : predecessors[node]) {
        unsigned other = unit[next];
        if (other == target && current != from)
          return false;
        if (other == target || other == from || mark[other] == search)
          continue;
        if (forward ? position[other] >= limit : position[other] <= limit)
          continue;
        mark[other] = search;
        found.push_back(other);
        work.push_back(other);
        if (found.size() > kSearchLimit)
          return false;
      }
  }
  return true;
}

bool FusionGraph::merge(unsigned a, unsigned b) {
  if (position[a] > position[b])
    std::swap(a, b);
  std::vector<unsigned> after, before;
  if (!reach(a, position[b], b, true, after) || !reach(b, position[a], a, false, before))
    return false;
  // What b needs, the merged unit, what needs a: in the positions that these units have now.
  auto byPosition = [&](unsigned x, unsigned y) { return position[x] < position[y]; };
  std::sort(after.begin(), after.end(), byPosition);
  std::sort(before.begin(), before.end(), byPosition);
  std::vector<unsigned> slots{position[a], position[b]};
  for (auto *list : {&before, &after})
    for (unsigned other : *list)
      slots.push_back(position[other]);
  std::sort(slots.begin(), slots.end());
  size_t next = 0;
  for (unsigned other : before)
    position[other] = slots[next++];
  position[a] = slots[next++];
  ++next; // one slot stays empty
  for (unsigned other : after)
    position[other] = slots[next++];
  for (unsigned node : content[b]) {
    unit[node] = a;
    content[a].push_back(node);
  }
  content[b].clear();
  return true;
}

std::vector<unsigned> FusionGraph::sorted() const {
  std::vector<unsigned> units;
  for (unsigned candidate = 0; candidate < content.size(); ++candidate)
    if (!content[candidate].empty())
      units.push_back(candidate);
  std::sort(units.begin(), units.end(), [&](unsigned x, unsigned y) { return position[x] < position[y]; });
  return units;
}

} // namespace echelon::fusion

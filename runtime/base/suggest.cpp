// SPDX-License-Identifier: Apache-2.0
//
// Edit distance (optimal string alignment) and the nearest of a list of names.
#include "runtime/base/suggest.h"

#include <algorithm>

namespace echelon::runtime {

size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> beforeLast(b.size() + 1), last(b.size() + 1),
      row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], beforeLast[j - 2] + 1);
    }
    std::swap(beforeLast, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string_view nearestName(std::string_view name,
                             const std::vector<std::string_view> &candidates) {
  std::string_view best;
  size_t bestDistance = ~size_t{0};
  for (std::string_view candidate : candidates) {
    size_t distance = editDistance(name, candidate);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view name,
                       const std::vector<std::string_view> &candidates) {
  std::string_view best = nearestName(name, candidates);
  if (best.empty())
    return "";
  return ", did you mean '" + std::string(best) + "'?";
}

} // namespace echelon::runtime

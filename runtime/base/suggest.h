// SPDX-License-Identifier: Apache-2.0
//
// The nearest known name to a mistyped one, for "did you mean".
#ifndef ECHELON_RUNTIME_BASE_SUGGEST_H
#define ECHELON_RUNTIME_BASE_SUGGEST_H

#include <string>
#include <string_view>
#include <vector>

namespace echelon::runtime {

/// Number of insertions, deletions, replacements and swaps of neighbours that
/// turn `a` into `b`.
size_t editDistance(std::string_view a, std::string_view b);

/// The candidate with the smallest edit distance to `name` (the first of
/// equals), or an empty view if `candidates` is empty.
std::string_view nearestName(std::string_view name,
                             const std::vector<std::string_view> &candidates);

/// ", did you mean 'x'?" with the nearest candidate; empty if there are no
/// candidates.
std::string suggestion(std::string_view name,
                       const std::vector<std::string_view> &candidates);

} // namespace echelon::runtime

#endif

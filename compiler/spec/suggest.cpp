// SPDX-License-Identifier: Apache-2.0
//
// Nearest known word by edit distance.
#include "compiler/spec/suggest.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

namespace echelon {

llvm::StringRef nearestWord(llvm::StringRef word,
                            llvm::ArrayRef<llvm::StringRef> candidates) {
  llvm::StringRef best;
  unsigned bestDistance = ~0u;
  for (llvm::StringRef candidate : candidates) {
    unsigned distance = word.edit_distance(candidate);
    unsigned longer =
        static_cast<unsigned>(std::max(word.size(), candidate.size()));
    // A forgotten ending ("schedule.warmup", "beta") is the commonest slip and
    // may be long; a shared beginning counts as near.
    bool sharedBeginning = word.size() >= 3 && candidate.starts_with(word);
    if (distance * 5 > longer * 2 + 4 && !sharedBeginning)
      continue;
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

std::string suggestion(llvm::StringRef word,
                       llvm::ArrayRef<llvm::StringRef> candidates) {
  llvm::StringRef best = nearestWord(word, candidates);
  if (!best.empty())
    return ", did you mean '" + best.str() + "'?";
  return "; known: " + llvm::join(candidates, ", ");
}

} // namespace echelon

// SPDX-License-Identifier: Apache-2.0
//
// Naming the nearest known word. Every strict reader (training spec, command
// line flags, subcommands) uses it, so that a typo is answered the same way
// everywhere.
#ifndef ECHELON_COMPILER_SPEC_SUGGEST_H
#define ECHELON_COMPILER_SPEC_SUGGEST_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace echelon {

/// The candidate with the smallest edit distance to `word` (the first of equal
/// ones), or an empty string when none is near: more than about two fifths of
/// the longer word would have to change.
llvm::StringRef nearestWord(llvm::StringRef word,
                            llvm::ArrayRef<llvm::StringRef> candidates);

/// `, did you mean 'x'?` for the nearest candidate, else
/// `; known: a, b, c`: the tail of a message about an unknown word.
std::string suggestion(llvm::StringRef word,
                       llvm::ArrayRef<llvm::StringRef> candidates);

} // namespace echelon

#endif

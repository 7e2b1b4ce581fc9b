// SPDX-License-Identifier: Apache-2.0
//
// Selecting parameters by name glob (`*.bias`, `transformer.h.{0,1}.*`) or by
// role (`@1d`, `@norm`, `@bias`, `@embedding`), as `optimizer.no_decay`,
// `parameters.trainable` and `parameters.frozen` do.
#ifndef ECHELON_COMPILER_SPEC_PARAMETER_GLOBS_H
#define ECHELON_COMPILER_SPEC_PARAMETER_GLOBS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/GlobPattern.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace echelon {

/// What the role words ask about.
struct ParameterTraits {
  llvm::StringRef name;
  int64_t rank = 0;
  bool isNorm = false;      ///< scale or shift of a normalization
  bool isBias = false;      ///< added to a contraction's result
  bool isEmbedding = false; ///< the table of a gather
};

/// A list of globs and role words.
class ParameterGlobs {
public:
  /// Fails on a malformed glob and, if `allowRoles`, on an unknown role word;
  /// without `allowRoles` every `@word` is an error.
  static llvm::Expected<ParameterGlobs>
  create(llvm::ArrayRef<std::string> patterns, bool allowRoles);

  /// Whether any entry selects the parameter.
  bool matches(const ParameterTraits &parameter) const;

  /// The entries that select none of `parameters`, in their order: a pattern
  /// without effect is the user's typo.
  std::vector<std::string>
  unmatched(llvm::ArrayRef<ParameterTraits> parameters) const;

private:
  enum class Role { None, OneDim, Norm, Bias, Embedding };
  struct Entry {
    // The pattern keeps a reference into its text, which must not move.
    std::shared_ptr<const std::string> text;
    Role role = Role::None;
    std::optional<llvm::GlobPattern> glob; ///< absent for a role
  };
  static bool matches(const Entry &entry, const ParameterTraits &parameter);

  std::vector<Entry> entries;
};

} // namespace echelon

#endif

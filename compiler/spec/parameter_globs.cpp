// SPDX-License-Identifier: Apache-2.0
//
// Globs through llvm::GlobPattern, role words beside them.
#include "compiler/spec/parameter_globs.h"
#include "compiler/spec/suggest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace echelon {

namespace {

// Bounds what braces may expand to: {a,b}{c,d}... doubles with each group.
constexpr size_t kMaxSubPatterns = 1024;

} // namespace

llvm::Expected<ParameterGlobs>
ParameterGlobs::create(llvm::ArrayRef<std::string> patterns, bool allowRoles) {
  ParameterGlobs globs;
  for (const std::string &pattern : patterns) {
    Entry entry;
    entry.text = std::make_shared<const std::string>(pattern);
    if (llvm::StringRef(pattern).starts_with("@")) {
      if (!allowRoles)
        return llvm::createStringError(
            llvm::inconvertibleErrorCode(),
            "the role word \"" + pattern +
                "\" is only known in optimizer.no_decay; write a glob of "
                "names");
      entry.role = llvm::StringSwitch<Role>(pattern)
                       .Case("@1d", Role::OneDim)
                       .Case("@norm", Role::Norm)
                       .Case("@bias", Role::Bias)
                       .Case("@embedding", Role::Embedding)
                       .Default(Role::None);
      if (entry.role == Role::None)
        return llvm::createStringError(
            llvm::inconvertibleErrorCode(),
            "unknown role word \"" + pattern + "\"" +
                suggestion(pattern, {"@1d", "@norm", "@bias", "@embedding"}));
    } else {
      llvm::Expected<llvm::GlobPattern> glob =
          llvm::GlobPattern::create(*entry.text, kMaxSubPatterns);
      if (!glob)
        return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                       "\"" + pattern + "\" is not a glob: " +
                                           llvm::toString(glob.takeError()));
      entry.glob = std::move(*glob);
    }
    globs.entries.push_back(std::move(entry));
  }
  return globs;
}

bool ParameterGlobs::matches(const Entry &entry,
                             const ParameterTraits &parameter) {
  switch (entry.role) {
  case Role::OneDim:
    return parameter.rank <= 1;
  case Role::Norm:
    return parameter.isNorm;
  case Role::Bias:
    return parameter.isBias;
  case Role::Embedding:
    return parameter.isEmbedding;
  case Role::None:
    return entry.glob->match(parameter.name);
  }
  return false;
}

bool ParameterGlobs::matches(const ParameterTraits &parameter) const {
  return llvm::any_of(
      entries, [&](const Entry &entry) { return matches(entry, parameter); });
}

std::vector<std::string>
ParameterGlobs::unmatched(llvm::ArrayRef<ParameterTraits> parameters) const {
  std::vector<std::string> result;
  for (const Entry &entry : entries)
    if (llvm::none_of(parameters, [&](const ParameterTraits &parameter) {
          return matches(entry, parameter);
        }))
      result.push_back(*entry.text);
  return result;
}

} // namespace echelon

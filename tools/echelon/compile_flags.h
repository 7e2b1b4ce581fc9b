// SPDX-License-Identifier: Apache-2.0
//
// The flags that `compile`, `train` and `inspect` share, and what they make of them.
#ifndef ECHELON_TOOLS_ECHELON_COMPILE_FLAGS_H
#define ECHELON_TOOLS_ECHELON_COMPILE_FLAGS_H

#include "compiler/options.h"
#include "tools/echelon/flags.h"

namespace echelon {

struct CompileFlags {
  std::vector<std::string> model;
  std::string spec, batches, dumpTo, compileTo, compileFrom, cpu, features;
  std::vector<std::string> overrides;
  int64_t micro = 0, accumulate = 0, seed = -1;
  bool checkNumerics = false;
  bool report = false;
  bool timing = false;

  void declare(Flags &flags);
  /// --compile-to, for the command that ends with what is compiled.
  void declareStop(Flags &flags);
};

/// Spec, flags and the shapes of --batches become options. `output` is left empty.
llvm::Expected<CompileOptions> compileOptions(const CompileFlags &flags);

/// Prints what --report and --timing ask for to stderr.
void printCompileResult(const CompileFlags &flags, const struct CompileResult &result);

} // namespace echelon

#endif

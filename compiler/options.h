// SPDX-License-Identifier: Apache-2.0
//
// What a compilation is asked for.
#ifndef ECHELON_COMPILER_OPTIONS_H
#define ECHELON_COMPILER_OPTIONS_H

#include "compiler/codegen/codegen.h"
#include "compiler/spec/training_spec.h"
#include "passes/contracts.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace echelon {

struct CompileOptions {
  std::string model;  ///< ONNX file, or a dump of a phase with compileFrom
  std::string output; ///< the training binary
  TrainingSpec spec;
  std::map<std::string, std::vector<int64_t>> inputShapes; ///< of a microbatch, from --batches
  std::string dumpTo;                 ///< folder for <model>.<n>.<phase>.mlir; empty: none
  std::optional<Phase> compileTo;     ///< stop after this phase; the IR goes to `output`
  std::optional<Phase> compileFrom;   ///< the model is the IR that this phase left
  bool checkNumerics = false;
  EmitOptions emit;
  std::string libraryDirectory; ///< where the runtime and kernel archives are
};

} // namespace echelon

#endif

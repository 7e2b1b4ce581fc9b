// SPDX-License-Identifier: Apache-2.0
//
// The front door: model and training spec in, training binary out.
#ifndef ECHELON_COMPILER_COMPILE_H
#define ECHELON_COMPILER_COMPILE_H

#include "compiler/onnx/importer.h"
#include "compiler/options.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace echelon {

/// Seconds of each step, for --timing and inspect.
struct CompileTimes {
  std::vector<std::pair<std::string, double>> steps;
};

struct CompileResult {
  ImportReport report;
  CompileTimes times;
  std::string modelFolder; ///< absolute; weight files are relative to it
  int64_t micro = 0;
  std::string planHash;
  int64_t peakBytes = 0, lowerBoundBytes = 0; ///< activations: packed and least possible
};

/// Compiles to `options.output`. Errors: one text, ready to print, with all diagnostics of the phase that failed;
/// nothing is left half written. A failed write carries its errno (exit code 74). A fault of ours says so.
llvm::Expected<CompileResult> compileModel(const CompileOptions &options);

/// Imports and runs the phases up to and including `last`; the module lives in `context`.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> compileToPhase(const CompileOptions &options, Phase last,
                                                                 mlir::MLIRContext &context, CompileResult &result);

/// Takes a module after fusion as far as every buffer has its place, for inspection.
llvm::Error lowerToBuffers(mlir::ModuleOp module, const CompileOptions &options);

/// Registers every dialect that compilation uses.
void registerDialects(mlir::MLIRContext &context);

} // namespace echelon

#endif

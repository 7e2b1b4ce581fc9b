// SPDX-License-Identifier: Apache-2.0
//
// `echelon inspect`: what a model is and what training it takes.
#include "tools/echelon/inspect_command.h"

#include "compiler/compile.h"
#include "compiler/report/report.h"
#include "llvm/Support/raw_ostream.h"
#include "tools/echelon/compile_flags.h"

namespace echelon {

int runInspectCommand(llvm::ArrayRef<llvm::StringRef> args) {
  CompileFlags compile;
  bool buffers = false;
  Flags flags("inspect MODEL.onnx [flags]", "Shows a model's ops, parameters, FLOPs and memory.");
  compile.declare(flags);
  flags.boolean("--buffers", buffers, "list the bytes alive over the launches of a microbatch");
  flags.example("echelon inspect gpt.onnx --train train.json --micro 8");
  if (int code = parseOrExit(flags, args); code >= 0)
    return code;
  llvm::Expected<CompileOptions> options = compileOptions(compile);
  if (!options)
    return reportError(options.takeError());
  if (options->compileFrom == Phase::Lowering) // its ops are machine code by then
    return reportError(llvm::createStringError(
        llvm::inconvertibleErrorCode(),
        "'" + options->model + "': a dump of the lowering phase has no ops to show; inspect one of the fusion phase"));
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  CompileResult result;
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> module =
      compileToPhase(*options, Phase::Fusion, context, result);
  if (!module)
    return reportError(module.takeError());
  llvm::outs() << result.report.text() << describeParameters(**module) << describeOps(**module);
  if (llvm::Error error = lowerToBuffers(**module, *options))
    return reportError(std::move(error));
  llvm::outs() << describeMemory(**module, buffers);
  return 0;
}

} // namespace echelon

// SPDX-License-Identifier: Apache-2.0
//
// `echelon compile`: model and spec to a training binary.
#include "tools/echelon/compile_command.h"

#include "compiler/compile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include "tools/echelon/compile_flags.h"

namespace echelon {

int runCompileCommand(llvm::ArrayRef<llvm::StringRef> args) {
  CompileFlags compile;
  std::string output;
  Flags flags("compile MODEL.onnx [flags] -o BINARY", "Compiles a model and a training spec into one training binary.");
  compile.declare(flags);
  compile.declareStop(flags);
  flags.text("-o", "FILE", output, "the training binary, or the IR with --compile-to");
  flags.required();
  flags.example("echelon compile gpt.onnx --train train.json -o gpt.train");
  flags.example("echelon compile gpt.onnx --train train.json --compile-to training -o gpt.mlir");
  flags.example("./gpt.train --data text.bin --steps 1000 --out run1");
  if (int code = parseOrExit(flags, args); code >= 0)
    return code;
  llvm::Expected<CompileOptions> options = compileOptions(compile);
  if (!options)
    return reportError(options.takeError());
  options->output = output;
  llvm::Expected<CompileResult> result = compileModel(*options);
  if (!result)
    return reportError(result.takeError());
  printCompileResult(compile, *result);
  uint64_t bytes = 0;
  llvm::sys::fs::file_size(output, bytes);
  llvm::outs() << "wrote " << output << " (" << withThousands(bytes) << " bytes)";
  if (!result->planHash.empty())
    llvm::outs() << ", plan " << result->planHash;
  if (result->lowerBoundBytes > 0)
    llvm::outs() << ", activations " << withThousands(result->peakBytes) << " bytes packed, lower bound "
                 << withThousands(result->lowerBoundBytes)
                 << llvm::format(" (%.3f)", double(result->peakBytes) / double(result->lowerBoundBytes));
  llvm::outs() << "\n";
  return 0;
}

} // namespace echelon

// SPDX-License-Identifier: Apache-2.0
//
// `echelon train`: compile, then become the training binary.
#include "tools/echelon/train_command.h"

#include "compiler/compile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "tools/echelon/compile_flags.h"
#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace echelon {

namespace {

/// Flags that are the training binary's own; they are handed on as they are.
struct RunFlags {
  struct Text {
    const char *flag, *value, *help;
    std::string given;
  };
  Text texts[17] = {
      {"--data", "FILE", "token file", ""},
      {"--token-dtype", "TYPE", "uint16 or uint32 (default: by the file's name)", ""},
      {"--steps", "N", "optimizer steps", ""},
      {"--weights", "FILE", "first values from another file", ""},
      {"--out", "DIR", "save parameters and optimizer state here", ""},
      {"--save-every", "N", "save each N steps", ""},
      {"--resume", "DIR", "continue from a saved step", ""},
      {"--eval-data", "FILE", "held-out token file", ""},
      {"--eval-every", "N", "evaluate each N steps", ""},
      {"--eval-batches", "N", "microbatches of an evaluation", ""},
      {"--sample", "N", "print N generated tokens at the end", ""},
      {"--prompt", "TEXT", "what the sample continues", ""},
      {"--metrics", "FILE", "one JSON object a step", ""},
      {"--gradient-norms", "FILE", "gradient norm of each parameter in the first step", ""},
      {"--log-every", "N", "a log line each N steps", ""},
      {"--threads", "N", "worker threads", ""},
      {"--peak-tflops", "X", "peak for MFU (default: what echelon doctor measured)", ""},
  };
  void declare(Flags &flags) {
    for (Text &text : texts)
      if (text.flag)
        flags.text(text.flag, text.value, text.given, text.help);
  }
};

std::string quoted(llvm::StringRef word) {
  bool plain = !word.empty() && llvm::all_of(word, [](char c) { return llvm::isAlnum(c) || strchr("-_./=,:@+", c); });
  return plain ? word.str() : "'" + word.str() + "'";
}

std::string joined(llvm::ArrayRef<std::string> words) {
  std::string line;
  for (const std::string &word : words)
    line += (line.empty() ? "" : " ") + quoted(word);
  return line;
}

/// The compile command that does the first half of this one.
std::string compileCommand(const CompileFlags &compile, const std::string &output) {
  std::vector<std::string> words = {"echelon", "compile", compile.model.front()};
  auto add = [&](const char *flag, const std::string &value) {
    if (!value.empty())
      words.insert(words.end(), {flag, value});
  };
  add("--train", compile.spec);
  for (const std::string &value : compile.overrides)
    add("--set", value);
  add("--batches", compile.batches);
  add("--micro", compile.micro ? std::to_string(compile.micro) : "");
  add("--accumulate", compile.accumulate ? std::to_string(compile.accumulate) : "");
  add("--seed", compile.seed >= 0 ? std::to_string(compile.seed) : "");
  if (compile.checkNumerics)
    words.push_back("--check-numerics");
  add("--compile-from", compile.compileFrom);
  add("--dump-to", compile.dumpTo);
  add("--target-cpu", compile.cpu);
  add("--target-features", compile.features);
  add("-o", output);
  return joined(words);
}

} // namespace

int runTrainCommand(llvm::ArrayRef<llvm::StringRef> args) {
  CompileFlags compile;
  RunFlags run;
  std::string output;
  bool printOnly = false;
  Flags flags("train MODEL.onnx [flags]", "Compiles a model and runs the training binary.");
  compile.declare(flags);
  run.declare(flags);
  flags.text("-o", "FILE", output, "keep the training binary here (default: ./<model>.train)");
  flags.boolean("--print-config", printOnly, "print every resolved value of the spec with its origin, and stop");
  flags.example("echelon train gpt.onnx --train train.json --data text.bin --steps 1000 --out run1");
  flags.example("echelon train m.onnx --train train.json --batches b.safetensors --metrics out.jsonl");
  if (int code = parseOrExit(flags, args); code >= 0)
    return code;
  llvm::Expected<CompileOptions> options = compileOptions(compile);
  if (!options)
    return reportError(options.takeError());
  if (printOnly) {
    llvm::outs() << printConfig(options->spec);
    return 0;
  }
  if (output.empty())
    output = "./" + llvm::sys::path::stem(compile.model.front()).str() + ".train";
  options->output = output;

  llvm::SmallString<128> binary(output);
  llvm::sys::fs::make_absolute(binary);
  std::vector<std::string> words = {llvm::StringRef(output).contains('/') ? output : "./" + output};
  auto add = [&](const char *flag, const std::string &value) {
    if (!value.empty())
      words.insert(words.end(), {flag, value});
  };
  for (const RunFlags::Text &text : run.texts)
    if (text.flag)
      add(text.flag, text.given);
  add("--batches", compile.batches);
  if (compile.checkNumerics)
    words.push_back("--check-numerics");

  llvm::errs() << compileCommand(compile, output) << "\n";
  llvm::Expected<CompileResult> result = compileModel(*options);
  if (!result)
    return reportError(result.takeError());
  printCompileResult(compile, *result);
  llvm::errs() << joined(words) << "\n";
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(binary.c_str(), arguments.data());
  llvm::errs() << "error: cannot run '" << binary << "': " << std::strerror(errno) << "\n";
  return 1;
}

} // namespace echelon

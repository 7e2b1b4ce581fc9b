// SPDX-License-Identifier: Apache-2.0
//
// Shared flags of the commands that compile.
#include "tools/echelon/compile_flags.h"

#include "compiler/batch_shapes.h"
#include "compiler/compile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace echelon {

static std::vector<std::string> phaseNames() {
  std::vector<std::string> names;
  for (Phase phase : kPhases)
    names.push_back(phaseName(phase).str());
  return names;
}

void CompileFlags::declareStop(Flags &flags) {
  flags.choice("--compile-to", "PHASE", compileTo, phaseNames(), "stop after this phase and write its IR");
}

void CompileFlags::declare(Flags &flags) {
  flags.text("--train", "FILE", spec, "training spec (docs/reference/train.md)");
  flags.list("--set", "KEY=VALUE", overrides, "set one key of the spec");
  flags.text("--batches", "FILE", batches, "explicit batches; their shapes bind the model's symbols");
  flags.integer("--micro", "N", micro, 1, int64_t(1) << 40, "rows of a microbatch (batch.micro)");
  flags.integer("--accumulate", "N", accumulate, 1, int64_t(1) << 30, "microbatches a step (batch.accumulate)");
  flags.integer("--seed", "N", seed, 0, int64_t(1) << 53, "seed of data order and initial values");
  flags.boolean("--check-numerics", checkNumerics, "name the first op whose result is not finite (slow)");
  flags.text("--dump-to", "DIR", dumpTo, "write the IR after each phase");
  flags.choice("--compile-from", "PHASE", compileFrom, phaseNames(), "the model is the IR that this phase left");
  flags.text("--target-cpu", "CPU", cpu, "generate code for this CPU (default: this machine's)");
  flags.text("--target-features", "LIST", features, "with --target-cpu: LLVM feature list");
  flags.boolean("--report", report, "print the import report");
  flags.boolean("--timing", timing, "print the seconds of each compilation step");
  flags.positional("MODEL.onnx", 1, 1, model);
}

/// The flag's parser has refused other names.
static std::optional<Phase> phaseOf(llvm::StringRef name) {
  for (Phase phase : kPhases)
    if (phaseName(phase) == name)
      return phase;
  return std::nullopt;
}

/// bin/echelon -> lib (build tree) or lib/echelon (installed).
static std::string findLibraries() {
  std::string executable = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
  llvm::StringRef root = llvm::sys::path::parent_path(llvm::sys::path::parent_path(executable));
  llvm::SmallString<128> installed(root), built(root);
  llvm::sys::path::append(installed, "lib", "echelon");
  llvm::sys::path::append(built, "lib");
  llvm::SmallString<128> probe(installed);
  llvm::sys::path::append(probe, "libechelon_runtime.a");
  return (llvm::sys::fs::exists(probe) ? installed : built).str().str();
}

llvm::Expected<CompileOptions> compileOptions(const CompileFlags &flags) {
  CompileOptions options;
  std::vector<std::string> overrides = flags.overrides;
  if (flags.micro)
    overrides.push_back("batch.micro=" + std::to_string(flags.micro));
  if (flags.accumulate)
    overrides.push_back("batch.accumulate=" + std::to_string(flags.accumulate));
  if (flags.seed >= 0)
    overrides.push_back("seed=" + std::to_string(flags.seed));
  llvm::Expected<TrainingSpec> spec = loadTrainingSpec(flags.spec, overrides);
  if (!spec)
    return spec.takeError();
  options.spec = std::move(*spec);
  options.model = flags.model.front();
  options.dumpTo = flags.dumpTo;
  options.checkNumerics = flags.checkNumerics;
  options.emit.cpu = flags.cpu;
  options.emit.features = flags.features;
  options.libraryDirectory = findLibraries();
  options.compileTo = phaseOf(flags.compileTo);
  options.compileFrom = phaseOf(flags.compileFrom);
  if (!flags.batches.empty()) {
    llvm::Expected<BatchShapes> shapes =
        readBatchShapes(flags.batches, options.spec.batch.micro, options.spec.batch.accumulate);
    if (!shapes)
      return shapes.takeError();
    options.inputShapes = std::move(shapes->inputs);
    options.spec.batch.micro = shapes->micro;
    options.spec.batch.accumulate = shapes->accumulate;
  }
  return options;
}

void printCompileResult(const CompileFlags &flags, const CompileResult &result) {
  if (flags.report)
    llvm::errs() << result.report.text();
  if (!flags.timing)
    return;
  double total = 0;
  for (const auto &[name, seconds] : result.times.steps) {
    llvm::errs() << llvm::format("  %-14s %7.3f s\n", name.c_str(), seconds);
    total += seconds;
  }
  llvm::errs() << llvm::format("  %-14s %7.3f s\n", (const char *)"total", total);
}

} // namespace echelon

// SPDX-License-Identifier: Apache-2.0
//
// Runs the phases and writes the binary. Diagnostics are gathered and returned as one text.
#include "compiler/compile.h"

#include "compiler/pipeline.h"
#include "compiler/spec/output_file.h"
#include "dialects/exec/exec_dialect.h"
#include "dialects/graph/graph_dialect.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include <chrono>

using namespace mlir;
using namespace llvm;

namespace echelon {

static Error compileError(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

namespace {

/// Gathers what passes report, with the ONNX node and the user's Python line of each place.
class DiagnosticText {
public:
  explicit DiagnosticText(MLIRContext &context)
      : handler(&context, [this](Diagnostic &diagnostic) {
          add(diagnostic, diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error ? "" : "note: ");
          for (Diagnostic &note : diagnostic.getNotes())
            add(note, "  note: ");
          return success();
        }) {}

  std::string text;

private:
  void add(Diagnostic &diagnostic, StringRef prefix) {
    if (!text.empty())
      text += "\n";
    text += prefix.str() + diagnostic.str();
    std::string place = describeLocation(diagnostic.getLocation());
    auto file = dyn_cast<FileLineColLoc>(diagnostic.getLocation());
    bool isWholeModel = file && file.getLine() == 0;
    if (!isa<UnknownLoc>(diagnostic.getLocation()) && !isWholeModel && !place.empty())
      text += "\n  at " + place;
  }
  ScopedDiagnosticHandler handler;
};

class StepTimer {
public:
  StepTimer(CompileTimes &times, StringRef name)
      : times(times), name(name), start(std::chrono::steady_clock::now()) {}
  ~StepTimer() {
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    times.steps.emplace_back(name.str(), elapsed.count());
  }

private:
  CompileTimes &times;
  StringRef name;
  std::chrono::steady_clock::time_point start;
};

std::string absoluteFolder(StringRef file) {
  SmallString<128> path(file);
  sys::fs::make_absolute(path);
  sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return sys::path::parent_path(path).str();
}

/// A dump names weight files as the model does; this attribute leads from the dump's folder to the model's.
constexpr StringLiteral kModelFolder = "graph.model_folder";

Error writeModule(ModuleOp module, StringRef modelFolder, StringRef path) {
  Builder builder(module.getContext());
  module->setAttr(kModelFolder, builder.getStringAttr(relativePath(absoluteFolder(path), modelFolder)));
  auto clean = make_scope_exit([&] { module->removeAttr(kModelFolder); });
  return writeWholeFile(path, [&](raw_ostream &out) {
    OpPrintingFlags flags;
    flags.enableDebugInfo(true, /*prettyForm=*/false);
    module.print(out, flags);
    out << "\n";
    return Error::success();
  });
}

Error dump(ModuleOp module, const CompileOptions &options, const CompileResult &result, Phase phase) {
  if (options.dumpTo.empty())
    return Error::success();
  if (std::error_code code = sys::fs::create_directories(options.dumpTo, true, sys::fs::all_all))
    return makeWriteError(options.dumpTo, code);
  SmallString<128> path(options.dumpTo);
  sys::path::append(path, sys::path::stem(options.model) + "." + Twine(unsigned(phase)) + "." +
                              phaseName(phase) + ".mlir");
  return writeModule(module, result.modelFolder, path);
}

/// Options that a phase behind the dump has read cannot change any more.
Error checkAgainstDump(ModuleOp module, const CompileOptions &options) {
  Phase phase = *options.compileFrom;
  std::string place = ("'" + options.model + "', a dump of the " + phaseName(phase) + " phase, ").str();
  auto batch = module->getAttrOfType<IntegerAttr>("graph.batch");
  if (phase >= Phase::Training && batch && options.spec.batch.micro > 0 &&
      options.spec.batch.micro != batch.getInt())
    return compileError(place + "has microbatches of " + Twine(batch.getInt()) + " rows, but batch.micro is " +
                        Twine(options.spec.batch.micro) + "; start from the import phase to change it");
  auto plan = module->getAttrOfType<StringAttr>("dist.plan");
  if (phase >= Phase::Planning && plan) {
    Expected<json::Value> tree = json::parse(plan.getValue());
    if (!tree)
      return compileError(place + "has a plan that is no JSON: " + toString(tree.takeError()));
    const json::Object *root = tree->getAsObject(), *rows = root ? root->getObject("batch") : nullptr;
    std::optional<int64_t> accumulate = rows ? rows->getInteger("accumulate") : std::nullopt;
    if (accumulate && *accumulate != options.spec.batch.accumulate)
      return compileError(place + "accumulates " + Twine(*accumulate) + " microbatches, but batch.accumulate is " +
                          Twine(options.spec.batch.accumulate) + "; start from an earlier phase to change it");
  }
  if (phase == Phase::Lowering && options.checkNumerics)
    return compileError(place + "is past the place of --check-numerics; start from the fusion phase");
  return Error::success();
}

/// Takes what only dumps have out of the module and checks the options against it.
Expected<OwningOpRef<ModuleOp>> finishDump(OwningOpRef<ModuleOp> module, const CompileOptions &options,
                                           CompileResult &result) {
  SmallString<128> folder(absoluteFolder(options.model));
  if (auto steps = (*module)->getAttrOfType<StringAttr>(kModelFolder))
    sys::path::append(folder, steps.getValue());
  sys::path::remove_dots(folder, /*remove_dot_dot=*/true);
  result.modelFolder = folder.str().str();
  (*module)->removeAttr(kModelFolder);
  if (Error error = checkAgainstDump(*module, options))
    return error;
  return module;
}

Expected<OwningOpRef<ModuleOp>> loadDump(const CompileOptions &options, MLIRContext &context,
                                         CompileResult &result) {
  Phase phase = *options.compileFrom;
  if (options.compileTo && *options.compileTo <= phase)
    return compileError("--compile-to " + phaseName(*options.compileTo) + " is not after --compile-from " +
                        phaseName(phase));
  DiagnosticText diagnostics(context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(options.model, &context);
  if (module && module->getBody()->empty())
    module->emitError() << "it is empty";
  else if (module && succeeded(checkContract(*module, phase)))
    return finishDump(std::move(module), options, result);
  return compileError("cannot read '" + options.model + "' as a dump of the " + phaseName(phase) + " phase:\n" +
                      diagnostics.text);
}

Expected<OwningOpRef<ModuleOp>> loadInput(const CompileOptions &options, MLIRContext &context,
                                          CompileResult &result) {
  StepTimer timer(result.times, "import");
  if (options.compileFrom)
    return loadDump(options, context, result);
  result.modelFolder = absoluteFolder(options.model);
  ImportOptions import;
  import.symbols = options.spec.symbols;
  import.inputShapes = options.inputShapes;
  if (options.spec.batch.micro > 0)
    import.micro = options.spec.batch.micro;
  import.tie = options.spec.parameters.tie;
  for (const std::string &name : options.spec.parameters.split)
    import.split.push_back({name});
  import.trainable = options.spec.parameters.trainable;
  import.frozen = options.spec.parameters.frozen;
  import.honoursDropout = options.spec.dropout == TrainingSpec::Dropout::Honour;
  return importModel(options.model, import, context, result.report);
}

/// Replaces first values by the rule of parameters.init; rank 0 and 1 keep the model's.
void applyInit(ModuleOp module, const InitSpec &init) {
  if (init.kind == InitSpec::Kind::Model)
    return;
  Builder builder(module.getContext());
  for (auto variable : module.getOps<graph::VariableOp>()) {
    auto type = cast<RankedTensorType>(variable.getType());
    if (variable.getVariableClass() != graph::VariableClass::Parameter || !variable.getTrainable() ||
        type.getRank() < 2)
      continue;
    auto rule = [&](graph::InitKind kind, double a, double b) {
      variable.setFirstAttr(graph::InitAttr::get(module.getContext(), kind, builder.getF64FloatAttr(a),
                                                 builder.getF64FloatAttr(b)));
    };
    // Uniform of the same standard deviation; Xavier: Glorot and Bengio 2010, on the last two dims.
    double half = init.std * std::sqrt(3.0);
    double fan = double(type.getDimSize(type.getRank() - 1) + type.getDimSize(type.getRank() - 2));
    double glorot = std::sqrt(6.0 / fan);
    switch (init.kind) {
    case InitSpec::Kind::Model: break;
    case InitSpec::Kind::Normal: rule(graph::InitKind::Normal, 0, init.std); break;
    case InitSpec::Kind::Uniform: rule(graph::InitKind::Uniform, -half, half); break;
    case InitSpec::Kind::Xavier: rule(graph::InitKind::Uniform, -glorot, glorot); break;
    case InitSpec::Kind::Zeros: rule(graph::InitKind::Constant, 0, 0); break;
    case InitSpec::Kind::Ones: rule(graph::InitKind::Constant, 1, 0); break;
    }
  }
}

Error runPhase(ModuleOp module, const CompileOptions &options, Phase phase, CompileResult &result) {
  StepTimer timer(result.times, phaseName(phase));
  DiagnosticText diagnostics(*module.getContext());
  PassManager passes(module.getContext());
  passes.enableVerifier(true);
  addPhase(passes, phase, options);
  if (failed(passes.run(module)) || failed(checkContract(module, phase)))
    return compileError(diagnostics.text.empty()
                            ? "internal: the " + phaseName(phase) + " phase failed without a message"
                            : Twine(diagnostics.text));
  return dump(module, options, result, phase);
}

/// A failed write of an intermediate file is told of the output.
Error asWriteError(Error error, StringRef output) {
  return handleErrors(std::move(error), [&](std::unique_ptr<StringError> fault) -> Error {
    std::error_code code = fault->convertToErrorCode();
    return code == inconvertibleErrorCode() ? Error(std::move(fault)) : makeWriteError(output, code);
  });
}

/// Looked at before the work, not after it.
Error checkOutput(StringRef output) {
  if (sys::fs::is_directory(output))
    return makeWriteError(output, std::make_error_code(std::errc::is_a_directory));
  std::string folder = absoluteFolder(output);
  if (!sys::fs::is_directory(folder))
    return makeWriteError(output, std::make_error_code(sys::fs::exists(folder) ? std::errc::not_a_directory
                                                                               : std::errc::no_such_file_or_directory));
  return Error::success();
}

Error emitBinary(ModuleOp module, const CompileOptions &options, CompileResult &result) {
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  auto hash = module->getAttrOfType<StringAttr>("dist.plan_hash");
  auto plan = module->getAttrOfType<StringAttr>("dist.plan");
  auto model = module->getAttrOfType<StringAttr>("graph.model");
  if (!hash || !plan)
    return compileError("internal: the module has no plan");
  ProgramFacts facts;
  facts.model = model ? model.str() : sys::path::filename(options.model).str();
  facts.compiler = "echelon " ECHELON_VERSION;
  facts.planHash = hash.str();
  facts.planJson = plan.str();
  facts.modelDirectory = result.modelFolder;
  facts.binaryDirectory = absoluteFolder(options.output);
  facts.micro = result.micro;
  facts.accumulate = options.spec.batch.accumulate;
  facts.seed = options.spec.seed;

  LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> llvmModule;
  SmallString<128> object(options.output), unfinished(options.output);
  object += ".tmp.o";
  unfinished += ".tmp";
  auto clean = make_scope_exit([&] {
    sys::fs::remove(object);
    sys::fs::remove(unfinished);
  });
  {
    StepTimer timer(result.times, "translate");
    // The variables are read by addProgramTable; LLVM IR has no place for them.
    OwningOpRef<ModuleOp> code(cast<ModuleOp>(module->clone()));
    for (auto variable : make_early_inc_range(code->getOps<graph::VariableOp>()))
      variable.erase();
    code->getOperation()->setAttrs(ArrayRef<NamedAttribute>{});
    llvmModule = translateModuleToLLVMIR(*code, llvmContext, "program");
    if (!llvmModule)
      return compileError("internal: translation to LLVM IR failed");
    if (Error error = addProgramTable(*llvmModule, module, facts))
      return error;
  }
  {
    StepTimer timer(result.times, "codegen");
    SmallVector<std::string> undefined;
    if (Error error = emitObject(*llvmModule, options.emit, object, undefined))
      return asWriteError(std::move(error), options.output);
    for (StringRef symbol : undefined)
      if (!symbol.starts_with("ech_") && symbol != "memcpy" && symbol != "memset" && symbol != "memmove")
        return compileError("internal: compiled code needs the symbol '" + symbol +
                            "', which is not in the contract");
  }
  StepTimer timer(result.times, "link");
  if (Error error = linkBinary(object, options.libraryDirectory, unfinished))
    return asWriteError(std::move(error), options.output);
  if (std::error_code code = sys::fs::rename(unfinished, options.output))
    return makeWriteError(options.output, code);
  return Error::success();
}

} // namespace

void registerDialects(MLIRContext &context) {
  context.loadDialect<func::FuncDialect, graph::GraphDialect, exec::ExecDialect, LLVM::LLVMDialect,
                      arith::ArithDialect, cf::ControlFlowDialect>();
}

Expected<OwningOpRef<ModuleOp>> compileToPhase(const CompileOptions &options, Phase last, MLIRContext &context,
                                               CompileResult &result) {
  registerDialects(context);
  context.printOpOnDiagnostic(false);
  Expected<OwningOpRef<ModuleOp>> module = loadInput(options, context, result);
  if (!module)
    return module.takeError();
  if (!options.compileFrom) {
    applyInit(**module, options.spec.parameters.init);
    if (failed(checkContract(**module, Phase::Import)))
      return compileError("internal: the importer left IR that breaks its contract");
    if (Error error = dump(**module, options, result, Phase::Import))
      return error;
  }
  for (Phase phase : kPhases) {
    if (phase == Phase::Import || (options.compileFrom && phase <= *options.compileFrom) || phase > last)
      continue;
    if (Error error = runPhase(**module, options, phase, result))
      return error;
  }
  if (auto batch = (**module)->getAttrOfType<IntegerAttr>("graph.batch"))
    result.micro = batch.getInt();
  if (auto hash = (**module)->getAttrOfType<StringAttr>("dist.plan_hash"))
    result.planHash = hash.str();
  if (auto packing = (**module)->getAttrOfType<DictionaryAttr>("exec.packing")) {
    result.peakBytes = cast<IntegerAttr>(packing.get("peak")).getInt();
    result.lowerBoundBytes = cast<IntegerAttr>(packing.get("lower_bound")).getInt();
  }
  return module;
}

Error lowerToBuffers(ModuleOp module, const CompileOptions &options) {
  DiagnosticText diagnostics(*module.getContext());
  PassManager passes(module.getContext());
  addBufferPasses(passes, options);
  return failed(passes.run(module)) ? compileError(diagnostics.text) : Error::success();
}

Expected<CompileResult> compileModel(const CompileOptions &options) {
  CompileResult result;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  Phase last = options.compileTo.value_or(Phase::Lowering);
  if (Error error = checkOutput(options.output))
    return error;
  Expected<OwningOpRef<ModuleOp>> module = compileToPhase(options, last, context, result);
  if (!module)
    return module.takeError();
  Error error = options.compileTo ? writeModule(**module, result.modelFolder, options.output)
                                  : emitBinary(**module, options, result);
  if (error)
    return error;
  return result;
}

} // namespace echelon

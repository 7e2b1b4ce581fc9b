// SPDX-License-Identifier: Apache-2.0
//
// Runs the phases and writes the binary. Diagnostics are gathered and returned as one text.
#include "compiler/compile.h"

#include "compiler/pipeline.h"
#include "dialects/exec/exec_dialect.h"
#include "dialects/graph/graph_dialect.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"
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
    if (!isa<UnknownLoc>(diagnostic.getLocation()) && !place.empty())
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

Error writeModule(ModuleOp module, StringRef path) {
  std::error_code code;
  ToolOutputFile out(path, code, sys::fs::OF_None);
  if (code)
    return compileError("cannot write '" + path + "': " + code.message());
  OpPrintingFlags flags;
  flags.enableDebugInfo(true, /*prettyForm=*/false);
  module.print(out.os(), flags);
  out.os() << "\n";
  out.keep();
  return Error::success();
}

Error dump(ModuleOp module, const CompileOptions &options, Phase phase) {
  if (options.dumpTo.empty())
    return Error::success();
  if (std::error_code code = sys::fs::create_directories(options.dumpTo))
    return compileError("cannot make the folder '" + options.dumpTo + "': " + code.message());
  SmallString<128> path(options.dumpTo);
  sys::path::append(path, sys::path::stem(options.model) + "." + Twine(unsigned(phase)) + "." +
                              phaseName(phase) + ".mlir");
  return writeModule(module, path);
}

Expected<OwningOpRef<ModuleOp>> loadInput(const CompileOptions &options, MLIRContext &context,
                                          CompileResult &result) {
  StepTimer timer(result.times, "import");
  if (options.compileFrom) {
    DiagnosticText diagnostics(context);
    OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(options.model, &context);
    if (!module)
      return compileError("cannot read '" + options.model + "' as a dump of the " +
                          phaseName(*options.compileFrom) + " phase:\n" + diagnostics.text);
    return std::move(module);
  }
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
  return dump(module, options, phase);
}

Error emitBinary(ModuleOp module, const CompileOptions &options, CompileResult &result) {
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  auto hash = module->getAttrOfType<StringAttr>("dist.plan_hash");
  auto plan = module->getAttrOfType<StringAttr>("dist.plan");
  auto model = module->getAttrOfType<StringAttr>("graph.model");
  if (!hash || !plan)
    return compileError("internal: the module has no plan");
  SmallString<128> modelPath(options.model), outputPath(options.output);
  sys::fs::make_absolute(modelPath);
  sys::fs::make_absolute(outputPath);
  sys::path::remove_dots(modelPath, /*remove_dot_dot=*/true);
  sys::path::remove_dots(outputPath, /*remove_dot_dot=*/true);
  ProgramFacts facts;
  facts.model = model ? model.str() : sys::path::filename(options.model).str();
  facts.compiler = "echelon " ECHELON_VERSION;
  facts.planHash = hash.str();
  facts.planJson = plan.str();
  facts.modelDirectory = sys::path::parent_path(modelPath).str();
  facts.binaryDirectory = sys::path::parent_path(outputPath).str();
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
      return error;
    for (StringRef symbol : undefined)
      if (!symbol.starts_with("ech_") && symbol != "memcpy" && symbol != "memset" && symbol != "memmove")
        return compileError("internal: compiled code needs the symbol '" + symbol +
                            "', which is not in the contract");
  }
  StepTimer timer(result.times, "link");
  if (Error error = linkBinary(object, options.libraryDirectory, unfinished))
    return error;
  if (std::error_code code = sys::fs::rename(unfinished, options.output))
    return compileError("cannot write '" + options.output + "': " + code.message());
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
    if (Error error = dump(**module, options, Phase::Import))
      return std::move(error);
  }
  for (Phase phase : kPhases) {
    if (phase == Phase::Import || (options.compileFrom && phase <= *options.compileFrom) || phase > last)
      continue;
    if (Error error = runPhase(**module, options, phase, result))
      return std::move(error);
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
  Expected<OwningOpRef<ModuleOp>> module = compileToPhase(options, last, context, result);
  if (!module)
    return module.takeError();
  Error error = options.compileTo ? writeModule(**module, options.output) : emitBinary(**module, options, result);
  if (error)
    return std::move(error);
  return result;
}

} // namespace echelon

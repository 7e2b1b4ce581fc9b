// SPDX-License-Identifier: Apache-2.0
//
// LLVM IR to an object file for one CPU.
#include "compiler/codegen/codegen.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace llvm;

namespace echelon {

static Error emitError(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

static std::string hostFeatures() {
  SubtargetFeatures features;
  for (const auto &feature : sys::getHostCPUFeatures())
    features.AddFeature(feature.first(), feature.second);
  // The map has no order of its own; equal machines must give equal binaries.
  std::vector<std::string> sorted = features.getFeatures();
  llvm::sort(sorted);
  return join(sorted, ",");
}

static Expected<std::unique_ptr<TargetMachine>> makeTarget(const EmitOptions &options) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  std::string triple = sys::getDefaultTargetTriple(), message;
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return emitError("no code generator for this machine: " + message);
  bool host = options.cpu.empty();
  std::unique_ptr<MCSubtargetInfo> known(target->createMCSubtargetInfo(triple, "", ""));
  if (!host && known && !known->isCPUStringValid(options.cpu))
    return emitError("--target-cpu: '" + options.cpu + "' is no CPU of " + triple +
                     "; `clang-19 --target=" + triple + " -print-supported-cpus` lists them");
  std::unique_ptr<TargetMachine> machine(target->createTargetMachine(
      triple, host ? sys::getHostCPUName() : StringRef(options.cpu), host ? hostFeatures() : options.features,
      TargetOptions(), Reloc::PIC_, std::nullopt,
      options.optimize >= 2 ? CodeGenOptLevel::Default : CodeGenOptLevel::Less));
  if (!machine)
    return emitError("cannot make a code generator for '" + triple + "'");
  return machine;
}

static void optimizeModule(Module &module, TargetMachine &machine, unsigned level) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager callGraph;
  ModuleAnalysisManager modules;
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = false;
  PassBuilder passes(&machine, tuning);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(callGraph);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, callGraph, modules);
  passes.buildPerModuleDefaultPipeline(level >= 2 ? OptimizationLevel::O2 : OptimizationLevel::O1)
      .run(module, modules);
}

static Error listUndefined(StringRef path, SmallVectorImpl<std::string> &undefined) {
  Expected<object::OwningBinary<object::ObjectFile>> file = object::ObjectFile::createObjectFile(path);
  if (!file)
    return file.takeError();
  for (const object::SymbolRef &symbol : file->getBinary()->symbols()) {
    Expected<uint32_t> flags = symbol.getFlags();
    if (!flags)
      return flags.takeError();
    if (!(*flags & object::SymbolRef::SF_Undefined))
      continue;
    Expected<StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    if (!name->empty())
      undefined.push_back(name->str());
  }
  return Error::success();
}

Error emitObject(Module &module, const EmitOptions &options, StringRef path, SmallVectorImpl<std::string> &undefined) {
  Expected<std::unique_ptr<TargetMachine>> machine = makeTarget(options);
  if (!machine)
    return machine.takeError();
  module.setTargetTriple((*machine)->getTargetTriple().str());
  module.setDataLayout((*machine)->createDataLayout());
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", (*machine)->getTargetCPU());
    function.addFnAttr("target-features", (*machine)->getTargetFeatureString());
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr(Attribute::NoUnwind);
    // An entry is one long list of calls: nothing to gain, and some passes are not linear in it.
    if (function.getName().starts_with("echelon_")) {
      function.addFnAttr(Attribute::NoInline);
      function.addFnAttr(Attribute::OptimizeNone);
    }
  }
  optimizeModule(module, **machine, options.optimize);
  std::error_code code;
  {
    raw_fd_ostream out(path, code, sys::fs::OF_None);
    if (code)
      return createStringError(code, "cannot write '" + path + "': " + code.message());
    legacy::PassManager passes;
    if ((*machine)->addPassesToEmitFile(passes, out, nullptr, CodeGenFileType::ObjectFile))
      return emitError("the code generator cannot write objects");
    passes.run(module);
    out.flush();
    if (out.has_error()) {
      code = out.error();
      out.clear_error();
      return createStringError(code, "cannot write '" + path + "': " + code.message());
    }
  }
  return listUndefined(path, undefined);
}

} // namespace echelon

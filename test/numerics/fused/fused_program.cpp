// SPDX-License-Identifier: Apache-2.0
//
// Compiles and runs fused functions.
#include "test/numerics/fused/fused_program.h"
#include "compiler/codegen/codegen.h"
#include "dialects/exec/exec_dialect.h"
#include "dialects/graph/builders.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "passes/fusion/passes.h"
#include "passes/lowering/passes.h"
#include "test/numerics/fused/fused_reference.h"
#include "llvm/Support/FileSystem.h"
#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace echelon::graph;

namespace echelon::test {

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static size_t widthOf(Type element) { return element.isInteger(1) ? 1 : element.getIntOrFloatBitWidth() / 8; }

static int64_t lastElement(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  int64_t last = 0;
  for (auto [size, stride] : llvm::zip_equal(shape, strides))
    last += (size - 1) * stride;
  return last;
}

static void writeElement(char *at, Type element, double value) {
  if (element.isF32()) {
    float narrow = float(value);
    std::memcpy(at, &narrow, 4);
  } else if (element.isBF16()) {
    float narrow = float(value);
    uint32_t bits;
    std::memcpy(&bits, &narrow, 4);
    uint16_t high = uint16_t(bits >> 16);
    std::memcpy(at, &high, 2);
  } else if (element.isF64()) {
    std::memcpy(at, &value, 8);
  } else {
    int64_t whole = int64_t(value);
    std::memcpy(at, &whole, widthOf(element));
  }
}

static double readElement(const char *at, Type element) {
  if (element.isF32()) {
    float narrow;
    std::memcpy(&narrow, at, 4);
    return narrow;
  }
  if (element.isBF16()) {
    uint16_t high;
    std::memcpy(&high, at, 2);
    uint32_t bits = uint32_t(high) << 16;
    float wide;
    std::memcpy(&wide, &bits, 4);
    return wide;
  }
  if (element.isF64()) {
    double value;
    std::memcpy(&value, at, 8);
    return value;
  }
  int64_t whole = 0;
  std::memcpy(&whole, at, widthOf(element));
  return element.isInteger(32) ? double(int32_t(whole)) : double(whole);
}

void writeTensor(Memory &memory, RankedTensorType type, const std::vector<double> &values) {
  size_t width = widthOf(type.getElementType());
  memory.data.resize(std::max<size_t>(memory.data.size(), (lastElement(type.getShape(), memory.strides) + 1) * width));
  SmallVector<int64_t> index(type.getRank(), 0);
  for (double value : values) {
    writeElement(memory.data.data() + flatten(index, memory.strides) * width, type.getElementType(), value);
    advance(index, type.getShape());
  }
}

std::vector<double> readTensor(const Memory &memory, RankedTensorType type) {
  std::vector<double> values;
  SmallVector<int64_t> index(type.getRank(), 0);
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    values.push_back(readElement(memory.data.data() + flatten(index, memory.strides) * widthOf(type.getElementType()),
                                 type.getElementType()));
    advance(index, type.getShape());
  }
  return values;
}

FusedProgram::FusedProgram(const std::string &text, ProgramOptions options) : options(std::move(options)), text(text) {
  DialectRegistry registry;
  registry.insert<GraphDialect, exec::ExecDialect, func::FuncDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
  context.loadDialect<exec::ExecDialect>();
  if (!compile())
    ADD_FAILURE() << "cannot compile";
}

FusedProgram::~FusedProgram() {
  if (library)
    dlclose(library);
  if (original)
    original->destroy();
}

/// One exec.kernel a group, with the layouts of the options.
bool FusedProgram::makeKernels() {
  code = ModuleOp::create(UnknownLoc::get(&context));
  OpBuilder builder = OpBuilder::atBlockEnd(code->getBody());
  Operation *end = fused.getBody().front().getTerminator();
  for (auto group : fused.getBody().getOps<FusedOp>()) {
    SmallVector<Attribute> operandStrides, resultStrides;
    for (Value operand : group.getInputs())
      operandStrides.push_back(builder.getDenseI64ArrayAttr(memory(operand).strides));
    SmallVector<bool> accumulate;
    for (Value result : group.getResults()) {
      auto output = llvm::find(end->getOperands(), result);
      accumulate.push_back(options.accumulate && output != end->getOperands().end());
      resultStrides.push_back(builder.getDenseI64ArrayAttr(memory(result).strides));
    }
    auto kernel = builder.create<exec::KernelOp>(
        group.getLoc(), "kernel_" + std::to_string(kernels.size()), builder.getArrayAttr(operandStrides),
        builder.getArrayAttr(resultStrides), builder.getDenseBoolArrayAttr(accumulate));
    Block &block = kernel.getBody().emplaceBlock();
    OpBuilder inner = OpBuilder::atBlockEnd(&block);
    SmallVector<Value> arguments;
    for (Value operand : group.getInputs())
      arguments.push_back(block.addArgument(operand.getType(), group.getLoc()));
    Operation *copy = inner.clone(*group);
    copy->setOperands(arguments);
    inner.create<exec::YieldOp>(group.getLoc(), copy->getResults());
    kernels.push_back({group, nullptr, {}});
  }
  return true;
}

Memory &FusedProgram::memory(Value value) {
  std::shared_ptr<Memory> &slot = tensors[value];
  if (slot)
    return *slot;
  slot = std::make_shared<Memory>();
  slot->strides = denseStrides(typeOf(value).getShape());
  Operation *end = fused.getBody().front().getTerminator();
  for (auto [number, output] : llvm::enumerate(end->getOperands()))
    if (output == value && options.resultStrides.count(number))
      slot->strides = options.resultStrides[number];
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && options.argumentStrides.count(argument.getArgNumber()))
    slot->strides = options.argumentStrides[argument.getArgNumber()];
  slot->data.resize((lastElement(typeOf(value).getShape(), slot->strides) + 1) *
                    widthOf(typeOf(value).getElementType()));
  return *slot;
}

bool FusedProgram::link(const std::string &object) {
  std::string shared = object + ".so";
  std::string command = "ld.lld-19 -shared -o " + shared + " " + object;
  if (std::system(command.c_str()) != 0)
    return false;
  library = dlopen(shared.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    ADD_FAILURE() << dlerror();
  llvm::sys::fs::remove(object);
  llvm::sys::fs::remove(shared);
  return library != nullptr;
}

/// Makes results share the memory of arguments of their type.
void FusedProgram::shareMemory() {
  Operation *end = fused.getBody().front().getTerminator();
  DenseSet<Value> taken;
  for (Value output : end->getOperands())
    for (Value argument : fused.getArguments())
      if (argument.getType() == output.getType() && memory(argument).strides == memory(output).strides &&
          taken.insert(argument).second) {
        tensors[output] = tensors[argument];
        break;
      }
}

bool FusedProgram::compile() {
  // Parsed with the text as its own buffer: diagnostics show lines.
  module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!module)
    return false;
  fused = *module->getOps<func::FuncOp>().begin();
  original = cast<func::FuncOp>(fused->clone());
  PassManager fusion(&context);
  fusion.addNestedPass<func::FuncOp>(fusion::createFuseElementwisePass());
  if (failed(fusion.run(*module)))
    return false;
  if (options.inPlace)
    shareMemory();
  PassManager lowering(&context);
  lowering.addPass(lowering::createGenerateKernelsPass());
  if (!makeKernels() || failed(verify(*code)) || failed(lowering.run(*code)))
    return false;
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> translated = translateModuleToLLVMIR(*code, llvmContext);
  SmallString<128> object;
  if (!translated || llvm::sys::fs::createTemporaryFile("fused", "o", object))
    return false;
  if (const char *keep = std::getenv("ECHELON_TEST_KEEP_IR")) {
    std::error_code error;
    llvm::raw_fd_ostream out(keep, error);
    translated->print(out, nullptr);
  }
  SmallVector<std::string> symbols;
  if (llvm::Error error = emitObject(*translated, {}, object, symbols)) {
    ADD_FAILURE() << llvm::toString(std::move(error));
    return false;
  }
  undefined.assign(symbols.begin(), symbols.end());
  if (!link(std::string(object)))
    return false;
  for (auto [number, call] : llvm::enumerate(kernels))
    call.function = dlsym(library, ("kernel_" + std::to_string(number)).c_str());
  return true;
}

static void runTasks(const ech_launch *launch, int64_t count, ech_parallel_body body, void *argument) {
  // Backwards, since no order is promised.
  for (int64_t task = count; task-- > 0;)
    body(argument, task, int32_t(task % launch->workers));
}

void FusedProgram::call(Call &call) {
  launch.workers = options.workers;
  launch.parallel_for = runTasks;
  std::vector<void *> &p = call.pointers;
  p.resize(24, nullptr);
  using Kernel = void (*)(const ech_launch *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                          void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                          void *, void *, void *, void *);
  // The System V convention lets a callee take fewer arguments than it is given.
  reinterpret_cast<Kernel>(call.function)(&launch, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10],
                                          p[11], p[12], p[13], p[14], p[15], p[16], p[17], p[18], p[19], p[20], p[21],
                                          p[22], p[23]);
}

static std::vector<double> repeat(BroadcastOp op, const std::vector<double> &in) {
  ArrayRef<int64_t> shape = typeOf(op.getResult()).getShape();
  SmallVector<int64_t> from = denseStrides(typeOf(op.getInput()).getShape()), strides(shape.size(), 0);
  for (auto [dim, stride] : llvm::zip_equal(op.getDims(), from))
    strides[dim] = stride;
  SmallVector<int64_t> index(shape.size(), 0);
  std::vector<double> out;
  do
    out.push_back(in[flatten(index, strides)]);
  while (advance(index, shape));
  return out;
}

void FusedProgram::runOp(Operation *op) {
  for (Call &candidate : kernels)
    if (candidate.op == op) {
      candidate.pointers.clear();
      for (Value operand : op->getOperands())
        candidate.pointers.push_back(memory(operand).data.data());
      for (Value result : op->getResults())
        candidate.pointers.push_back(memory(result).data.data());
      return call(candidate);
    }
  // Views and constants.
  Value result = op->getResult(0);
  std::vector<double> out, in = op->getNumOperands() ? readTensor(memory(op->getOperand(0)), typeOf(op->getOperand(0)))
                                                     : std::vector<double>();
  double splat;
  if (auto slice = dyn_cast<SliceOp>(op))
    for (int64_t i = 0; i < typeOf(result).getNumElements(); ++i)
      out.push_back(in[slice.getOffsets()[0] + i]);
  else if (isa<ReshapeOp>(op))
    out = in;
  else if (auto broadcast = dyn_cast<BroadcastOp>(op))
    out = repeat(broadcast, in);
  else if (matchSplat(result, splat))
    out.assign(typeOf(result).getNumElements(), splat);
  else
    ADD_FAILURE() << "not fused: " << op->getName().getStringRef().str();
  writeTensor(memory(result), typeOf(result), out);
}

std::vector<std::vector<double>> FusedProgram::run(const std::vector<std::vector<double>> &arguments, double before) {
  std::vector<std::vector<double>> results;
  if (!library)
    return results;
  Block &block = fused.getBody().front();
  ValueRange outputs = block.getTerminator()->getOperands();
  for (auto [argument, values] : llvm::zip_equal(fused.getArguments(), arguments))
    writeTensor(memory(argument), typeOf(argument), values);
  if (!options.inPlace)
    for (Value output : outputs)
      writeTensor(memory(output), typeOf(output), std::vector<double>(typeOf(output).getNumElements(), before));
  for (Operation &op : block.without_terminator())
    runOp(&op);
  for (Value output : outputs)
    results.push_back(readTensor(memory(output), typeOf(output)));
  return results;
}

double FusedProgram::time(size_t index, int repeats) {
  double best = 1e9;
  for (int i = 0; i < repeats; ++i) {
    auto start = std::chrono::steady_clock::now();
    call(kernels[index]);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

int64_t FusedProgram::traffic(size_t index) {
  int64_t bytes = 0;
  Operation *op = kernels[index].op;
  for (auto list : {SmallVector<Value>(op->getOperands()), SmallVector<Value>(op->getResults())})
    for (Value value : list)
      bytes += typeOf(value).getNumElements() * widthOf(typeOf(value).getElementType());
  return bytes;
}

} // namespace echelon::test

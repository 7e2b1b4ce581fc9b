// SPDX-License-Identifier: Apache-2.0
//
// Entries become `void f(const ech_launch *)`: arena bases are read from the launch, offsets are constants.
#include "llvm/ADT/StringSet.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "passes/lowering/passes.h"
#include "runtime/abi/abi.h"

using namespace mlir;

namespace echelon::lowering {
#define GEN_PASS_DEF_LOWEREXECTOLLVMPASS
#include "passes/lowering/passes.h.inc"

namespace {

/// Read-only data and declarations, made once for equal contents.
class Globals {
public:
  explicit Globals(ModuleOp module) : module(module), builder(OpBuilder::atBlockEnd(module.getBody())) {}

  StringRef constant(ElementsAttr value) {
    StringRef &name = constants[value];
    if (!name.empty())
      return name;
    auto type = cast<RankedTensorType>(value.getType());
    Type element = type.getElementType().isInteger(1) ? builder.getI8Type() : type.getElementType();
    auto dense = cast<DenseElementsAttr>(value);
    if (type.getElementType().isInteger(1))
      dense = cast<DenseElementsAttr>(dense).mapValues(
          element, [](const APInt &bit) { return bit.zext(8); });
    auto flat = RankedTensorType::get({type.getNumElements()}, element);
    return name = add("constant_", LLVM::LLVMArrayType::get(element, type.getNumElements()), dense.reshape(flat));
  }

  StringRef descriptor(ArrayAttr fields) {
    StringRef &name = descriptors[fields];
    if (!name.empty())
      return name;
    SmallVector<int64_t> words;
    for (Attribute field : fields)
      words.push_back(isa<IntegerAttr>(field)
                          ? cast<IntegerAttr>(field).getInt()
                          : int64_t(cast<FloatAttr>(field).getValue().bitcastToAPInt().getZExtValue()));
    auto type = RankedTensorType::get({int64_t(words.size())}, builder.getI64Type());
    return name = add("descriptor_", LLVM::LLVMArrayType::get(builder.getI64Type(), words.size()),
                      DenseElementsAttr::get(type, ArrayRef(words)));
  }

  StringRef text(StringRef value) {
    StringRef &name = texts[value];
    if (!name.empty())
      return name;
    std::string terminated = value.str() + '\0';
    return name = add("text_", LLVM::LLVMArrayType::get(builder.getI8Type(), terminated.size()),
                      builder.getStringAttr(terminated));
  }

  void declareKernel(StringRef name, unsigned pointers) {
    if (module.lookupSymbol(name) || !declared.insert(name).second)
      return;
    auto pointer = LLVM::LLVMPointerType::get(module.getContext());
    SmallVector<Type> arguments(pointers, pointer);
    builder.create<LLVM::LLVMFuncOp>(
        module.getLoc(), name,
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(module.getContext()), arguments));
  }

private:
  StringRef add(StringRef prefix, Type type, Attribute value) {
    auto global = builder.create<LLVM::GlobalOp>(module.getLoc(), type, /*isConstant=*/true, LLVM::Linkage::Private,
                                                 (prefix + std::to_string(count++)).str(), value, ECH_ALIGNMENT);
    return global.getSymName();
  }

  ModuleOp module;
  OpBuilder builder;
  unsigned count = 0;
  llvm::DenseMap<Attribute, StringRef> constants, descriptors;
  llvm::StringMap<StringRef> texts;
  llvm::StringSet<> declared;
};

/// Writes one entry's function.
class EntryWriter {
public:
  EntryWriter(ModuleOp module, Globals &globals, bool check) : module(module), globals(globals), check(check),
        builder(module.getContext()), pointer(LLVM::LLVMPointerType::get(module.getContext())) {}

  LogicalResult write(exec::EntryOp entry) {
    builder.setInsertionPoint(entry);
    std::string name = entry.getSymName().str();
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(module.getContext()), {pointer});
    auto function = builder.create<LLVM::LLVMFuncOp>(entry.getLoc(), "echelon_" + name, type,
                                                     LLVM::Linkage::Internal);
    builder.setInsertionPointToStart(function.addEntryBlock(builder));
    launchPointer = function.getArgument(0);
    for (unsigned arena = 0; arena < ECH_ARENA_COUNT; ++arena)
      bases.push_back(builder.create<LLVM::LoadOp>(entry.getLoc(), pointer,
                                                   advance(entry.getLoc(), launchPointer, arena * sizeof(void *))));
    for (Operation &op : entry.getBody().front())
      if (auto launch = dyn_cast<exec::LaunchOp>(op))
        if (failed(writeLaunch(launch)))
          return failure();
    builder.create<LLVM::ReturnOp>(entry.getLoc(), ValueRange());
    entry.erase();
    return success();
  }

private:
  Value advance(Location loc, Value base, int64_t bytes) {
    if (bytes == 0)
      return base;
    Value offset = builder.create<LLVM::ConstantOp>(loc, builder.getI64IntegerAttr(bytes));
    return builder.create<LLVM::GEPOp>(loc, pointer, builder.getI8Type(), base, ValueRange{offset});
  }

  FailureOr<Value> address(Location loc, Value buffer, int64_t extra) {
    Operation *op = buffer.getDefiningOp();
    if (auto alloc = dyn_cast<exec::AllocOp>(op)) {
      if (!alloc.getOffset())
        return alloc.emitError() << "has no place yet; run assign-buffers first", failure();
      return advance(loc, bases[ECH_ARENA_ACTIVATIONS], *alloc.getOffset() + extra);
    }
    if (auto variable = dyn_cast<exec::VariableOp>(op)) {
      auto declaration = module.lookupSymbol<graph::VariableOp>(variable.getVariable());
      auto offset = declaration ? declaration->getAttrOfType<IntegerAttr>("exec.offset") : IntegerAttr();
      if (!offset)
        return variable.emitError() << "variable '" << variable.getVariable() << "' has no place", failure();
      return advance(loc, bases[unsigned(declaration.getVariableClass())], offset.getInt() + extra);
    }
    if (auto input = dyn_cast<exec::InputOp>(op)) {
      auto inputs = module->getAttrOfType<ArrayAttr>("exec.inputs");
      auto fields = inputs && input.getIndex() < inputs.size() ? cast<DictionaryAttr>(inputs[input.getIndex()])
                                                               : DictionaryAttr();
      auto offset = fields ? dyn_cast_or_null<IntegerAttr>(fields.get("offset")) : IntegerAttr();
      if (!offset)
        return input.emitError() << "input " << input.getIndex() << " has no place yet; run assign-buffers first",
               failure();
      return advance(loc, bases[ECH_ARENA_INPUTS], offset.getInt() + extra);
    }
    auto constant = cast<exec::ConstantOp>(op);
    Value base = builder.create<LLVM::AddressOfOp>(loc, pointer, globals.constant(constant.getValue()));
    return advance(loc, base, extra);
  }

  LogicalResult writeLaunch(exec::LaunchOp launch) {
    Location loc = launch.getLoc();
    SmallVector<Value> addresses;
    for (auto [buffer, offset] : llvm::zip_equal(launch.getBuffers(), launch.getOffsets())) {
      FailureOr<Value> value = address(loc, buffer, offset);
      if (failed(value))
        return failure();
      addresses.push_back(*value);
    }
    if (launch.getCallee() == "memset")
      return writeMemset(launch, addresses[0]);
    SmallVector<Value> arguments = {launchPointer};
    if (!launch.getDescriptor().empty())
      arguments.push_back(
          builder.create<LLVM::AddressOfOp>(loc, pointer, globals.descriptor(launch.getDescriptor())));
    for (int64_t index : launch.getArguments())
      arguments.push_back(index < 0 ? builder.create<LLVM::ZeroOp>(loc, pointer).getResult() : addresses[index]);
    globals.declareKernel(launch.getCallee(), arguments.size());
    builder.create<LLVM::CallOp>(loc, TypeRange(), launch.getCallee(), arguments);
    if (check)
      writeChecks(launch, addresses);
    return success();
  }

  LogicalResult writeMemset(exec::LaunchOp launch, Value address) {
    Location loc = launch.getLoc();
    int64_t byte = cast<IntegerAttr>(launch.getDescriptor()[0]).getInt();
    Value value = builder.create<LLVM::ConstantOp>(loc, builder.getI8IntegerAttr(int8_t(byte)));
    Value size = builder.create<LLVM::ConstantOp>(loc, cast<IntegerAttr>(launch.getDescriptor()[1]));
    builder.create<LLVM::MemsetOp>(loc, address, value, size, /*isVolatile=*/false);
    return success();
  }

  /// launch->check_numerics(launch, place, values, count) for each dense f32 result.
  void writeChecks(exec::LaunchOp launch, ArrayRef<Value> addresses) {
    Location loc = launch.getLoc();
    auto counts = launch->getAttrOfType<DenseI64ArrayAttr>("check_counts");
    if (!counts)
      return;
    std::string place;
    llvm::raw_string_ostream stream(place);
    if (auto name = loc->findInstanceOf<NameLoc>())
      stream << name.getName().getValue();
    stream << " (" << launch.getCallee() << ")";
    for (auto [address, count] : llvm::zip_equal(addresses, counts.asArrayRef())) {
      if (count == 0)
        continue;
      Value hook = builder.create<LLVM::LoadOp>(
          loc, pointer, advance(loc, launchPointer, offsetof(ech_launch, check_numerics)));
      Value text = builder.create<LLVM::AddressOfOp>(loc, pointer, globals.text(stream.str()));
      Value size = builder.create<LLVM::ConstantOp>(loc, builder.getI64IntegerAttr(count));
      auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(module.getContext()),
                                              {pointer, pointer, pointer, builder.getI64Type()});
      builder.create<LLVM::CallOp>(loc, type, ValueRange{hook, launchPointer, text, address, size});
    }
  }

  ModuleOp module;
  Globals &globals;
  bool check;
  OpBuilder builder;
  Type pointer;
  Value launchPointer;
  SmallVector<Value> bases;
};

struct LowerExecToLLVMPass : impl::LowerExecToLLVMPassBase<LowerExecToLLVMPass> {
  using LowerExecToLLVMPassBase::LowerExecToLLVMPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Globals globals(module);
    SmallVector<exec::EntryOp> entries(module.getOps<exec::EntryOp>());
    for (exec::EntryOp entry : entries)
      if (failed(EntryWriter(module, globals, checkNumerics).write(entry)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace echelon::lowering

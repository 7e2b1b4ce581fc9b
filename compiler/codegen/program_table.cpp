// SPDX-License-Identifier: Apache-2.0
//
// The program table as LLVM constants: runtime/abi/abi.h field by field. Each struct below names the fields it fills in
// the order of the header; a size check against the C struct keeps the two together.
#include "compiler/codegen/codegen.h"

#include "dialects/graph/graph_dialect.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"
#include "runtime/abi/abi.h"

using namespace llvm;

namespace echelon {

static Error tableError(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

namespace {

/// Builds constants of natural C layout.
class TableBuilder {
public:
  explicit TableBuilder(Module &module)
      : module(module), context(module.getContext()), pointer(PointerType::get(context, 0)) {}

  Constant *i32(int64_t value) { return ConstantInt::get(Type::getInt32Ty(context), uint64_t(value)); }
  Constant *i64(uint64_t value) { return ConstantInt::get(Type::getInt64Ty(context), value); }
  Constant *f64(double value) { return ConstantFP::get(Type::getDoubleTy(context), value); }
  Constant *null() { return ConstantPointerNull::get(pointer); }
  Constant *record(ArrayRef<Constant *> fields) { return ConstantStruct::getAnon(context, fields); }

  Constant *text(StringRef value) {
    Constant *&known = texts[value];
    if (!known)
      known = global(ConstantDataArray::getString(context, value));
    return known;
  }
  Constant *sizes(ArrayRef<int64_t> values) {
    SmallVector<uint64_t> words(values.begin(), values.end());
    return words.empty() ? null() : global(ConstantDataArray::get(context, words));
  }
  Constant *array(ArrayRef<Constant *> records) {
    if (records.empty())
      return null();
    return global(ConstantArray::get(ArrayType::get(records[0]->getType(), records.size()), records));
  }
  Constant *global(Constant *value) {
    return new GlobalVariable(module, value->getType(), true, GlobalValue::PrivateLinkage, value, "table");
  }
  Constant *entry(StringRef name) {
    Function *function = module.getFunction(name);
    return function ? static_cast<Constant *>(function) : null();
  }

  Module &module;
  LLVMContext &context;
  PointerType *pointer;

private:
  StringMap<Constant *> texts;
};

Expected<int32_t> dtypeOf(mlir::Type type) {
  if (type.isF32())
    return ECH_F32;
  if (type.isBF16())
    return ECH_BF16;
  if (type.isF64())
    return ECH_F64;
  if (type.isF16())
    return ECH_F16;
  if (type.isInteger(32))
    return ECH_I32;
  if (type.isInteger(64))
    return ECH_I64;
  if (type.isInteger(1))
    return ECH_BOOL;
  std::string text;
  raw_string_ostream(text) << type;
  return tableError("element type " + text + " has no place in the contract");
}

/// Weight files by path, opened once for hashing.
struct WeightFiles {
  struct File {
    std::string path; ///< as the module names it, relative to the model
    std::unique_ptr<MemoryBuffer> buffer;
  };
  std::vector<File> files;

  Expected<int32_t> indexOf(StringRef path, StringRef directory) {
    for (auto [index, file] : enumerate(files))
      if (file.path == path)
        return int32_t(index);
    SmallString<128> full(directory);
    sys::path::append(full, path);
    auto buffer = MemoryBuffer::getFile(full, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!buffer)
      return tableError("cannot read the weights '" + full + "': " + buffer.getError().message());
    files.push_back({path.str(), std::move(*buffer)});
    return int32_t(files.size() - 1);
  }
};

Expected<VariableFacts> factsOf(graph::VariableOp op, const StringMap<int32_t> &indices, WeightFiles &files,
                                StringRef directory) {
  VariableFacts facts;
  auto type = cast<mlir::RankedTensorType>(op.getType());
  facts.name = op.getSymName().str();
  facts.arena = int32_t(op.getVariableClass());
  facts.trainable = op.getTrainable();
  facts.shape.assign(type.getShape().begin(), type.getShape().end());
  auto offset = op->getAttrOfType<mlir::IntegerAttr>("exec.offset");
  if (!offset)
    return tableError("variable '" + facts.name + "' has no place; assign-buffers did not run");
  facts.offset = offset.getInt();
  Expected<int32_t> dtype = dtypeOf(type.getElementType());
  if (!dtype)
    return dtype.takeError();
  facts.dtype = *dtype;
  facts.bytes = uint64_t(type.getNumElements()) * std::max(1u, type.getElementTypeBitWidth() / 8);
  facts.initStream = xxHash64(facts.name);
  if (auto owner = op.getOwner())
    facts.owner = indices.lookup(*owner);
  if (auto init = dyn_cast<graph::InitAttr>(op.getFirst())) {
    facts.init = int32_t(init.getKind());
    facts.initA = init.getA().getValueAsDouble();
    facts.initB = init.getB().getValueAsDouble();
    return facts;
  }
  auto file = cast<graph::FileAttr>(op.getFirst());
  Expected<int32_t> index = files.indexOf(file.getPath(), directory);
  if (!index)
    return index.takeError();
  Expected<int32_t> fileDtype = dtypeOf(file.getElement());
  if (!fileDtype)
    return fileDtype.takeError();
  StringRef bytes = files.files[*index].buffer->getBuffer();
  if (file.getOffset() > bytes.size() || file.getLength() > bytes.size() - file.getOffset())
    return tableError("weights of '" + facts.name + "' lie outside '" + file.getPath() + "'");
  facts.init = ECH_INIT_FILE;
  facts.fileIndex = *index;
  facts.fileDtype = *fileDtype;
  facts.fileOffset = file.getOffset();
  facts.fileBytes = file.getLength();
  facts.fileHash = xxHash64(bytes.substr(file.getOffset(), file.getLength()));
  return facts;
}

Constant *variableRecord(TableBuilder &t, const VariableFacts &v) {
  return t.record({t.text(v.name), t.i32(v.arena), t.i32(v.dtype), t.i32(v.shape.size()), t.i32(v.trainable),
                   t.sizes(v.shape), t.i64(v.offset), t.i64(v.bytes), t.i32(v.init), t.i32(v.fileIndex),
                   t.i64(v.fileOffset), t.i64(v.fileBytes), t.i64(v.fileHash), t.i32(v.fileDtype), t.i32(v.owner),
                   t.f64(v.initA), t.f64(v.initB), t.i64(v.initStream)});
}

Expected<Constant *> inputRecord(TableBuilder &t, mlir::DictionaryAttr fields) {
  auto integer = [&](StringRef key) { return cast<mlir::IntegerAttr>(fields.get(key)).getInt(); };
  auto type = cast<mlir::RankedTensorType>(cast<mlir::TypeAttr>(fields.get("type")).getValue());
  Expected<int32_t> dtype = dtypeOf(type.getElementType());
  if (!dtype)
    return dtype.takeError();
  uint64_t bytes = uint64_t(type.getNumElements()) * std::max(1u, type.getElementTypeBitWidth() / 8);
  return t.record({t.text(cast<mlir::StringAttr>(fields.get("name")).getValue()), t.i32(*dtype),
                   t.i32(type.getRank()), t.sizes(type.getShape()), t.i64(integer("offset")), t.i64(bytes),
                   t.i64(integer("limit")), t.i32(integer("role")), t.i32(integer("ignore_index"))});
}

uint64_t metricOffset(ArrayRef<VariableFacts> variables, StringRef name) {
  for (const VariableFacts &variable : variables)
    if (variable.name == name)
      return variable.offset;
  return 0;
}

constexpr const char *kArenaNames[ECH_ARENA_COUNT] = {"weights", "gradients",   "optimizer",    "metrics",
                                                      "inputs",  "activations", "communication"};

} // namespace

std::string relativePath(StringRef from, StringRef to) {
  SmallVector<StringRef, 16> fromParts(sys::path::begin(from), sys::path::end(from)),
      toParts(sys::path::begin(to), sys::path::end(to));
  size_t common = 0;
  while (common < fromParts.size() && common < toParts.size() && fromParts[common] == toParts[common])
    ++common;
  SmallString<128> path;
  for (size_t i = common; i < fromParts.size(); ++i)
    sys::path::append(path, "..");
  for (size_t i = common; i < toParts.size(); ++i)
    sys::path::append(path, toParts[i]);
  return path.str().str();
}

Error addProgramTable(Module &llvmModule, mlir::ModuleOp module, const ProgramFacts &facts) {
  TableBuilder t(llvmModule);
  StringMap<int32_t> indices;
  int32_t count = 0;
  for (auto variable : module.getOps<graph::VariableOp>())
    indices[variable.getSymName()] = count++;
  WeightFiles files;
  std::vector<VariableFacts> variables;
  SmallVector<Constant *> variableRecords, inputRecords, fileRecords, arenas;
  for (auto op : module.getOps<graph::VariableOp>()) {
    Expected<VariableFacts> variable = factsOf(op, indices, files, facts.modelDirectory);
    if (!variable)
      return variable.takeError();
    variableRecords.push_back(variableRecord(t, *variable));
    variables.push_back(std::move(*variable));
  }
  auto inputs = module->getAttrOfType<mlir::ArrayAttr>("exec.inputs");
  auto bytes = module->getAttrOfType<mlir::DenseI64ArrayAttr>("exec.arenas");
  auto flops = module->getAttrOfType<mlir::DictionaryAttr>("exec.flops");
  if (!inputs || !bytes || !flops)
    return tableError("the module lacks exec.inputs, exec.arenas or exec.flops; the lowering phase did not finish");
  for (auto fields : inputs.getAsRange<mlir::DictionaryAttr>()) {
    Expected<Constant *> record = inputRecord(t, fields);
    if (!record)
      return record.takeError();
    inputRecords.push_back(*record);
  }
  for (const WeightFiles::File &file : files.files) {
    SmallString<128> full(facts.modelDirectory);
    sys::path::append(full, file.path);
    sys::path::remove_dots(full, true);
    fileRecords.push_back(
        t.record({t.text(relativePath(facts.binaryDirectory, full)), t.i64(file.buffer->getBufferSize())}));
  }
  for (auto [index, size] : enumerate(bytes.asArrayRef()))
    arenas.push_back(t.record({t.i64(size), t.text(kArenaNames[index])}));
  auto number = [&](StringRef key) { return cast<mlir::FloatAttr>(flops.get(key)).getValueAsDouble(); };

  auto logits = module->getAttrOfType<mlir::DictionaryAttr>("exec.logits");
  auto logit = [&](StringRef key) { return logits ? cast<mlir::IntegerAttr>(logits.get(key)).getInt() : 0; };

  SmallVector<Constant *> reserved(4, t.null());
  Constant *program = t.record(
      {t.i32(ECH_ABI_VERSION), t.i32(sizeof(ech_program)), t.text(facts.model), t.text(facts.compiler),
       t.text(facts.planHash), t.text(facts.planJson),
       ConstantArray::get(ArrayType::get(arenas[0]->getType(), arenas.size()), arenas), t.array(fileRecords),
       t.array(variableRecords), t.array(inputRecords), t.i32(fileRecords.size()), t.i32(variableRecords.size()),
       t.i32(inputRecords.size()), t.i32(1), t.i64(facts.micro), t.i64(facts.accumulate), t.i64(facts.seed),
       t.f64(number("palm")), t.f64(number("causal")), t.f64(number("hardware")),
       t.i64(metricOffset(variables, "echelon.loss_sum")), t.i64(metricOffset(variables, "echelon.loss_count")),
       t.i64(metricOffset(variables, "echelon.gradient_square_sum")),
       t.i64(metricOffset(variables, "echelon.learning_rate")), t.entry("echelon_microbatch"),
       t.entry("echelon_update"), t.entry("echelon_evaluate"), t.i64(logit("offset")), t.i64(logit("rows")),
       t.i64(logit("classes")),
       ConstantArray::get(ArrayType::get(t.pointer, 4), reserved)});
  if (llvmModule.getDataLayout().getTypeAllocSize(program->getType()) != sizeof(ech_program))
    return tableError("internal: the program table does not have the layout of runtime/abi/abi.h");
  new GlobalVariable(llvmModule, program->getType(), true, GlobalValue::ExternalLinkage, program,
                     "ech_program_export");
  return Error::success();
}

} // namespace echelon

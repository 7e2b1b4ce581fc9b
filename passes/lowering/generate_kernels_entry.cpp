// SPDX-License-Identifier: Apache-2.0
//
// Around the row function: point loops marked as parallel, and the entry that the program calls, which shares rows out
// among the runtime's workers.
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/lowering/generate_kernels_emit.h"
#include "runtime/abi/abi.h"

using namespace mlir;

namespace echelon::lowering {

/// The name that marks point loops. Locations are all that the conversions to LLVM carry along from a loop.
static constexpr StringLiteral kPointLoop = "echelon.points";

LogicalResult lowerPointLoops(Operation *root) {
  SmallVector<linalg::LinalgOp> ops;
  root->walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  IRRewriter rewriter(root->getContext());
  auto name = rewriter.getStringAttr(kPointLoop);
  for (linalg::LinalgOp op : ops) {
    rewriter.setInsertionPoint(op);
    FailureOr<linalg::LinalgLoops> loops = linalg::linalgOpToLoops(rewriter, op);
    if (failed(loops))
      return op.emitOpError("has no loops");
    if (!loops->empty())
      loops->back()->setLoc(NameLoc::get(name, loops->back()->getLoc()));
    rewriter.eraseOp(op);
  }
  return success();
}

/// Puts all memory accesses of a loop's body, which is one block, into one access group. Single stack slots stay out:
/// they are accumulators, which do depend on the iteration before until LLVM makes them registers.
static void markLoop(LLVM::CondBrOp branch) {
  MLIRContext *context = branch.getContext();
  auto group = LLVM::AccessGroupAttr::get(context);
  auto annotation =
      LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {group});
  branch.setLoopAnnotationAttr(annotation);
  auto groups = ArrayAttr::get(context, {group});
  auto isSlot = [](Value address) { return isa_and_nonnull<LLVM::AllocaOp>(address.getDefiningOp()); };
  for (Operation &op : *branch.getTrueDest()) {
    if (auto load = dyn_cast<LLVM::LoadOp>(op); load && !isSlot(load.getAddr()))
      load.setAccessGroupsAttr(groups);
    if (auto store = dyn_cast<LLVM::StoreOp>(op); store && !isSlot(store.getAddr()))
      store.setAccessGroupsAttr(groups);
  }
}

void markParallelAccesses(LLVM::LLVMFuncOp function) {
  function.walk([](Operation *op) {
    auto location = dyn_cast<NameLoc>(op->getLoc());
    if (!location || location.getName() != kPointLoop)
      return;
    op->setLoc(location.getChildLoc());
    if (auto branch = dyn_cast<LLVM::CondBrOp>(op))
      markLoop(branch);
  });
}

namespace {

class EntryBuilder {
public:
  EntryBuilder(OpBuilder &builder, LLVM::LLVMFuncOp rows, const KernelEntry &entry)
      : builder(builder), rows(rows), entry(entry), loc(rows.getLoc()), context(builder.getContext()),
        pointer(LLVM::LLVMPointerType::get(context)), i64(builder.getI64Type()), i32(builder.getI32Type()),
        none(LLVM::LLVMVoidType::get(context)) {}

  void run();

private:
  LLVM::LLVMFuncOp makeTask();
  LLVM::LLVMFuncOp makeFunction(const Twine &name, ArrayRef<Type> types, LLVM::Linkage linkage);
  Value constant(int64_t value) { return builder.create<LLVM::ConstantOp>(loc, i64, value); }
  Value field(Value launch, size_t offset, Type type) {
    Value address =
        builder.create<LLVM::GEPOp>(loc, pointer, builder.getI8Type(), launch, ArrayRef<LLVM::GEPArg>{int32_t(offset)});
    return builder.create<LLVM::LoadOp>(loc, type, address);
  }
  void callRows(ValueRange pointers, Value first, Value last) {
    SmallVector<Value> arguments(pointers);
    arguments.append({first, last});
    builder.create<LLVM::CallOp>(loc, rows, arguments);
  }

  OpBuilder &builder;
  LLVM::LLVMFuncOp rows;
  const KernelEntry &entry;
  Location loc;
  MLIRContext *context;
  Type pointer, i64, i32, none;
};

LLVM::LLVMFuncOp EntryBuilder::makeFunction(const Twine &name, ArrayRef<Type> types, LLVM::Linkage linkage) {
  auto type = LLVM::LLVMFunctionType::get(none, types);
  return builder.create<LLVM::LLVMFuncOp>(loc, name.str(), type, linkage);
}

/// void task(void *pointers, int64_t chunk, int32_t worker)
LLVM::LLVMFuncOp EntryBuilder::makeTask() {
  OpBuilder::InsertionGuard guard(builder);
  LLVM::LLVMFuncOp task = makeFunction(entry.name.getValue() + ".task", {pointer, i64, i32}, LLVM::Linkage::Internal);
  Block *block = task.addEntryBlock(builder);
  builder.setInsertionPointToStart(block);
  SmallVector<Value> pointers;
  for (unsigned i = 0; i < entry.pointers; ++i)
    pointers.push_back(field(block->getArgument(0), i * sizeof(void *), pointer));
  Value size = constant(entry.rowsPerChunk);
  Value first = builder.create<LLVM::MulOp>(loc, block->getArgument(1), size);
  Value last = builder.create<LLVM::AddOp>(loc, first, size);
  last = builder.create<LLVM::SMinOp>(loc, last, constant(entry.rows));
  callRows(pointers, first, last);
  builder.create<LLVM::ReturnOp>(loc, ValueRange());
  return task;
}

void EntryBuilder::run() {
  LLVM::LLVMFuncOp task = entry.splits() ? makeTask() : LLVM::LLVMFuncOp();
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Type> types(entry.pointers + 1, pointer);
  LLVM::LLVMFuncOp function = makeFunction(entry.name.getValue(), types, LLVM::Linkage::External);
  Block *block = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(block);
  ValueRange pointers = block->getArguments().drop_front();
  if (!entry.splits()) {
    callRows(pointers, constant(0), constant(entry.rows));
    builder.create<LLVM::ReturnOp>(loc, ValueRange());
    return;
  }
  Value launch = block->getArgument(0);
  auto arrayType = LLVM::LLVMArrayType::get(pointer, entry.pointers);
  Value array = builder.create<LLVM::AllocaOp>(loc, pointer, arrayType, constant(1));
  Value workers = field(launch, offsetof(ech_launch, workers), i32);
  Value one = builder.create<LLVM::ConstantOp>(loc, i32, 1);
  Value alone = builder.create<LLVM::ICmpOp>(loc, LLVM::ICmpPredicate::sle, workers, one);
  Block *here = function.addBlock(), *shared = function.addBlock();
  builder.create<LLVM::CondBrOp>(loc, alone, here, shared);
  builder.setInsertionPointToStart(here);
  callRows(pointers, constant(0), constant(entry.rows));
  builder.create<LLVM::ReturnOp>(loc, ValueRange());
  builder.setInsertionPointToStart(shared);
  for (auto [number, value] : llvm::enumerate(pointers)) {
    Value slot = builder.create<LLVM::GEPOp>(loc, pointer, pointer, array, ArrayRef<LLVM::GEPArg>{int32_t(number)});
    builder.create<LLVM::StoreOp>(loc, value, slot);
  }
  Value parallelFor = field(launch, offsetof(ech_launch, parallel_for), pointer);
  Value chunks = constant((entry.rows + entry.rowsPerChunk - 1) / entry.rowsPerChunk);
  Value address = builder.create<LLVM::AddressOfOp>(loc, task);
  auto type = LLVM::LLVMFunctionType::get(none, {pointer, i64, pointer, pointer});
  builder.create<LLVM::CallOp>(loc, type, ValueRange{parallelFor, launch, chunks, address, array});
  builder.create<LLVM::ReturnOp>(loc, ValueRange());
}

} // namespace

void emitEntry(OpBuilder &builder, LLVM::LLVMFuncOp rows, const KernelEntry &entry) {
  EntryBuilder(builder, rows, entry).run();
}

} // namespace echelon::lowering

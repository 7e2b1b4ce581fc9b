// SPDX-License-Identifier: Apache-2.0
//
// The row function of a generated kernel: a loop over rows, in it the passes of the plan as linalg.generic ops on views
// of the row, between them the values of the row as scalars.
#include "dialects/graph/builders.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/lowering/generate_kernels_rows.h"

using namespace mlir;
using namespace echelon::graph;

namespace echelon::lowering {

Reduction kindOf(const KernelPlan &plan, Value result) {
  auto reduce = result.getDefiningOp<ReduceOp>();
  return reduce ? plan.reductionOf(reduce) : Reduction::Identity;
}

Value RowEmitter::index(int64_t value) { return builder.create<arith::ConstantIndexOp>(loc, value); }
Value RowEmitter::load(Value memory) { return builder.create<memref::LoadOp>(loc, memory, ValueRange()); }
Value RowEmitter::minimum(Value a, Value b) { return builder.create<arith::MinSIOp>(loc, a, b); }

void RowEmitter::store(Value value, Value memory) { builder.create<memref::StoreOp>(loc, value, memory, ValueRange()); }

Value RowEmitter::scratch(Type element, ArrayRef<int64_t> shape) {
  IntegerAttr alignment = shape.empty() ? IntegerAttr() : builder.getI64IntegerAttr(64);
  return builder.create<memref::AllocaOp>(loc, MemRefType::get(shape, element), alignment);
}

Value RowEmitter::offsetOf(const TensorAccess &tensor) {
  Value offset;
  auto add = [&](Value position, int64_t stride) {
    if (stride == 0)
      return;
    Value term = builder.create<arith::MulIOp>(loc, position, index(stride));
    offset = offset ? Value(builder.create<arith::AddIOp>(loc, offset, term)) : term;
  };
  for (auto [position, stride] : llvm::zip_equal(rowIndex, tensor.outer))
    add(position, stride);
  if (plan.blocked)
    add(blockOffset, tensor.inner[0]);
  return offset ? offset : index(0);
}

/// The single element of a tensor that belongs to the current row.
Value RowEmitter::element(const TensorAccess &tensor, Value pointer) {
  auto layout = StridedLayoutAttr::get(builder.getContext(), ShapedType::kDynamic, {});
  auto type = MemRefType::get({}, ScalarMath::memoryType(tensor.element), layout);
  return builder.create<memref::ReinterpretCastOp>(loc, type, pointer, OpFoldResult(offsetOf(tensor)),
                                                   ArrayRef<OpFoldResult>(), ArrayRef<OpFoldResult>());
}

Value RowEmitter::compute(Value value, DenseMap<Value, Value> &known, ScalarMath &at) {
  // Iterative postorder: groups are small, but depth is not bounded by a constant.
  SmallVector<Value> work{value};
  auto find = [&](Value wanted) -> Value {
    if (Value found = known.lookup(wanted))
      return found;
    return scalars.lookup(wanted);
  };
  while (!work.empty()) {
    Value next = work.back();
    if (find(next)) {
      work.pop_back();
      continue;
    }
    Operation *op = next.getDefiningOp();
    SmallVector<Value> operands;
    bool ready = true;
    for (Value operand : op->getOperands()) {
      operands.push_back(find(operand));
      if (!operands.back()) {
        work.push_back(operand);
        ready = false;
      }
    }
    if (!ready)
      continue;
    Value result = emitScalar(at, op, operands);
    if (!result) {
      if (!unsupported)
        kernel.emitError() << "no kernel can be generated for '" << *op << "'";
      unsupported = true;
      result = at.constant(ScalarMath::computeType(elementOf(next)), 0);
    }
    known[next] = result;
    work.pop_back();
  }
  return find(value);
}

/// Computes the scalars of a level that `phase` makes computable.
void RowEmitter::computeLevel(Level level, int phase) {
  for (auto [tensor, pointer] : llvm::zip_equal(plan.operands, operandPointers))
    if (phase == 0 && plan.level.lookup(tensor.value) == level && !tensor.value.use_empty())
      scalars[tensor.value] = math.fromMemory(load(element(tensor, pointer)), tensor.element);
  for (Operation &op : body.without_terminator()) {
    Value value = op.getResult(0);
    Reduction kind = kindOf(plan, value);
    if (plan.level.lookup(value) != level || plan.phase.lookup(value) != phase || sumsRows(kind))
      continue;
    if (kind == Reduction::Row)
      scalars[value] = load(partials[&op]);
    else
      compute(value, scalars, math);
  }
}

void RowEmitter::forRange(Value first, Value last, int64_t step, llvm::function_ref<void(Value)> emit) {
  auto loop = builder.create<scf::ForOp>(loc, first, last, index(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  emit(loop.getInductionVar());
}

/// Scratch memory, scalars of the call, first values of sums.
void RowEmitter::prepare() {
  anchor = scratch(builder.getF32Type(), {});
  for (auto [value, phase] : plan.buffers)
    rowBuffers[value] = scratch(builder.getF32Type(), plan.inner);
  for (auto [op, kind] : plan.reductions)
    if (kind == Reduction::Row || kind == Reduction::Rows || kind == Reduction::Total)
      partials[op] = scratch(ScalarMath::computeType(elementOf(op->getResult(0))), {});
  computeLevel(Level::Call, 0);
  int64_t bytesLeft = kStackBytes, bytes = plan.innerCount() * int64_t(sizeof(float));
  for (auto [number, tensor] : llvm::enumerate(plan.results)) {
    Reduction kind = kindOf(plan, tensor.value);
    if (!sumsRows(kind))
      continue;
    auto reduce = tensor.value.getDefiningOp<ReduceOp>();
    Value neutral = emitNeutral(math, reduce.getKind(), math.computeType(tensor.element));
    if (kind == Reduction::Total) {
      totals[number] = scratch(builder.getF64Type(), {});
      store(emitNeutral(math, reduce.getKind(), builder.getF64Type()), totals[number]);
      continue;
    }
    bool simple = llvm::all_of(tensor.outer, [](int64_t stride) { return stride == 0; });
    if (kind == Reduction::Column && simple && bytesLeft >= bytes) {
      columnBuffers[number] = scratch(builder.getF32Type(), plan.inner);
      bytesLeft -= bytes;
    }
    if (kernel.getAccumulate()[number])
      continue;
    clear(tensor, resultPointers[number], neutral);
  }
}

/// memory = memory + value, where memory is a single element.
void RowEmitter::addTo(Value memory, Type element, ReduceKind kind, Value value) {
  Value old = math.fromMemory(load(memory), element);
  store(math.toMemory(emitCombine(math, kind, old, value), element), memory);
}

/// What the row adds to its results beside its points.
void RowEmitter::storeRowValues() {
  for (auto [number, tensor] : llvm::enumerate(plan.results)) {
    Reduction kind = kindOf(plan, tensor.value);
    auto reduce = tensor.value.getDefiningOp<ReduceOp>();
    if (kind == Reduction::Total) {
      Value wide = load(partials[reduce]);
      if (!wide.getType().isF64())
        wide = builder.create<arith::ExtFOp>(loc, builder.getF64Type(), wide);
      addTo(totals[number], builder.getF64Type(), reduce.getKind(), wide);
    } else if (kind == Reduction::Rows || kind == Reduction::RowValues) {
      Value value = kind == Reduction::Rows ? load(partials[reduce]) : scalars[reduce.getInput()];
      addTo(element(tensor, resultPointers[number]), tensor.element, reduce.getKind(), value);
    } else if (kind != Reduction::Column && !tensor.pointwise()) {
      Value memory = element(tensor, resultPointers[number]), value = scalars[tensor.value];
      if (kernel.getAccumulate()[number])
        value = math.add(math.fromMemory(load(memory), tensor.element), value);
      store(math.toMemory(value, tensor.element), memory);
    }
  }
}

void RowEmitter::emitRow(Value row) {
  rowIndex.assign(plan.outer.size(), Value());
  for (size_t dim = plan.outer.size(); dim-- > 0;) {
    if (dim == 0) {
      rowIndex[dim] = row;
      break;
    }
    rowIndex[dim] = builder.create<arith::RemUIOp>(loc, row, index(plan.outer[dim]));
    row = builder.create<arith::DivUIOp>(loc, row, index(plan.outer[dim]));
  }
  DenseMap<Value, Value> ofCall = scalars;
  computeLevel(Level::Row, 0);
  for (int phase = 0; phase < plan.phases; ++phase) {
    PointLoop loop;
    addReductions(phase, loop);
    if (phase == plan.phases - 1)
      addStores(loop);
    emitPhase(phase, loop);
    computeLevel(Level::Row, phase + 1);
  }
  storeRowValues();
  scalars = std::move(ofCall);
}

void RowEmitter::emitRange(Value first, Value last) {
  if (plan.blocked)
    return forRange(first, last, kBlockElements, [&](Value block) {
      blockOffset = block;
      blockSize = minimum(index(kBlockElements), builder.create<arith::SubIOp>(loc, last, block));
      emitRow(block);
    });
  if (columnBuffers.empty())
    return forRange(first, last, 1, [&](Value row) { emitRow(row); });
  forRange(first, last, kColumnRows, [&](Value block) {
    for (auto [number, tensor] : llvm::enumerate(plan.results))
      if (Value buffer = columnBuffers.lookup(number)) {
        ReduceKind kind = tensor.value.getDefiningOp<ReduceOp>().getKind();
        fill(buffer, identityMap(), emitNeutral(math, kind, builder.getF32Type()));
      }
    Value end = minimum(builder.create<arith::AddIOp>(loc, block, index(kColumnRows)), last);
    forRange(block, end, 1, [&](Value row) { emitRow(row); });
    flushColumns();
  });
}

/// Sums over everything leave their f64 accumulators.
void RowEmitter::finish() {
  rowIndex.assign(plan.outer.size(), index(0));
  blockOffset = index(0);
  for (auto [number, tensor] : llvm::enumerate(plan.results)) {
    Value total = totals.lookup(number);
    if (!total)
      continue;
    Value memory = element(tensor, resultPointers[number]), value = load(total);
    if (kernel.getAccumulate()[number]) {
      Value old = math.fromMemory(load(memory), tensor.element);
      if (!old.getType().isF64())
        old = builder.create<arith::ExtFOp>(loc, builder.getF64Type(), old);
      value = math.add(old, value);
    }
    Type type = ScalarMath::computeType(tensor.element);
    if (!type.isF64())
      value = builder.create<arith::TruncFOp>(loc, type, value);
    store(math.toMemory(value, tensor.element), memory);
  }
}

FailureOr<func::FuncOp> RowEmitter::run() {
  for (auto [op, kind] : plan.reductions)
    if (kind != Reduction::Identity && cast<ReduceOp>(op).getKind() == ReduceKind::Mean)
      return kernel.emitOpError("holds a mean; fuse-elementwise makes it a sum and a factor");
  SmallVector<Type> types;
  for (auto *list : {&plan.operands, &plan.results})
    for (const TensorAccess &tensor : *list)
      types.push_back(MemRefType::get({}, ScalarMath::memoryType(tensor.element)));
  types.append(2, builder.getIndexType());
  OpBuilder::InsertionGuard guard(builder);
  function =
      builder.create<func::FuncOp>(loc, (kernel.getSymName() + ".rows").str(), builder.getFunctionType(types, {}));
  function.setPrivate();
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  for (size_t i = 0; i < plan.operands.size(); ++i)
    operandPointers.push_back(entry->getArgument(i));
  for (size_t i = 0; i < plan.results.size(); ++i)
    resultPointers.push_back(entry->getArgument(plan.operands.size() + i));
  prepare();
  emitRange(entry->getArgument(types.size() - 2), entry->getArgument(types.size() - 1));
  finish();
  builder.create<func::ReturnOp>(loc);
  if (!unsupported)
    return function;
  function.erase();
  return failure();
}

FailureOr<func::FuncOp> emitRows(OpBuilder &builder, exec::KernelOp kernel, FusedOp group, const KernelPlan &plan) {
  return RowEmitter(builder, kernel, group, plan).run();
}

} // namespace echelon::lowering

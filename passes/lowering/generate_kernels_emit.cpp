// SPDX-License-Identifier: Apache-2.0
//
// The row function of a generated kernel: a loop over rows, in it the passes of the plan as linalg.generic ops on views
// of the row, between them the values of the row as scalars.
#include "passes/lowering/generate_kernels_emit.h"
#include "dialects/graph/builders.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace echelon::graph;

namespace echelon::lowering {
namespace {

/// One linalg.generic in the making: memory operands and what happens with their elements.
struct PointLoop {
  SmallVector<Value> inputs, outputs;
  SmallVector<AffineMap> inputMaps, outputMaps;
  llvm::MapVector<Value, unsigned> loaded; // graph value -> input index
  struct Output {
    enum Kind { Store, Add, Reduce, Buffer } kind;
    Value value; // graph value
    ReduceKind reduce = ReduceKind::Sum;
    Type element;
  };
  SmallVector<Output> sinks;
};

class RowEmitter {
public:
  RowEmitter(OpBuilder &builder, exec::KernelOp kernel, FusedOp group, const KernelPlan &plan)
      : builder(builder), loc(group.getLoc()), math(builder, loc), kernel(kernel), plan(plan),
        body(group.getBody().front()), yield(cast<graph::YieldOp>(body.getTerminator())) {}

  FailureOr<func::FuncOp> run();

private:
  void prepare();
  void emitRange(Value first, Value last);
  void emitRow(Value row);
  void emitPhase(int phase, PointLoop &loop);
  void addReductions(int phase, PointLoop &loop);
  void addStores(PointLoop &loop);
  void emitGeneric(PointLoop &loop);
  void storeRowValues();
  void finish();
  void clear(const TensorAccess &tensor, Value pointer, Value value);
  void flushColumns();
  void addTo(Value memory, Type element, ReduceKind kind, Value value);

  Value index(int64_t value) { return builder.create<arith::ConstantIndexOp>(loc, value); }
  Value offsetOf(const TensorAccess &tensor);
  Value view(const TensorAccess &tensor, Value pointer, Value offset, AffineMap &map);
  Value element(const TensorAccess &tensor, Value pointer);
  AffineMap identityMap() { return builder.getMultiDimIdentityMap(plan.inner.size()); }
  AffineMap scalarMap() { return AffineMap::get(plan.inner.size(), 0, builder.getContext()); }
  Value scratch(Type element, ArrayRef<int64_t> shape);
  Value load(Value memory) { return builder.create<memref::LoadOp>(loc, memory, ValueRange()); }
  void store(Value value, Value memory) { builder.create<memref::StoreOp>(loc, value, memory, ValueRange()); }
  Value compute(Value value, DenseMap<Value, Value> &known, ScalarMath &at);
  void computeLevel(Level level, int phase);
  void fill(Value memory, AffineMap map, Value value);
  void forRange(Value first, Value last, int64_t step, llvm::function_ref<void(Value)> emit);
  Value minimum(Value a, Value b) { return builder.create<arith::MinSIOp>(loc, a, b); }

  OpBuilder &builder;
  Location loc;
  ScalarMath math;
  exec::KernelOp kernel;
  const KernelPlan &plan;
  Block &body;
  graph::YieldOp yield;

  func::FuncOp function;
  SmallVector<Value> operandPointers, resultPointers;
  DenseMap<Value, Value> scalars;          // values of the call and of the row
  DenseMap<Value, Value> rowBuffers;       // graph value -> memref
  DenseMap<Operation *, Value> partials;   // row, rows and total reductions -> scalar accumulator of a row
  DenseMap<unsigned, Value> totals;        // result -> f64 accumulator
  DenseMap<unsigned, Value> columnBuffers; // result -> memref
  SmallVector<Value> rowIndex;             // of the current row, one a loop dim
  Value blockOffset, blockSize;            // of a blocked plan
  Value anchor;                            // memory that is never read
  bool unsupported = false;
};

Reduction kindOf(const KernelPlan &plan, Value result) {
  auto reduce = result.getDefiningOp<ReduceOp>();
  return reduce ? plan.reductionOf(reduce) : Reduction::Identity;
}

bool sumsRows(Reduction kind) { return kind != Reduction::Identity && kind != Reduction::Row; }

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

/// The part of a tensor that belongs to the current row, over the inner dims in which it is not repeated.
Value RowEmitter::view(const TensorAccess &tensor, Value pointer, Value offset, AffineMap &map) {
  SmallVector<OpFoldResult> sizes, strides;
  SmallVector<int64_t> staticSizes, staticStrides;
  SmallVector<AffineExpr> exprs;
  for (auto [dim, stride] : llvm::enumerate(tensor.inner)) {
    if (stride == 0)
      continue;
    sizes.push_back(plan.blocked ? OpFoldResult(blockSize) : OpFoldResult(builder.getIndexAttr(plan.inner[dim])));
    staticSizes.push_back(plan.blocked ? ShapedType::kDynamic : plan.inner[dim]);
    strides.push_back(builder.getIndexAttr(stride));
    staticStrides.push_back(stride);
    exprs.push_back(builder.getAffineDimExpr(dim));
  }
  map = AffineMap::get(plan.inner.size(), 0, exprs, builder.getContext());
  auto layout = StridedLayoutAttr::get(builder.getContext(), ShapedType::kDynamic, staticStrides);
  auto type = MemRefType::get(staticSizes, ScalarMath::memoryType(tensor.element), layout);
  return builder.create<memref::ReinterpretCastOp>(loc, type, pointer, OpFoldResult(offset), sizes, strides);
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

void RowEmitter::fill(Value memory, AffineMap map, Value value) {
  SmallVector<utils::IteratorType> iterators(map.getNumDims(), utils::IteratorType::parallel);
  builder.create<linalg::GenericOp>(loc, TypeRange(), ValueRange(), ValueRange{memory}, ArrayRef<AffineMap>{map},
                                    iterators, [&](OpBuilder &inner, Location at, ValueRange) {
                                      inner.create<linalg::YieldOp>(at, value);
                                    });
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

/// Fills a result over all dims in which it is not repeated.
void RowEmitter::clear(const TensorAccess &tensor, Value pointer, Value value) {
  SmallVector<int64_t> sizes, strides;
  auto add = [&](ArrayRef<int64_t> dims, ArrayRef<int64_t> steps) {
    for (auto [size, stride] : llvm::zip_equal(dims, steps))
      if (stride != 0) {
        sizes.push_back(size);
        strides.push_back(stride);
      }
  };
  add(plan.outer, tensor.outer);
  add(plan.inner, tensor.inner);
  auto layout = StridedLayoutAttr::get(builder.getContext(), 0, strides);
  auto type = MemRefType::get(sizes, ScalarMath::memoryType(tensor.element), layout);
  Value memory = builder.create<memref::ReinterpretCastOp>(loc, type, pointer, 0, sizes, strides);
  fill(memory, builder.getMultiDimIdentityMap(sizes.size()), value);
}

/// Row reductions that end in `phase`; in the last one also sums over rows.
void RowEmitter::addReductions(int phase, PointLoop &loop) {
  for (auto [op, kind] : plan.reductions) {
    auto reduce = cast<ReduceOp>(op);
    Value input = reduce.getInput();
    bool here = kind == Reduction::Row ? plan.phase.lookup(input) == phase : phase == plan.phases - 1;
    if (!partials.count(op) || !here)
      continue;
    Value partial = partials[op];
    store(emitNeutral(math, reduce.getKind(), cast<MemRefType>(partial.getType()).getElementType()), partial);
    loop.outputs.push_back(partial);
    loop.outputMaps.push_back(scalarMap());
    loop.sinks.push_back({PointLoop::Output::Reduce, input, reduce.getKind(), elementOf(reduce.getResult())});
  }
}

void RowEmitter::addStores(PointLoop &loop) {
  for (auto [number, tensor] : llvm::enumerate(plan.results)) {
    Reduction kind = kindOf(plan, tensor.value);
    if (kind == Reduction::Column) {
      auto reduce = tensor.value.getDefiningOp<ReduceOp>();
      AffineMap map = identityMap();
      Value memory = columnBuffers.lookup(number);
      if (!memory)
        memory = view(tensor, resultPointers[number], offsetOf(tensor), map);
      loop.outputs.push_back(memory);
      loop.outputMaps.push_back(map);
      loop.sinks.push_back({PointLoop::Output::Reduce, reduce.getInput(), reduce.getKind(), tensor.element});
      continue;
    }
    if (sumsRows(kind) || !tensor.pointwise())
      continue;
    AffineMap map;
    loop.outputs.push_back(view(tensor, resultPointers[number], offsetOf(tensor), map));
    loop.outputMaps.push_back(map);
    bool adds = kernel.getAccumulate()[number];
    loop.sinks.push_back(
        {adds ? PointLoop::Output::Add : PointLoop::Output::Store, tensor.value, ReduceKind::Sum, tensor.element});
  }
}

/// Finds the memory that the values of a pass come from, and the buffers that it fills.
void RowEmitter::emitPhase(int phase, PointLoop &loop) {
  SmallVector<Value> work;
  for (auto &sink : loop.sinks)
    work.push_back(sink.value);
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (plan.level.lookup(value) != Level::Point || !seen.insert(value).second)
      continue;
    auto buffer = plan.buffers.find(value);
    if (buffer != plan.buffers.end() && buffer->second < phase)
      continue;
    if (Operation *op = value.getDefiningOp())
      work.append(op->operand_begin(), op->operand_end());
  }
  for (auto [tensor, pointer] : llvm::zip_equal(plan.operands, operandPointers)) {
    if (!seen.contains(tensor.value))
      continue;
    AffineMap map;
    Value memory = view(tensor, pointer, offsetOf(tensor), map);
    loop.loaded[tensor.value] = loop.inputs.size();
    loop.inputs.push_back(memory);
    loop.inputMaps.push_back(map);
  }
  for (auto [value, first] : plan.buffers) {
    if (!seen.contains(value))
      continue;
    if (first < phase) {
      loop.loaded[value] = loop.inputs.size();
      loop.inputs.push_back(rowBuffers[value]);
      loop.inputMaps.push_back(identityMap());
    } else if (first == phase) {
      loop.outputs.push_back(rowBuffers[value]);
      loop.outputMaps.push_back(identityMap());
      loop.sinks.push_back({PointLoop::Output::Buffer, value, ReduceKind::Sum, builder.getF32Type()});
    }
  }
  if (!loop.outputs.empty())
    emitGeneric(loop);
}

void RowEmitter::emitGeneric(PointLoop &loop) {
  // linalg finds loop bounds from operands: one that has every dim must be there.
  SmallVector<AffineMap> maps = loop.inputMaps;
  maps.append(loop.outputMaps);
  llvm::SmallBitVector covered(plan.inner.size());
  for (AffineMap map : maps)
    for (AffineExpr expr : map.getResults())
      covered.set(cast<AffineDimExpr>(expr).getPosition());
  if (!covered.all()) {
    SmallVector<int64_t> strides(plan.inner.size(), 0);
    SmallVector<OpFoldResult> sizes, strideAttrs(plan.inner.size(), builder.getIndexAttr(0));
    SmallVector<int64_t> staticSizes;
    for (int64_t size : plan.inner) {
      sizes.push_back(plan.blocked ? OpFoldResult(blockSize) : OpFoldResult(builder.getIndexAttr(size)));
      staticSizes.push_back(plan.blocked ? ShapedType::kDynamic : size);
    }
    auto type = MemRefType::get(staticSizes, builder.getF32Type(),
                                StridedLayoutAttr::get(builder.getContext(), 0, strides));
    Value shape = builder.create<memref::ReinterpretCastOp>(loc, type, anchor,
                                                            OpFoldResult(builder.getIndexAttr(0)), sizes, strideAttrs);
    loop.inputs.push_back(shape);
    maps.insert(maps.begin() + loop.inputMaps.size(), identityMap());
  }
  SmallVector<utils::IteratorType> iterators(plan.inner.size(), utils::IteratorType::parallel);
  for (AffineMap map : loop.outputMaps)
    for (unsigned dim = 0; dim < plan.inner.size(); ++dim)
      if (!map.isFunctionOfDim(dim))
        iterators[dim] = utils::IteratorType::reduction;
  builder.create<linalg::GenericOp>(
      loc, TypeRange(), loop.inputs, loop.outputs, maps, iterators,
      [&](OpBuilder &inner, Location at, ValueRange arguments) {
        ScalarMath point(inner, at);
        DenseMap<Value, Value> known;
        for (auto [value, position] : loop.loaded)
          known[value] = isa<BlockArgument>(value) ? point.fromMemory(arguments[position], elementOf(value))
                                                   : arguments[position];
        SmallVector<Value> results;
        for (auto [number, sink] : llvm::enumerate(loop.sinks)) {
          Value value = compute(sink.value, known, point);
          Value old = arguments[loop.inputs.size() + number];
          if (sink.kind == PointLoop::Output::Reduce)
            value = emitCombine(point, sink.reduce, old, value);
          if (sink.kind == PointLoop::Output::Add)
            value = point.add(point.fromMemory(old, sink.element), value);
          bool memory = sink.kind == PointLoop::Output::Store || sink.kind == PointLoop::Output::Add;
          results.push_back(memory ? point.toMemory(value, sink.element) : value);
        }
        inner.create<linalg::YieldOp>(at, results);
      });
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

void RowEmitter::flushColumns() {
  rowIndex.assign(plan.outer.size(), index(0));
  for (auto [number, tensor] : llvm::enumerate(plan.results)) {
    Value buffer = columnBuffers.lookup(number);
    if (!buffer)
      continue;
    ReduceKind kind = tensor.value.getDefiningOp<ReduceOp>().getKind();
    AffineMap map;
    Value memory = view(tensor, resultPointers[number], index(0), map);
    SmallVector<utils::IteratorType> iterators(plan.inner.size(), utils::IteratorType::parallel);
    builder.create<linalg::GenericOp>(loc, TypeRange(), ValueRange{buffer}, ValueRange{memory},
                                      ArrayRef<AffineMap>{identityMap(), map}, iterators,
                                      [&](OpBuilder &inner, Location at, ValueRange arguments) {
                                        ScalarMath point(inner, at);
                                        Value sum = emitCombine(point, kind, arguments[1], arguments[0]);
                                        inner.create<linalg::YieldOp>(at, sum);
                                      });
  }
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
  function = builder.create<func::FuncOp>(loc, (kernel.getSymName() + ".rows").str(),
                                          builder.getFunctionType(types, {}));
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

} // namespace

FailureOr<func::FuncOp> emitRows(OpBuilder &builder, exec::KernelOp kernel, FusedOp group, const KernelPlan &plan) {
  return RowEmitter(builder, kernel, group, plan).run();
}

} // namespace echelon::lowering

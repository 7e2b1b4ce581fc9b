// SPDX-License-Identifier: Apache-2.0
//
// The passes over the points of a row: each is one linalg.generic on views of the row.
#include "dialects/graph/builders.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "passes/lowering/generate_kernels_rows.h"

using namespace mlir;
using namespace echelon::graph;

namespace echelon::lowering {

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

void RowEmitter::fill(Value memory, AffineMap map, Value value) {
  SmallVector<utils::IteratorType> iterators(map.getNumDims(), utils::IteratorType::parallel);
  builder.create<linalg::GenericOp>(
      loc, TypeRange(), ValueRange(), ValueRange{memory}, ArrayRef<AffineMap>{map}, iterators,
      [&](OpBuilder &inner, Location at, ValueRange) { inner.create<linalg::YieldOp>(at, value); });
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
  SmallVector<Value> roots;
  for (auto &sink : loop.sinks)
    roots.push_back(sink.value);
  DenseSet<Value> seen = pointValues(plan, std::move(roots), phase);
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
    auto type =
        MemRefType::get(staticSizes, builder.getF32Type(), StridedLayoutAttr::get(builder.getContext(), 0, strides));
    Value shape = builder.create<memref::ReinterpretCastOp>(loc, type, anchor, OpFoldResult(builder.getIndexAttr(0)),
                                                            sizes, strideAttrs);
    loop.inputs.push_back(shape);
    maps.insert(maps.begin() + loop.inputMaps.size(), identityMap());
  }
  SmallVector<utils::IteratorType> iterators(plan.inner.size(), utils::IteratorType::parallel);
  for (AffineMap map : loop.outputMaps)
    for (unsigned dim = 0; dim < plan.inner.size(); ++dim)
      if (!map.isFunctionOfDim(dim))
        iterators[dim] = utils::IteratorType::reduction;
  builder.create<linalg::GenericOp>(loc, TypeRange(), loop.inputs, loop.outputs, maps, iterators,
                                    [&](OpBuilder &inner, Location at, ValueRange arguments) {
                                      ScalarMath point(inner, at);
                                      DenseMap<Value, Value> known;
                                      for (auto [value, position] : loop.loaded)
                                        known[value] = isa<BlockArgument>(value)
                                                           ? point.fromMemory(arguments[position], elementOf(value))
                                                           : arguments[position];
                                      SmallVector<Value> results;
                                      for (auto [number, sink] : llvm::enumerate(loop.sinks)) {
                                        Value value = compute(sink.value, known, point);
                                        Value old = arguments[loop.inputs.size() + number];
                                        if (sink.kind == PointLoop::Output::Reduce)
                                          value = emitCombine(point, sink.reduce, old, value);
                                        if (sink.kind == PointLoop::Output::Add)
                                          value = point.add(point.fromMemory(old, sink.element), value);
                                        bool memory = sink.kind == PointLoop::Output::Store ||
                                                      sink.kind == PointLoop::Output::Add;
                                        results.push_back(memory ? point.toMemory(value, sink.element) : value);
                                      }
                                      inner.create<linalg::YieldOp>(at, results);
                                    });
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

} // namespace echelon::lowering

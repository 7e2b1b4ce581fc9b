// SPDX-License-Identifier: Apache-2.0
//
// Variables, their reads and writes, constants.
#include "dialects/graph/builders.h"

using namespace mlir;
using namespace llvm;

#define GET_OP_CLASSES
#include "dialects/graph/state.cpp.inc"

namespace echelon::graph {

void addStateOps(GraphDialect &dialect) {
  dialect.addFamilyOps<
#define GET_OP_LIST
#include "dialects/graph/state.cpp.inc"
      >();
}

LogicalResult VariableOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape())
    return emitOpError("type must be a tensor with a static shape");
  if (!isa<FileAttr, InitAttr>(getFirst()))
    return emitOpError("first value must be #graph.file or #graph.init");
  if (auto file = dyn_cast<FileAttr>(getFirst())) {
    if (!file.getElement().isIntOrFloat())
      return emitOpError("file element type ") << file.getElement() << " is neither an integer nor a float";
    uint64_t bytes = uint64_t(type.getNumElements()) * (file.getElement().getIntOrFloatBitWidth() / 8);
    if (file.getLength() != bytes)
      return emitOpError("has ") << bytes << " bytes by its type, but its file slice has " << file.getLength();
  }
  return success();
}

/// One tensor of any shape on the given side of the arrow.
static FailureOr<IterationSpace> stateSpace(Operation *op, Value tensor, bool isResult) {
  IterationSpace space;
  SpaceTensor dims;
  for (auto [i, size] : enumerate(shapeOf(tensor)))
    dims.push_back({space.addName("i" + std::to_string(i), size)});
  (isResult ? space.results : space.operands).push_back(dims);
  return bindIterationSpace(op, Expected<IterationSpace>(std::move(space)));
}

FailureOr<IterationSpace> ReadOp::getIterationSpace() { return stateSpace(getOperation(), getResult(), true); }
FailureOr<IterationSpace> ConstantOp::getIterationSpace() { return stateSpace(getOperation(), getResult(), true); }
FailureOr<IterationSpace> AssignOp::getIterationSpace() { return stateSpace(getOperation(), getValue(), false); }
FailureOr<IterationSpace> AccumulateOp::getIterationSpace() { return stateSpace(getOperation(), getValue(), false); }

LogicalResult ReadOp::verify() { return verifyIterationSpace(getOperation()); }
LogicalResult AssignOp::verify() { return verifyIterationSpace(getOperation()); }
LogicalResult AccumulateOp::verify() { return verifyIterationSpace(getOperation()); }

LogicalResult ConstantOp::verify() {
  if (getValue().getType() != getType())
    return emitOpError("value has type ") << getValue().getType() << ", result has type " << getType();
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

/// A constant cut along a dim keeps its value only if all slices along it are equal.
Operation *ConstantOp::buildLocal(OpBuilder &builder, ValueRange, ArrayRef<int64_t> sizes, std::string &why) {
  auto type = cast<RankedTensorType>(getType());
  auto local = type.clone(sizes);
  if (auto splat = dyn_cast<SplatElementsAttr>(getValue()))
    return builder.create<ConstantOp>(getLoc(), local, splat.resizeSplat(local));
  auto dense = dyn_cast<DenseElementsAttr>(getValue());
  if (!dense) {
    why = "its elements are not in memory";
    return nullptr;
  }
  auto values = to_vector(dense.getValues<Attribute>());
  StridedView whole = StridedView::dense(type.getShape()), part = StridedView::dense(sizes);
  // The element that stands for all along the dims that change: their position 0.
  auto representative = [&](const StridedView &view, int64_t linear) {
    int64_t source = 0;
    for (auto [dim, stride] : enumerate(view.strides)) {
      source += sizes[dim] == type.getDimSize(dim) ? linear / stride * whole.strides[dim] : 0;
      linear %= stride;
    }
    return source;
  };
  for (size_t linear = 0; linear < values.size(); ++linear)
    if (values[linear] != values[representative(whole, linear)]) {
      why = "its values differ along the dim that is cut";
      return nullptr;
    }
  SmallVector<Attribute> kept;
  for (int64_t linear = 0; linear < local.getNumElements(); ++linear)
    kept.push_back(values[representative(part, linear)]);
  return builder.create<ConstantOp>(getLoc(), local, DenseElementsAttr::get(local, kept));
}

static LogicalResult verifyVariable(Operation *op, FlatSymbolRefAttr symbol, Type type, SymbolTableCollection &table) {
  auto variable = table.lookupNearestSymbolFrom<VariableOp>(op, symbol);
  if (!variable)
    return op->emitOpError("names the unknown variable ") << symbol;
  if (variable.getType() != type)
    return op->emitOpError("has type ") << type << ", but variable " << symbol << " has type " << variable.getType();
  return success();
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &table) {
  return verifyVariable(getOperation(), getVariableAttr(), getType(), table);
}
LogicalResult AssignOp::verifySymbolUses(SymbolTableCollection &table) {
  return verifyVariable(getOperation(), getVariableAttr(), getValue().getType(), table);
}
LogicalResult AccumulateOp::verifySymbolUses(SymbolTableCollection &table) {
  return verifyVariable(getOperation(), getVariableAttr(), getValue().getType(), table);
}

} // namespace echelon::graph

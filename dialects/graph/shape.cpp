// SPDX-License-Identifier: Apache-2.0
//
// Ops that only move elements: iteration spaces (a reshape factors its dims), folds, adjoints.
#include "dialects/graph/builders.h"

using namespace mlir;
using namespace llvm;

#define GET_OP_CLASSES
#include "dialects/graph/shape.cpp.inc"

namespace echelon::graph {

void addShapeOps(GraphDialect &dialect) {
  dialect.addFamilyOps<
#define GET_OP_LIST
#include "dialects/graph/shape.cpp.inc"
      >();
}

static std::string numbered(char letter, size_t index) { return letter + std::to_string(index); }

static FailureOr<IterationSpace> bound(Operation *op, IterationSpace space) {
  return bindIterationSpace(op, Expected<IterationSpace>(std::move(space)));
}

//===-- reshape -----------------------------------------------------------===//

/// Factors both shapes into common names, outermost first; false where they do not refine each other.
static bool factorShapes(IterationSpace &space, const Shape &from, const Shape &to, SpaceTensor &operand,
                         SpaceTensor &result) {
  operand.assign(from.size(), {});
  result.assign(to.size(), {});
  size_t i = 0, j = 0;
  int64_t left = from.empty() ? 1 : from[0], right = to.empty() ? 1 : to[0];
  while (true) {
    if (left == 1 && i < from.size()) {
      left = ++i < from.size() ? from[i] : 1;
      continue;
    }
    if (right == 1 && j < to.size()) {
      right = ++j < to.size() ? to[j] : 1;
      continue;
    }
    if (i == from.size() || j == to.size())
      return i == from.size() && j == to.size();
    int64_t factor = std::min(left, right);
    if (left % factor || right % factor)
      return false;
    unsigned name = space.addName(numbered('i', space.names.size()), factor);
    operand[i].push_back(name);
    result[j].push_back(name);
    left /= factor;
    right /= factor;
  }
}

FailureOr<IterationSpace> ReshapeOp::getIterationSpace() {
  IterationSpace space;
  SpaceTensor operand, result;
  Shape from = shapeOf(getInput()), to = shapeOf(getResult());
  if (!factorShapes(space, from, to, operand, result)) {
    space = IterationSpace();
    operand.clear();
    result.clear();
    for (auto [i, size] : enumerate(from))
      operand.push_back({space.addName(numbered('i', i), size, true)});
    for (auto [i, size] : enumerate(to))
      result.push_back({space.addName(numbered('o', i), size, true)});
  }
  space.operands = {operand};
  space.results = {result};
  return bound(getOperation(), std::move(space));
}

LogicalResult ReshapeOp::verify() {
  auto from = cast<RankedTensorType>(getInput().getType()), to = cast<RankedTensorType>(getType());
  if (from.getNumElements() != to.getNumElements() || from.getElementType() != to.getElementType())
    return emitOpError("cannot make ") << to << " of " << from << ": element counts or types differ";
  return success();
}

SmallVector<Value> ReshapeOp::buildGradient(OpBuilder &builder, ValueRange gradients) {
  return {GraphBuilder(builder, getLoc()).reshape(gradients[0], shapeOf(getInput()))};
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getInput()))
    return dense.reshape(cast<ShapedType>(getType()));
  return {};
}

namespace {
struct MergeReshapes : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<ReshapeOp>();
    if (!inner)
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), inner.getInput());
    return success();
  }
};

struct MergeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<TransposeOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> permutation;
    for (int64_t dim : op.getPermutation())
      permutation.push_back(inner.getPermutation()[dim]);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), inner.getInput(), permutation);
    return success();
  }
};

struct MergeBroadcasts : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<BroadcastOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> dims;
    for (int64_t dim : inner.getDims())
      dims.push_back(op.getDims()[dim]);
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), inner.getInput(), dims);
    return success();
  }
};
} // namespace

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeReshapes>(context);
}

//===-- transpose ---------------------------------------------------------===//

FailureOr<IterationSpace> TransposeOp::getIterationSpace() {
  IterationSpace space;
  SpaceTensor operand, result;
  for (auto [i, size] : enumerate(shapeOf(getInput())))
    operand.push_back({space.addName(numbered('i', i), size)});
  for (int64_t dim : getPermutation())
    result.push_back(operand[dim]);
  space.operands = {operand};
  space.results = {result};
  return bound(getOperation(), std::move(space));
}

LogicalResult TransposeOp::verify() {
  size_t rank = shapeOf(getInput()).size();
  SmallVector<bool> seen(rank, false);
  if (getPermutation().size() != rank)
    return emitOpError("permutation has ") << getPermutation().size() << " dims, input has " << rank;
  for (int64_t dim : getPermutation()) {
    if (dim < 0 || dim >= int64_t(rank) || seen[dim])
      return emitOpError("permutation is not one of 0 .. ") << rank - 1;
    seen[dim] = true;
  }
  return verifyIterationSpace(getOperation());
}

SmallVector<Value> TransposeOp::buildGradient(OpBuilder &builder, ValueRange gradients) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [i, dim] : enumerate(getPermutation()))
    inverse[dim] = i;
  return {GraphBuilder(builder, getLoc()).transpose(gradients[0], inverse)};
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (is_sorted(getPermutation()))
    return getInput();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getInput()))
    return splat.resizeSplat(cast<ShapedType>(getType()));
  return {};
}

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeTransposes>(context);
}

//===-- broadcast ---------------------------------------------------------===//

FailureOr<IterationSpace> BroadcastOp::getIterationSpace() {
  IterationSpace space;
  SpaceTensor operand, result;
  for (auto [i, size] : enumerate(shapeOf(getResult())))
    result.push_back({space.addName(numbered('i', i), size)});
  for (int64_t dim : getDims())
    operand.push_back(result[dim]);
  space.operands = {operand};
  space.results = {result};
  return bound(getOperation(), std::move(space));
}

LogicalResult BroadcastOp::verify() {
  int64_t rank = shapeOf(getResult()).size(), last = -1;
  if (getDims().size() != shapeOf(getInput()).size())
    return emitOpError("dims has ") << getDims().size() << " entries, input has rank " << shapeOf(getInput()).size();
  for (int64_t dim : getDims()) {
    if (dim <= last || dim >= rank)
      return emitOpError("dims must be increasing and below the result's rank ") << rank;
    last = dim;
  }
  return verifyIterationSpace(getOperation());
}

SmallVector<Value> BroadcastOp::buildGradient(OpBuilder &builder, ValueRange gradients) {
  SmallVector<int64_t> added;
  for (int64_t dim = 0, rank = shapeOf(getResult()).size(); dim < rank; ++dim)
    if (!is_contained(getDims(), dim))
      added.push_back(dim);
  return {GraphBuilder(builder, getLoc()).reduce(ReduceKind::Sum, gradients[0], added)};
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getInput()))
    return splat.resizeSplat(cast<ShapedType>(getType()));
  return {};
}

void BroadcastOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeBroadcasts>(context);
}

//===-- slice and pad -----------------------------------------------------===//

/// Dims taken whole share a name; the others stay whole on both sides.
static IterationSpace windowSpace(const Shape &from, const Shape &to, ArrayRef<int64_t> strides) {
  IterationSpace space;
  SpaceTensor operand, result;
  for (size_t i = 0; i < from.size(); ++i) {
    bool same = from[i] == to[i] && strides[i] == 1;
    operand.push_back({space.addName(numbered('i', i), from[i], !same)});
    result.push_back(same ? operand[i] : SpaceDim{space.addName(numbered('o', i), to[i], true)});
  }
  space.operands = {operand};
  space.results = {result};
  return space;
}

/// Checks that window [offset + j * stride, j < inner) lies in [0, outer) for each dim.
static LogicalResult verifyWindow(Operation *op, const Shape &outer, const Shape &inner, ArrayRef<int64_t> offsets,
                                  ArrayRef<int64_t> strides) {
  if (outer.size() != inner.size() || offsets.size() != outer.size() || strides.size() != outer.size())
    return op->emitOpError("offsets, strides and both shapes must have one entry a dim");
  for (size_t i = 0; i < outer.size(); ++i) {
    int64_t last = offsets[i] + (inner[i] - 1) * strides[i];
    if (strides[i] == 0 || offsets[i] < 0 || offsets[i] >= outer[i] || last < 0 || last >= outer[i])
      return op->emitOpError("dim ") << i << ": elements " << offsets[i] << " to " << last << " are outside 0 .. "
                                     << outer[i] - 1;
  }
  return verifyIterationSpace(op);
}

FailureOr<IterationSpace> SliceOp::getIterationSpace() {
  return bound(getOperation(), windowSpace(shapeOf(getInput()), shapeOf(getResult()), getStrides()));
}

LogicalResult SliceOp::verify() {
  return verifyWindow(getOperation(), shapeOf(getInput()), shapeOf(getResult()), getOffsets(), getStrides());
}

SmallVector<Value> SliceOp::buildGradient(OpBuilder &builder, ValueRange gradients) {
  return {GraphBuilder(builder, getLoc()).pad(gradients[0], shapeOf(getInput()), getOffsets(), getStrides())};
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType() && all_of(getStrides(), [](int64_t stride) { return stride == 1; }))
    return getInput();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getInput()))
    return splat.resizeSplat(cast<ShapedType>(getType()));
  return {};
}

FailureOr<IterationSpace> PadOp::getIterationSpace() {
  return bound(getOperation(), windowSpace(shapeOf(getInput()), shapeOf(getResult()), getStrides()));
}

LogicalResult PadOp::verify() {
  return verifyWindow(getOperation(), shapeOf(getResult()), shapeOf(getInput()), getOffsets(), getStrides());
}

SmallVector<Value> PadOp::buildGradient(OpBuilder &builder, ValueRange gradients) {
  return {GraphBuilder(builder, getLoc()).slice(gradients[0], shapeOf(getInput()), getOffsets(), getStrides())};
}

//===-- concat ------------------------------------------------------------===//

FailureOr<IterationSpace> ConcatOp::getIterationSpace() {
  IterationSpace space;
  SpaceTensor result;
  Shape to = shapeOf(getResult());
  for (auto [i, size] : enumerate(to))
    result.push_back({space.addName(numbered('i', i), size, int64_t(i) == int64_t(getDim()))});
  for (auto [index, input] : enumerate(getInputs())) {
    Shape shape = shapeOf(input);
    SpaceTensor operand = result;
    if (getDim() < operand.size() && shape.size() == to.size())
      operand[getDim()] = {space.addName(numbered('c', index), shape[getDim()], true)};
    space.operands.push_back(operand);
  }
  space.results = {result};
  return bound(getOperation(), std::move(space));
}

LogicalResult ConcatOp::verify() {
  Shape to = shapeOf(getResult());
  if (getInputs().empty() || getDim() >= to.size())
    return emitOpError("needs inputs and a dim below the rank ") << to.size();
  int64_t total = 0;
  for (Value input : getInputs()) {
    Shape shape = shapeOf(input);
    if (shape.size() != to.size() || elementOf(input) != elementOf(getResult()))
      return emitOpError("inputs and result must have one rank and element type");
    total += shape[getDim()];
  }
  if (total != to[getDim()])
    return emitOpError("inputs have ") << total << " elements along dim " << getDim() << ", the result has "
                                       << to[getDim()];
  return verifyIterationSpace(getOperation());
}

SmallVector<Value> ConcatOp::buildGradient(OpBuilder &builder, ValueRange gradients) {
  GraphBuilder g(builder, getLoc());
  SmallVector<Value> results;
  SmallVector<int64_t> offsets(shapeOf(getResult()).size(), 0), ones(offsets.size(), 1);
  for (Value input : getInputs()) {
    Shape shape = shapeOf(input);
    results.push_back(g.slice(gradients[0], shape, offsets, ones));
    offsets[getDim()] += shape[getDim()];
  }
  return results;
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 ? OpFoldResult(getInputs()[0]) : OpFoldResult();
}

} // namespace echelon::graph

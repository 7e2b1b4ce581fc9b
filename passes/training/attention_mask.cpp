// SPDX-License-Identifier: Apache-2.0
//
// Reads a constant mask through its views; a dim that only repeats (stride 0) is looked at once.
#include "passes/training/attention_mask.h"

#include "dialects/graph/builders.h"
#include <optional>

using namespace mlir;
using namespace llvm;
using namespace echelon::graph;

namespace echelon::training {

namespace {

struct ConstantView {
  DenseElementsAttr values;
  StridedView view;
  bool inverted = false; ///< a logical not on the way
};

std::optional<ConstantView> viewOf(Value value) {
  SmallVector<Operation *> chain;
  ConstantView result;
  while (Operation *op = value.getDefiningOp()) {
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      result.values = dyn_cast<DenseElementsAttr>(constant.getValue());
      if (!result.values)
        return std::nullopt;
      result.view = StridedView::dense(shapeOf(value));
      if (result.values.isSplat())
        std::fill(result.view.strides.begin(), result.view.strides.end(), 0);
      break;
    }
    auto unary = dyn_cast<UnaryOp>(op);
    if (unary && unary.getKind() == UnaryKind::Not)
      result.inverted = !result.inverted;
    else if (!isa<ReshapeOp, BroadcastOp, TransposeOp, SliceOp>(op))
      return std::nullopt;
    chain.push_back(op);
    value = op->getOperand(0);
  }
  if (!result.values)
    return std::nullopt;
  for (Operation *op : llvm::reverse(chain)) {
    Shape shape = shapeOf(op->getResult(0));
    if (isa<ReshapeOp>(op)) {
      std::optional<StridedView> reshaped = result.view.reshape(shape);
      if (!reshaped)
        return std::nullopt;
      result.view = *reshaped;
    } else if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      result.view = result.view.broadcast(shape, broadcast.getDims());
    } else if (auto transpose = dyn_cast<TransposeOp>(op)) {
      result.view = result.view.permute(transpose.getPermutation());
    } else if (auto slice = dyn_cast<SliceOp>(op)) {
      result.view = result.view.slice(shape, slice.getOffsets(), slice.getStrides());
    }
  }
  return result;
}

/// Element `index` as a number: booleans are 0 and 1.
double numberAt(DenseElementsAttr values, int64_t index) {
  if (isa<FloatType>(values.getElementType()))
    return values.getValues<APFloat>()[index].convertToDouble();
  return double(values.getValues<APInt>()[index].getZExtValue());
}

/// 1 seen, 0 hidden, -1 neither.
int seen(double value, MaskForm form, bool inverted) {
  if (form == MaskForm::Additive)
    return value == 0 ? 1 : value <= -1e4 ? 0 : -1;
  bool truth = (value != 0) != inverted;
  return truth == (form == MaskForm::SeenIfTrue);
}

} // namespace

MaskClass classifyMask(Value mask, MaskForm form) {
  std::optional<ConstantView> constant = viewOf(mask);
  MaskClass result;
  if (!constant || constant->view.sizes.size() < 2 || (constant->inverted && form == MaskForm::Additive))
    return result;
  const StridedView &view = constant->view;
  int64_t rank = view.sizes.size(), queries = view.sizes[rank - 2], keys = view.sizes[rank - 1];
  // Leading dims that do not repeat are walked; all their squares must agree with the class.
  int64_t squares = 1;
  for (int64_t dim = 0; dim < rank - 2; ++dim)
    squares *= view.strides[dim] == 0 ? 1 : view.sizes[dim];
  int64_t offset = keys - queries, width = 0, longestPrefix = 0;
  bool all = true, causal = true;
  for (int64_t square = 0; square < squares; ++square) {
    int64_t base = view.offset, rest = square;
    for (int64_t dim = rank - 3; dim >= 0; --dim)
      if (view.strides[dim] != 0) {
        base += rest % view.sizes[dim] * view.strides[dim];
        rest /= view.sizes[dim];
      }
    for (int64_t i = 0; i < queries; ++i) {
      int64_t first = -1, last = -1, count = 0;
      for (int64_t j = 0; j < keys; ++j) {
        int see = seen(numberAt(constant->values, base + i * view.strides[rank - 2] + j * view.strides[rank - 1]),
                       form, constant->inverted);
        if (see < 0)
          return result;
        if (!see)
          continue;
        first = first < 0 ? j : first;
        last = j;
        ++count;
      }
      all &= count == keys;
      causal &= count > 0 && last == i + offset && count == last - first + 1;
      if (first > 0) { // a full window
        width = width ? width : count;
        causal &= count == width;
      } else {
        longestPrefix = std::max(longestPrefix, count);
      }
    }
  }
  if (all)
    result.kind = MaskClass::None;
  else if (causal && width == 0)
    result.kind = MaskClass::Causal;
  else if (causal && longestPrefix <= width)
    result = {MaskClass::Window, width};
  return result;
}

} // namespace echelon::training

// SPDX-License-Identifier: Apache-2.0
//
// Views of data, cuts and joins, and sequences with constant positions.
#include "compiler/onnx/fold.h"
#include "compiler/onnx/shape_rules.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using mlir::Value;

namespace echelon::onnx_import {

static void importReshape(ImportCall &call) {
  Shape shape = reshapeShape(call);
  call.set(0, call.g.reshape(call.value(0), shape));
}
static void importFlatten(ImportCall &call) {
  call.set(0, call.g.reshape(call.value(0), flattenShape(call)));
}
static void importSqueeze(ImportCall &call) {
  call.set(0, call.g.reshape(call.value(0), squeezeShape(call)));
}
static void importUnsqueeze(ImportCall &call) {
  call.set(0, call.g.reshape(call.value(0), unsqueezeShape(call)));
}
static void importTranspose(ImportCall &call) {
  call.set(0, call.g.transpose(call.value(0), permutationOf(call)));
}

static void importExpand(ImportCall &call) {
  Shape shape = commonShape(call.shape(0), call.ints(1), call);
  call.set(0, call.value(0, shape));
}

static void importTile(ImportCall &call) {
  Shape shape = call.shape(0), repeats = call.ints(1), narrow, wide, dims,
        result;
  if (repeats.size() != shape.size())
    call.fail("has repeats " + textOf(repeats) + " for shape " + textOf(shape));
  for (auto [size, repeat] : zip_equal(shape, repeats)) {
    if (repeat < 1)
      call.fail("has repeats " + textOf(repeats));
    if (repeat > 1)
      wide.push_back(repeat);
    dims.push_back(wide.size());
    wide.push_back(size);
    result.push_back(elementsOf({repeat, size}));
  }
  Value spread = call.g.broadcast(call.value(0), wide, dims);
  call.set(0, call.g.reshape(spread, result));
}

static void importConcat(ImportCall &call) {
  Shape shape = call.shape(0);
  int64_t axis = call.axis(call.intAttr("axis", 0), shape.size());
  std::vector<Value> values;
  for (unsigned index = 0; index < call.node.inputs.size(); ++index) {
    Shape other = call.shape(index);
    bool fits = other.size() == shape.size();
    for (size_t dim = 0; fits && dim < shape.size(); ++dim)
      fits = int64_t(dim) == axis || other[dim] == shape[dim];
    if (!fits || call.type(index) != call.type(0))
      call.fail("joins shapes " + textOf(shape) + " and " + textOf(other) +
                " along axis " + Twine(axis));
    if (other[axis] != 0) // an empty part adds nothing
      values.push_back(call.value(index, Position::Concat));
  }
  if (values.empty())
    call.fail("joins only empty tensors");
  call.set(0, call.g.concat(values, axis));
}

static Value cut(ImportCall &call, Value x, const Window &window) {
  for (size_t dim = 0; dim < window.sizes.size(); ++dim)
    if (window.sizes[dim] == 0)
      call.fail("makes an empty tensor of shape " + textOf(window.sizes));
  bool isWhole = all_of(window.strides, [](int64_t step) { return step == 1; });
  if (isWhole && window.sizes == graph::shapeOf(x))
    return x;
  return call.g.slice(x, window.sizes, window.offsets, window.strides);
}

static void importSlice(ImportCall &call) {
  call.set(0, cut(call, call.value(0), sliceWindow(call)));
}

static void importSplit(ImportCall &call) {
  Value x = call.value(0);
  for (auto [index, window] : enumerate(splitWindows(call)))
    if (call.wants(index))
      call.set(index, cut(call, x, window));
}

static void importSplitToSequence(ImportCall &call) {
  Value x = call.value(0);
  Shape shape = call.shape(0);
  bool keepDims = call.has(1) || call.intAttr("keepdims", 1);
  int64_t axis = call.axis(call.intAttr("axis", 0), shape.size());
  std::vector<Value> parts;
  for (const Window &window : sequenceWindows(call)) {
    Value part = cut(call, x, window);
    if (!keepDims) {
      Shape without = window.sizes;
      without.erase(without.begin() + axis);
      part = call.g.reshape(part, without);
    }
    parts.push_back(part);
  }
  call.setSequence(0, std::move(parts));
}

static void importSequenceConstruct(ImportCall &call) {
  std::vector<Value> parts;
  for (unsigned index = 0; index < call.node.inputs.size(); ++index)
    parts.push_back(call.value(index));
  call.setSequence(0, std::move(parts));
}

static void importSequenceAt(ImportCall &call) {
  const std::vector<Value> &parts = call.sequence(0);
  Shape index = call.ints(1);
  int64_t count = parts.size();
  if (index.size() != 1 || index[0] < -count || index[0] >= count)
    call.fail("takes element " + textOf(index) + " of a sequence of " +
              Twine(count));
  call.set(0, parts[index[0] < 0 ? index[0] + count : index[0]]);
}

static void importConcatFromSequence(ImportCall &call) {
  const std::vector<Value> &parts = call.sequence(0);
  if (parts.empty() || call.intAttr("new_axis", 0))
    call.fail("of no parts or with new_axis is not supported");
  Shape shape = graph::shapeOf(parts[0]);
  int64_t axis = call.axis(call.intAttr("axis", 0), shape.size());
  for (Value part : parts) {
    Shape other = graph::shapeOf(part);
    if (other.size() == shape.size())
      other[axis] = shape[axis];
    if (other != shape)
      call.fail("joins shapes " + textOf(shape) + " and " +
                textOf(graph::shapeOf(part)));
  }
  call.set(0, call.g.concat(parts, axis));
}

ArrayRef<OpRow> shapeRows() {
  static const OpRow rows[] = {
      {"Reshape", 5, importReshape, foldReshape},
      {"Flatten", 1, importFlatten, foldFlatten},
      {"Squeeze", 1, importSqueeze, foldSqueeze},
      {"Unsqueeze", 1, importUnsqueeze, foldUnsqueeze},
      {"Transpose", 1, importTranspose, foldTranspose},
      {"Expand", 8, importExpand, foldExpand},
      {"Tile", 6, importTile, foldTile},
      {"Concat", 4, importConcat, foldConcat},
      {"Slice", 1, importSlice, foldSlice},
      {"Split", 2, importSplit, foldSplit},
      {"SplitToSequence", 11, importSplitToSequence, nullptr},
      {"SequenceConstruct", 11, importSequenceConstruct, nullptr},
      {"SequenceAt", 11, importSequenceAt, nullptr},
      {"ConcatFromSequence", 11, importConcatFromSequence, nullptr},
  };
  return rows;
}

/// Ops that never depend on data, only on sizes.
ArrayRef<OpRow> constantRows() {
  static const OpRow rows[] = {
      {"Shape", 1, nullptr, foldShapeOf},
      {"Size", 1, nullptr, foldSizeOf},
      {"Range", 11, nullptr, foldRange},
      {"ConstantOfShape", 9, nullptr, foldConstantOfShape},
      {"EyeLike", 9, nullptr, foldEyeLike},
      {"OneHot", 9, nullptr, foldOneHot},
      {"CumSum", 11, nullptr, foldCumSum},
      {"ScatterND", 11, nullptr, foldScatterNd},
  };
  return rows;
}

} // namespace echelon::onnx_import

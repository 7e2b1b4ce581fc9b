// SPDX-License-Identifier: Apache-2.0
//
// Shape arithmetic of view ops, slices, splits and reductions.
#include "compiler/onnx/shape_rules.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace llvm;

namespace echelon::onnx_import {

Shape reshapeShape(OpCall &call) {
  Shape from = call.info(0).shape, to = call.ints(1);
  bool allowZero = call.intAttr("allowzero", 0);
  int64_t known = 1, inferred = -1;
  for (auto [index, size] : enumerate(to)) {
    if (size == 0 && !allowZero) {
      if (index >= from.size())
        call.fail("copies dim " + Twine(index) + " of " + textOf(from) +
                  ", which has no such dim");
      size = from[index];
    }
    if (size == -1) {
      if (inferred >= 0)
        call.fail("target " + textOf(to) + " has two dims of -1");
      inferred = int64_t(index);
      continue;
    }
    if (size < 0)
      call.fail("target " + textOf(to) + " has a negative size");
    known *= size;
    if (known > (int64_t(1) << 40))
      call.fail("target " + textOf(to) + " is too large");
  }
  int64_t count = elementsOf(from);
  if (inferred >= 0) {
    if (known == 0 || count % known)
      call.fail("cannot make " + textOf(to) + " of " + textOf(from) + ": " +
                Twine(count) + " elements do not divide by " + Twine(known));
    to[inferred] = count / known;
  } else if (known != count) {
    call.fail("cannot make " + textOf(to) + " of " + textOf(from) + ": " +
              Twine(known) + " and " + Twine(count) + " elements");
  }
  return to;
}

Shape flattenShape(OpCall &call) {
  Shape from = call.info(0).shape;
  int64_t rank = from.size(), axis = call.intAttr("axis", 1);
  if (axis < -rank || axis > rank)
    call.fail("has axis " + Twine(axis) + ", but its operand has rank " +
              Twine(rank));
  axis = axis < 0 ? axis + rank : axis;
  ArrayRef<int64_t> sizes(from);
  return {elementsOf(sizes.take_front(axis)),
          elementsOf(sizes.drop_front(axis))};
}

Shape squeezeShape(OpCall &call) {
  Shape from = call.info(0).shape, to;
  std::optional<Shape> given = call.intsAt(1, "axes");
  Shape axes;
  if (given)
    axes = call.axes(*given, from.size());
  for (auto [index, size] : enumerate(from)) {
    bool named = is_contained(axes, int64_t(index));
    if (named && size != 1)
      call.fail("removes dim " + Twine(index) + " of " + textOf(from) +
                ", which is not 1");
    if (given ? !named : size != 1)
      to.push_back(size);
  }
  return to;
}

Shape unsqueezeShape(OpCall &call) {
  Shape from = call.info(0).shape;
  std::optional<Shape> given = call.intsAt(1, "axes");
  if (!given)
    call.fail("lacks axes");
  int64_t rank = from.size() + given->size();
  Shape axes = call.axes(*given, rank), to;
  size_t next = 0;
  for (int64_t dim = 0; dim < rank; ++dim)
    to.push_back(is_contained(axes, dim) ? 1 : from[next++]);
  return to;
}

Shape permutationOf(OpCall &call) {
  int64_t rank = call.info(0).shape.size();
  Shape permutation;
  if (std::optional<Shape> given = call.intsAttr("perm"))
    permutation = *given;
  else
    for (int64_t dim = rank; dim-- > 0;)
      permutation.push_back(dim);
  Shape sorted = permutation;
  llvm::sort(sorted);
  bool isValid = int64_t(sorted.size()) == rank;
  for (auto [index, dim] : enumerate(sorted))
    isValid &= dim == int64_t(index);
  if (!isValid)
    call.fail("has perm " + textOf(permutation) +
              ", which is no permutation of rank " + Twine(rank));
  return permutation;
}

/// One dim of a slice (ONNX Slice-13: bounds clamp; negative ones count from
/// the end).
static void sliceDim(OpCall &call, Window &window, int64_t axis, int64_t start,
                     int64_t end, int64_t step) {
  int64_t size = window.sizes[axis];
  if (step == 0)
    call.fail("has a step of 0");
  // INT64_MIN + size stays negative, so no overflow below.
  start = start < 0 ? start + size : start;
  end = end < 0 ? end + size : end;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, size);
    end = std::clamp<int64_t>(end, 0, size);
  } else {
    start = std::clamp<int64_t>(start, size ? 0 : -1, size - 1);
    end = std::clamp<int64_t>(end, -1, size - 1);
  }
  int64_t distance = step > 0 ? end - start : start - end;
  // |step| as unsigned: -INT64_MIN does not exist.
  uint64_t stride = step > 0 ? uint64_t(step) : 0 - uint64_t(step);
  uint64_t count = distance <= 0 ? 0 : (uint64_t(distance) - 1) / stride + 1;
  window.offsets[axis] = start;
  window.sizes[axis] = int64_t(count);
  window.strides[axis] = count <= 1 ? 1 : step;
}

Window sliceWindow(OpCall &call) {
  Shape from = call.info(0).shape;
  std::optional<Shape> starts = call.intsAt(1, "starts");
  std::optional<Shape> ends = call.intsAt(2, "ends");
  if (!starts || !ends)
    call.fail("lacks starts or ends");
  std::optional<Shape> axes = call.intsAt(3, "axes");
  Shape steps = call.has(4) ? call.ints(4) : Shape(starts->size(), 1);
  if (!axes) {
    axes.emplace();
    for (size_t index = 0; index < starts->size(); ++index)
      axes->push_back(index);
  }
  if (ends->size() != starts->size() || axes->size() != starts->size() ||
      steps.size() != starts->size())
    call.fail("has " + Twine(starts->size()) + " starts, " +
              Twine(ends->size()) + " ends, " + Twine(axes->size()) +
              " axes and " + Twine(steps.size()) + " steps");
  call.axes(*axes, from.size()); // in range, and none twice
  Window window{Shape(from.size(), 0), from, Shape(from.size(), 1)};
  for (size_t i = 0; i < starts->size(); ++i)
    sliceDim(call, window, call.axis((*axes)[i], from.size()), (*starts)[i],
             (*ends)[i], steps[i]);
  return window;
}

static std::vector<Window> windowsAlong(OpCall &call, int64_t axis,
                                        ArrayRef<int64_t> sizes) {
  Shape from = call.info(0).shape;
  int64_t offset = 0;
  std::vector<Window> windows;
  for (int64_t size : sizes) {
    Window &window = windows.emplace_back(
        Window{Shape(from.size(), 0), from, Shape(from.size(), 1)});
    window.offsets[axis] = offset;
    window.sizes[axis] = size;
    if (size < 0 || size > from[axis] - offset)
      call.fail("cannot cut dim " + Twine(axis) + " of " + textOf(from) +
                " into " + textOf(sizes));
    offset += size;
  }
  if (offset != from[axis])
    call.fail("cuts dim " + Twine(axis) + " of " + textOf(from) + " into " +
              textOf(sizes) + ", which is not all of it");
  return windows;
}

/// Parts of `part` elements, the last one smaller.
static Shape equalParts(OpCall &call, int64_t size, int64_t part) {
  Shape sizes;
  if (part <= 0 || size / part > 65536)
    call.fail("has parts of size " + Twine(part) + " of a dim of size " +
              Twine(size));
  for (int64_t at = 0; at < size; at += part)
    sizes.push_back(std::min(part, size - at));
  return sizes;
}

std::vector<Window> splitWindows(OpCall &call) {
  Shape from = call.info(0).shape;
  int64_t axis = call.axis(call.intAttr("axis", 0), from.size());
  std::optional<Shape> sizes = call.intsAt(1, "split");
  if (!sizes) {
    // num_outputs since opset 18: chunks of the rounded-up size.
    int64_t count = call.intAttr("num_outputs", call.node.outputs.size());
    if (count <= 0)
      call.fail("has num_outputs " + Twine(count));
    if (call.node.version < 18 && from[axis] % count)
      call.fail("cannot cut dim " + Twine(axis) + " of " + textOf(from) +
                " into " + Twine(count) + " equal parts");
    sizes = equalParts(call, from[axis],
                       std::max<int64_t>(1, (from[axis] + count - 1) / count));
  }
  if (sizes->size() != call.node.outputs.size())
    call.fail("has " + Twine(call.node.outputs.size()) + " outputs for " +
              Twine(sizes->size()) + " parts");
  return windowsAlong(call, axis, *sizes);
}

std::vector<Window> sequenceWindows(OpCall &call) {
  Shape from = call.info(0).shape;
  int64_t axis = call.axis(call.intAttr("axis", 0), from.size());
  if (!call.has(1))
    return windowsAlong(call, axis, equalParts(call, from[axis], 1));
  Shape split = call.ints(1);
  if (call.info(1).shape.empty())
    return windowsAlong(call, axis, equalParts(call, from[axis], split[0]));
  return windowsAlong(call, axis, split);
}

Reduction reductionOf(OpCall &call) {
  Shape from = call.info(0).shape;
  std::optional<Shape> given = call.intsAt(1, "axes");
  Reduction result;
  if (given && !given->empty())
    result.axes = call.axes(*given, from.size());
  else if (!call.intAttr("noop_with_empty_axes", 0))
    for (size_t dim = 0; dim < from.size(); ++dim)
      result.axes.push_back(dim);
  bool keepDims = call.intAttr("keepdims", 1);
  for (auto [index, size] : enumerate(from)) {
    bool isReduced = is_contained(result.axes, int64_t(index));
    if (!isReduced)
      result.kept.push_back(size);
    if (!isReduced || keepDims)
      result.result.push_back(isReduced ? 1 : size);
  }
  return result;
}

} // namespace echelon::onnx_import

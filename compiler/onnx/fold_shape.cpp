// SPDX-License-Identifier: Apache-2.0
//
// Views and copies on the host. A view of contiguous elements shares storage.
#include "compiler/onnx/fold.h"
#include "compiler/onnx/shape_rules.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cstring>

using namespace llvm;

namespace echelon::onnx_import {

/// A constant width keeps memcpy from being a call.
template <int Width>
static void copyElements(const uint8_t *from, uint8_t *to, const Shape &shape,
                         int64_t count, int64_t offset,
                         ArrayRef<int64_t> strides) {
  Shape at(shape.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * Width, from + offset * Width, Width);
    for (size_t dim = shape.size(); dim-- > 0;) {
      offset += strides[dim];
      if (++at[dim] < shape[dim])
        break;
      offset -= strides[dim] * shape[dim];
      at[dim] = 0;
    }
  }
}

HostTensor copyStrided(const HostTensor &input, const Shape &shape,
                       int64_t offset, ArrayRef<int64_t> strides) {
  uint8_t *bytes;
  HostTensor result = HostTensor::allocate(input.type, shape, bytes);
  int64_t width = bytesOf(input.type);
  auto copy = width == 1   ? copyElements<1>
              : width == 2 ? copyElements<2>
              : width == 4 ? copyElements<4>
                           : copyElements<8>;
  copy(input.data, bytes, shape, result.size(), offset, strides);
  return result;
}

static void setView(FoldCall &call, Shape shape) {
  HostTensor view = call.constant(0);
  view.shape = std::move(shape);
  call.set(0, view);
}

void foldIdentity(FoldCall &call) { call.set(0, call.constant(0)); }
void foldReshape(FoldCall &call) { setView(call, reshapeShape(call)); }
void foldFlatten(FoldCall &call) { setView(call, flattenShape(call)); }
void foldSqueeze(FoldCall &call) { setView(call, squeezeShape(call)); }
void foldUnsqueeze(FoldCall &call) { setView(call, unsqueezeShape(call)); }

void foldTranspose(FoldCall &call) {
  const HostTensor &input = call.constant(0);
  Shape own = stridesOf(input.shape), shape, strides;
  for (int64_t dim : permutationOf(call)) {
    shape.push_back(input.shape[dim]);
    strides.push_back(own[dim]);
  }
  call.set(0, copyStrided(input, shape, 0, strides));
}

static HostTensor broadcastTo(const HostTensor &input, const Shape &shape) {
  Shape own = stridesOf(input.shape), strides(shape.size(), 0);
  size_t lead = shape.size() - input.shape.size();
  for (size_t dim = 0; dim < input.shape.size(); ++dim)
    strides[lead + dim] = input.shape[dim] == 1 ? 0 : own[dim];
  return copyStrided(input, shape, 0, strides);
}

void foldExpand(FoldCall &call) {
  const HostTensor &input = call.constant(0);
  Shape shape = commonShape(input.shape, call.ints(1), call);
  call.set(0, shape == input.shape ? input : broadcastTo(input, shape));
}

void foldConcat(FoldCall &call) {
  const HostTensor &first = call.constant(0);
  int64_t axis = call.axis(call.intAttr("axis", 0), first.shape.size());
  Shape shape = first.shape;
  shape[axis] = 0;
  unsigned count = call.node.inputs.size();
  for (unsigned index = 0; index < count; ++index) {
    const HostTensor &input = call.constant(index);
    Shape other = input.shape;
    if (input.type != first.type || other.size() != shape.size())
      call.fail("joins tensors of different types or ranks");
    shape[axis] += other[axis];
    other[axis] = shape[axis];
    if (other != shape)
      call.fail("joins shapes " + textOf(first.shape) + " and " +
                textOf(input.shape) + " along axis " + Twine(axis));
  }
  uint8_t *bytes;
  HostTensor result = HostTensor::allocate(first.type, shape, bytes);
  ArrayRef<int64_t> sizes(shape);
  int64_t rows = elementsOf(sizes.take_front(axis)),
          width = bytesOf(first.type);
  int64_t inner = elementsOf(sizes.drop_front(axis + 1)) * width;
  for (int64_t row = 0; row < rows; ++row)
    for (unsigned index = 0; index < count; ++index) {
      const HostTensor &input = call.constant(index);
      int64_t piece = input.shape[axis] * inner;
      std::memcpy(bytes, input.data + row * piece, piece);
      bytes += piece;
    }
  call.set(0, result);
}

static HostTensor cut(const HostTensor &input, const Window &window) {
  Shape strides = stridesOf(input.shape);
  int64_t offset = 0;
  for (size_t dim = 0; dim < strides.size(); ++dim) {
    offset += window.offsets[dim] * strides[dim];
    strides[dim] *= window.strides[dim];
  }
  return copyStrided(input, window.sizes, offset, strides);
}

void foldSlice(FoldCall &call) {
  call.set(0, cut(call.constant(0), sliceWindow(call)));
}

void foldSplit(FoldCall &call) {
  for (auto [index, window] : enumerate(splitWindows(call)))
    call.set(index, cut(call.constant(0), window));
}

void foldTile(FoldCall &call) {
  const HostTensor &input = call.constant(0);
  Shape repeats = call.ints(1), shape = input.shape;
  if (repeats.size() != shape.size())
    call.fail("has repeats " + textOf(repeats) + " for shape " + textOf(shape));
  // [a, b] repeated (r, s) is [r, a, s, b] with strides 0 for r and s.
  Shape own = stridesOf(input.shape), wide, strides;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    wide.append({repeats[dim], shape[dim]});
    strides.append({0, own[dim]});
    shape[dim] = elementsOf({repeats[dim], shape[dim]});
  }
  HostTensor result = copyStrided(input, wide, 0, strides);
  result.shape = shape;
  call.set(0, result);
}

void foldShapeOf(FoldCall &call) {
  Shape shape = call.info(0).shape;
  int64_t rank = shape.size();
  auto bound = [&](StringRef name, int64_t whenAbsent) {
    int64_t value = call.intAttr(name, whenAbsent);
    return std::clamp<int64_t>(value < 0 ? value + rank : value, 0, rank);
  };
  int64_t start = bound("start", 0), end = std::max(start, bound("end", rank));
  ArrayRef<int64_t> part = ArrayRef<int64_t>(shape).slice(start, end - start);
  call.set(0, HostTensor::fromIntegers(DataType::I64, {end - start}, part));
}

void foldSizeOf(FoldCall &call) {
  call.set(0, HostTensor::fromIntegers(DataType::I64, {},
                                       {elementsOf(call.info(0).shape)}));
}

} // namespace echelon::onnx_import

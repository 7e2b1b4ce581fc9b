// SPDX-License-Identifier: Apache-2.0
//
// Gathers, scatters and generators on the host.
#include "compiler/onnx/fold.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <cstring>

using namespace llvm;

namespace echelon::onnx_import {

/// An index counted from the front; throws when outside the dim.
static int64_t checkedIndex(FoldCall &call, int64_t index, int64_t size) {
  if (index < -size || index >= size)
    call.fail("has index " + Twine(index) + " into a dim of size " +
              Twine(size));
  return index < 0 ? index + size : index;
}

void foldGather(FoldCall &call) {
  const HostTensor &data = call.constant(0), &indices = call.constant(1);
  int64_t axis = call.axis(call.intAttr("axis", 0), data.shape.size());
  ArrayRef<int64_t> sizes(data.shape);
  int64_t outer = elementsOf(sizes.take_front(axis));
  int64_t piece = elementsOf(sizes.drop_front(axis + 1)) * bytesOf(data.type);
  Shape shape(sizes.take_front(axis));
  shape.append(indices.shape);
  shape.append(sizes.drop_front(axis + 1).begin(), sizes.end());
  uint8_t *bytes;
  HostTensor result = HostTensor::allocate(data.type, shape, bytes);
  std::vector<int64_t> at = indices.integers();
  for (int64_t row = 0; row < outer; ++row)
    for (int64_t index : at) {
      int64_t from = row * sizes[axis] + checkedIndex(call, index, sizes[axis]);
      std::memcpy(bytes, data.data + from * piece, piece);
      bytes += piece;
    }
  call.set(0, result);
}

void foldGatherNd(FoldCall &call) {
  const HostTensor &data = call.constant(0), &indices = call.constant(1);
  int64_t batch = call.intAttr("batch_dims", 0);
  int64_t rank = data.shape.size(), indexRank = indices.shape.size();
  if (indexRank == 0 || batch < 0 || batch >= std::min(rank, indexRank))
    call.fail("has batch_dims " + Twine(batch) + " for ranks " + Twine(rank) +
              " and " + Twine(indexRank));
  int64_t depth = indices.shape.back();
  if (depth < 1 || batch + depth > rank)
    call.fail("has indices of depth " + Twine(depth) + " into rank " +
              Twine(rank));
  ArrayRef<int64_t> sizes(data.shape), places(indices.shape);
  if (sizes.take_front(batch) != places.take_front(batch))
    call.fail("has batch dims " + textOf(sizes.take_front(batch)) + " and " +
              textOf(places.take_front(batch)));
  ArrayRef<int64_t> rest = sizes.drop_front(batch + depth);
  Shape shape(places.drop_back()), strides = stridesOf(data.shape);
  shape.append(rest.begin(), rest.end());
  int64_t piece = elementsOf(rest), width = bytesOf(data.type);
  int64_t batches = elementsOf(sizes.take_front(batch));
  int64_t perBatch = batches ? elementsOf(places.drop_back()) / batches : 0;
  int64_t batchStride = elementsOf(sizes.drop_front(batch));
  uint8_t *bytes;
  HostTensor result = HostTensor::allocate(data.type, shape, bytes);
  for (int64_t row = 0, count = batches * perBatch; row < count; ++row) {
    int64_t from = row / perBatch * batchStride;
    for (int64_t k = 0; k < depth; ++k)
      from += strides[batch + k] *
              checkedIndex(call, indices.integer(row * depth + k),
                           sizes[batch + k]);
    std::memcpy(bytes + row * piece * width, data.data + from * width,
                piece * width);
  }
  call.set(0, result);
}

void foldGatherElements(FoldCall &call) {
  const HostTensor &data = call.constant(0), &indices = call.constant(1);
  int64_t rank = data.shape.size();
  int64_t axis = call.axis(call.intAttr("axis", 0), rank);
  if (int64_t(indices.shape.size()) != rank)
    call.fail("has indices of rank " + Twine(indices.shape.size()) +
              " into rank " + Twine(rank));
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != axis && indices.shape[dim] > data.shape[dim])
      call.fail("has indices of shape " + textOf(indices.shape) + " into " +
                textOf(data.shape));
  Shape strides = stridesOf(data.shape), own = stridesOf(indices.shape);
  int64_t width = bytesOf(data.type);
  uint8_t *bytes;
  HostTensor result = HostTensor::allocate(data.type, indices.shape, bytes);
  for (int64_t i = 0, count = indices.size(); i < count; ++i) {
    int64_t from = 0, left = i;
    for (int64_t dim = 0; dim < rank; ++dim) {
      int64_t place = left / own[dim];
      left %= own[dim];
      if (dim == axis)
        place = checkedIndex(call, indices.integer(i), data.shape[dim]);
      from += place * strides[dim];
    }
    std::memcpy(bytes + i * width, data.data + from * width, width);
  }
  call.set(0, result);
}

void foldScatterNd(FoldCall &call) {
  const HostTensor &data = call.constant(0), &indices = call.constant(1),
                   &updates = call.constant(2);
  if (call.textAttr("reduction", "none") != "none")
    call.fail("with a reduction is not supported on constants");
  if (indices.shape.empty() ||
      indices.shape.back() > int64_t(data.shape.size()) ||
      indices.shape.back() < 1)
    call.fail("has indices of shape " + textOf(indices.shape) + " into " +
              textOf(data.shape));
  int64_t depth = indices.shape.back();
  ArrayRef<int64_t> sizes(data.shape);
  int64_t piece = elementsOf(sizes.drop_front(depth)) * bytesOf(data.type);
  int64_t rows = elementsOf(ArrayRef<int64_t>(indices.shape).drop_back());
  if (updates.type != data.type || updates.bytes() != rows * piece)
    call.fail("has updates of shape " + textOf(updates.shape) +
              " for indices " + textOf(indices.shape));
  uint8_t *bytes;
  HostTensor result = HostTensor::allocate(data.type, data.shape, bytes);
  std::memcpy(bytes, data.data, data.bytes());
  for (int64_t row = 0; row < rows; ++row) {
    int64_t to = 0;
    for (int64_t k = 0; k < depth; ++k)
      to = to * sizes[k] +
           checkedIndex(call, indices.integer(row * depth + k), sizes[k]);
    std::memcpy(bytes + to * piece, updates.data + row * piece, piece);
  }
  call.set(0, result);
}

/// Elements of a range; throws before an absurd count is allocated.
static int64_t rangeCount(FoldCall &call, double count) {
  if (!(count <= double(int64_t(1) << 26)))
    call.fail("makes " + Twine(int64_t(std::min(count, 1e18))) + " elements");
  return std::max<int64_t>(0, int64_t(std::ceil(count)));
}

void foldRange(FoldCall &call) {
  const HostTensor &start = call.constant(0), &limit = call.constant(1),
                   &delta = call.constant(2);
  if (start.size() != 1 || limit.size() != 1 || delta.size() != 1)
    call.fail("needs scalar operands");
  double step = delta.real(0);
  if (step == 0 || std::isnan(step))
    call.fail("has a step of 0 or NaN");
  int64_t count = rangeCount(call, (limit.real(0) - start.real(0)) / step);
  if (isFloat(start.type)) {
    std::vector<double> values(count);
    for (int64_t i = 0; i < count; ++i)
      values[i] = start.real(0) + double(i) * step;
    call.set(0, HostTensor::fromReals(start.type, {count}, values));
    return;
  }
  std::vector<int64_t> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = int64_t(uint64_t(start.integer(0)) +
                        uint64_t(i) * uint64_t(delta.integer(0)));
  call.set(0, HostTensor::fromIntegers(start.type, {count}, values));
}

void foldConstantOfShape(FoldCall &call) {
  HostTensor value = HostTensor::fromReals(DataType::F32, {}, {0});
  if (const onnx::TensorProto *given = call.tensorAttr("value"))
    value = TensorReader(call.model)
                .read(*given, nullptr, call.model.describe(call.node))
                .values;
  if (!value.data || value.size() != 1)
    call.fail("needs one value");
  Shape shape = call.ints(0);
  call.set(0, copyStrided(value, shape, 0, Shape(shape.size(), 0)));
}

void foldTrilu(FoldCall &call) {
  const HostTensor &input = call.constant(0);
  int64_t rank = input.shape.size();
  if (rank < 2)
    call.fail("needs a matrix, but has shape " + textOf(input.shape));
  int64_t diagonal = call.has(1) ? call.constant(1).integer(0) : 0;
  bool isUpper = call.intAttr("upper", 1);
  int64_t rows = input.shape[rank - 2], columns = input.shape[rank - 1];
  int64_t width = bytesOf(input.type);
  uint8_t *bytes;
  HostTensor result = HostTensor::allocate(input.type, input.shape, bytes);
  std::memcpy(bytes, input.data, input.bytes());
  diagonal = std::clamp(diagonal, -rows - 1, columns + 1);
  for (int64_t i = 0, count = input.size(); i < count; ++i) {
    int64_t column = i % columns, row = i / columns % rows;
    if (isUpper ? column - row < diagonal : column - row > diagonal)
      std::memset(bytes + i * width, 0, width);
  }
  call.set(0, result);
}

void foldCumSum(FoldCall &call) {
  const HostTensor &input = call.constant(0);
  int64_t axis = call.axis(call.constant(1).integer(0), input.shape.size());
  bool isReverse = call.intAttr("reverse", 0);
  bool isExclusive = call.intAttr("exclusive", 0);
  int64_t stride = stridesOf(input.shape)[axis], size = input.shape[axis];
  std::vector<double> reals;
  std::vector<int64_t> integers;
  bool real = isFloat(input.type);
  real ? void(reals = input.reals()) : void(integers = input.integers());
  for (int64_t i = 0, count = input.size(); i < count; ++i) {
    if (i / stride % size)
      continue; // not the first element of a line
    double sum = 0;
    uint64_t total = 0;
    for (int64_t k = 0; k < size; ++k) {
      int64_t at = i + (isReverse ? size - 1 - k : k) * stride;
      double before = sum;
      uint64_t beforeTotal = total;
      real ? void(sum += reals[at]) : void(total += uint64_t(integers[at]));
      if (real)
        reals[at] = isExclusive ? before : sum;
      else
        integers[at] = int64_t(isExclusive ? beforeTotal : total);
    }
  }
  call.set(0,
           real ? HostTensor::fromReals(input.type, input.shape, reals)
                : HostTensor::fromIntegers(input.type, input.shape, integers));
}

void foldEyeLike(FoldCall &call) {
  TensorInfo like = call.info(0);
  if (like.shape.size() != 2)
    call.fail("needs a matrix, but has shape " + textOf(like.shape));
  DataType type = dataTypeOf(int(call.intAttr("dtype", int(like.type))),
                             call.model.describe(call.node));
  requireFoldable(elementsOf(like.shape));
  std::vector<int64_t> values(elementsOf(like.shape), 0);
  int64_t k = call.intAttr("k", 0);
  for (int64_t row = 0; row < like.shape[0]; ++row)
    if (row + k >= 0 && row + k < like.shape[1])
      values[row * like.shape[1] + row + k] = 1;
  call.set(0, HostTensor::fromIntegers(type, like.shape, values));
}

void foldOneHot(FoldCall &call) {
  const HostTensor &indices = call.constant(0), &values = call.constant(2);
  int64_t depth = call.constant(1).integer(0);
  int64_t rank = indices.shape.size() + 1;
  int64_t axis = call.axis(call.intAttr("axis", -1), rank);
  if (values.size() != 2 || depth < 1)
    call.fail("needs two values and a positive depth");
  Shape shape = indices.shape;
  shape.insert(shape.begin() + axis, depth);
  int64_t width = bytesOf(values.type);
  int64_t inner = elementsOf(ArrayRef<int64_t>(indices.shape).drop_front(axis));
  uint8_t *bytes;
  HostTensor result = HostTensor::allocate(values.type, shape, bytes);
  for (int64_t i = 0, count = result.size(); i < count; ++i) {
    int64_t place = i / inner % depth;
    int64_t index = indices.integer(i / inner / depth * inner + i % inner);
    bool isHot = index == place || index + depth == place;
    std::memcpy(bytes + i * width, values.data + (isHot ? width : 0), width);
  }
  call.set(0, result);
}

} // namespace echelon::onnx_import

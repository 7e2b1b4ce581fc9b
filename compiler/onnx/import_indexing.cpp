// SPDX-License-Identifier: Apache-2.0
//
// Gather of a table's rows is an embedding; by constant indices that advance
// evenly it is a slice. GatherND is imported where constant indices make it a
// strided view.
#include "compiler/onnx/fold.h"
#include "compiler/onnx/graph_importer.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using mlir::Value;

namespace echelon::onnx_import {

/// A gather with more separate slices than this is no view.
static constexpr size_t kMaxSlices = 64;

/// Rows of a float table by integer indices.
static void importEmbedding(ImportCall &call) {
  if (isFloat(call.type(1)) || call.type(1) == DataType::Bool)
    call.fail(Twine("has indices of type ") + nameOf(call.type(1)));
  auto &g = call.g;
  Shape table = call.shape(0), result = call.shape(1);
  int64_t width = elementsOf(ArrayRef<int64_t>(table).drop_front());
  Value rows = g.reshape(call.value(0, Position::Embedding), {table[0], width});
  Value indices = g.convert(call.value(1), g.builder.getI64Type());
  Shape flat = result;
  flat.push_back(width);
  auto type = mlir::RankedTensorType::get(flat, graph::elementOf(rows));
  Value taken =
      g.builder.create<graph::EmbeddingOp>(g.loc, type, rows, indices);
  result.append(table.begin() + 1, table.end());
  call.set(0, g.reshape(taken, result));
}

namespace {
/// Places that advance by one step: first, first + step, ...
struct Run {
  int64_t first, step, count;
};
} // namespace

static std::vector<Run> runsOf(ArrayRef<int64_t> places) {
  std::vector<Run> runs;
  for (size_t at = 0; at < places.size();) {
    size_t end = at + 1;
    int64_t step = 1;
    if (end < places.size() && places[end] != places[at]) {
      step = places[end] - places[at];
      while (end < places.size() && places[end] - places[end - 1] == step)
        ++end;
    }
    runs.push_back({places[at], step, int64_t(end - at)});
    at = end;
  }
  return runs;
}

/// Data along `axis` at constant places: one slice a run, joined.
static Value takeAlong(ImportCall &call, Value x, int64_t axis,
                       ArrayRef<Run> runs) {
  Shape shape = graph::shapeOf(x);
  std::vector<Value> parts;
  for (const Run &run : runs) {
    Shape sizes = shape, offsets(shape.size(), 0), strides(shape.size(), 1);
    sizes[axis] = run.count;
    offsets[axis] = run.first;
    strides[axis] = run.step;
    bool isWhole = sizes == shape && run.step == 1;
    parts.push_back(isWhole ? x : call.g.slice(x, sizes, offsets, strides));
  }
  return call.g.concat(parts, axis);
}

static Shape placesAlong(ImportCall &call, const HostTensor &indices,
                         int64_t size) {
  std::vector<int64_t> values = indices.integers();
  Shape places(values.begin(), values.end());
  for (int64_t &place : places) {
    if (place < -size || place >= size)
      call.fail("has index " + Twine(place) + " into a dim of size " +
                Twine(size));
    place = place < 0 ? place + size : place;
  }
  if (places.empty())
    call.fail("takes nothing");
  return places;
}

static void importGather(ImportCall &call) {
  Shape data = call.shape(0), indexShape = call.shape(1);
  if (data.empty())
    call.fail("has a scalar operand");
  int64_t axis = call.axis(call.intAttr("axis", 0), data.size());
  bool isTable = axis == 0 && data.size() >= 2 && isFloat(call.type(0));
  if (!call.isConstant(1)) {
    if (!isTable)
      call.fail("of shape " + textOf(data) + " along axis " + Twine(axis) +
                " by computed indices is not supported; of the rows of a "
                "float table it is");
    importEmbedding(call);
    return;
  }
  // Indices that repeat along a dim (positions along the batch) are gathered
  // once and repeated.
  Compressed small = compress(call.constant(1));
  std::vector<Run> runs = runsOf(placesAlong(call, small.tensor, data[axis]));
  if (isTable && runs.size() > 1) {
    importEmbedding(call);
    return;
  }
  if (runs.size() > kMaxSlices)
    call.fail("takes " + Twine(runs.size()) +
              " constant places that are no regular pattern");
  Value table = call.value(0, isTable ? Position::Embedding : Position::Other);
  Value taken = takeAlong(call, table, axis, runs);
  Shape narrow(data.begin(), data.begin() + axis), result = narrow, dims;
  for (int64_t dim = 0; dim < axis; ++dim)
    dims.push_back(dim);
  for (int64_t dim : small.dims)
    dims.push_back(axis + dim);
  narrow.append(small.tensor.shape);
  result.append(indexShape);
  for (size_t dim = axis + 1; dim < data.size(); ++dim) {
    dims.push_back(result.size());
    narrow.push_back(data[dim]);
    result.push_back(data[dim]);
  }
  call.set(0, call.g.broadcast(call.g.reshape(taken, narrow), result, dims));
}

namespace {
/// GatherND's indices as a grid: place k of result position [j0, j1, ...] is
/// first[k] + j * steps[k] for the one grid dim j that drives k.
struct IndexGrid {
  Shape grid;                 ///< the result's leading dims
  Shape first, steps, counts; ///< by indexed dim of the data
  Shape drives;               ///< by grid dim: the indexed dim, -1: none
  bool isRegular = true;
};
} // namespace

static IndexGrid gridOf(ImportCall &call, const HostTensor &indices,
                        const Shape &data) {
  int64_t depth = indices.shape.back();
  auto place = [&](int64_t row, int64_t k) {
    int64_t value = indices.integer(row * depth + k);
    if (value < -data[k] || value >= data[k])
      call.fail("has index " + Twine(value) + " into a dim of size " +
                Twine(data[k]));
    return value < 0 ? value + data[k] : value;
  };
  IndexGrid result;
  result.grid.assign(indices.shape.begin(), indices.shape.end() - 1);
  result.drives.assign(result.grid.size(), -1);
  result.steps.assign(depth, 1);
  result.counts.assign(depth, 1);
  for (int64_t k = 0; k < depth; ++k)
    result.first.push_back(place(0, k));
  Shape strides = stridesOf(result.grid);
  int64_t last = -1;
  for (size_t j = 0; j < result.grid.size() && result.isRegular; ++j)
    for (int64_t k = 0; k < depth && result.grid[j] > 1; ++k) {
      int64_t step = place(strides[j], k) - result.first[k];
      if (step == 0)
        continue;
      result.isRegular &= result.drives[j] < 0 && k > last;
      result.drives[j] = last = k;
      result.steps[k] = step;
      result.counts[k] = result.grid[j];
    }
  for (int64_t row = 0, rows = elementsOf(result.grid); row < rows; ++row)
    for (int64_t k = 0; k < depth && result.isRegular; ++k) {
      int64_t expected = result.first[k];
      for (size_t j = 0; j < result.grid.size(); ++j)
        if (result.drives[j] == k)
          expected += row / strides[j] % result.grid[j] * result.steps[k];
      result.isRegular = place(row, k) == expected;
    }
  return result;
}

/// GatherND whose constant indices form a grid is a strided view.
static void importGatherNd(ImportCall &call) {
  Shape data = call.shape(0), indexShape = call.shape(1);
  if (!call.isConstant(1) || call.intAttr("batch_dims", 0) != 0 ||
      indexShape.empty())
    call.fail("by computed indices is not supported");
  size_t depth = size_t(indexShape.back());
  if (depth < 1 || depth > data.size() || elementsOf(indexShape) == 0)
    call.fail("has indices of shape " + textOf(indexShape) + " into " +
              textOf(data));
  IndexGrid grid = gridOf(call, call.constant(1), data);
  if (!grid.isRegular)
    call.fail("by constant indices that are no regular grid is not supported");
  Shape sizes = grid.counts, offsets = grid.first, strides = grid.steps, kept,
        result = grid.grid, dims;
  for (size_t k = 0; k < depth; ++k)
    if (is_contained(grid.drives, int64_t(k)))
      kept.push_back(grid.counts[k]);
  for (size_t j = 0; j < grid.grid.size(); ++j)
    if (grid.drives[j] >= 0)
      dims.push_back(int64_t(j));
  for (size_t k = depth; k < data.size(); ++k) {
    sizes.push_back(data[k]);
    offsets.push_back(0);
    strides.push_back(1);
    dims.push_back(int64_t(result.size()));
    result.push_back(data[k]);
    kept.push_back(data[k]);
  }
  Value view = call.g.slice(call.value(0), sizes, offsets, strides);
  call.set(0, call.g.broadcast(call.g.reshape(view, kept), result, dims));
}

static void importTrilu(ImportCall &call) {
  Shape shape = call.shape(0);
  int64_t rank = shape.size();
  if (rank < 2)
    call.fail("needs a matrix, but has shape " + textOf(shape));
  int64_t diagonal = call.has(1) ? call.ints(1)[0] : 0;
  bool isUpper = call.intAttr("upper", 1);
  int64_t rows = shape[rank - 2], columns = shape[rank - 1];
  requireFoldable(elementsOf({rows, columns}));
  std::vector<int64_t> keep(rows * columns);
  for (int64_t i = 0; i < rows * columns; ++i) {
    int64_t distance = i % columns - i / columns;
    keep[i] = isUpper ? distance >= diagonal : distance <= diagonal;
  }
  Value mask = call.g.broadcastTo(call.materialize(HostTensor::fromIntegers(
                                      DataType::Bool, {rows, columns}, keep)),
                                  shape);
  Value x = call.value(0);
  call.set(0, call.g.select(mask, x, call.g.splat(x.getType(), 0)));
}

ArrayRef<OpRow> indexingRows() {
  static const OpRow rows[] = {
      {"Gather", 1, importGather, foldGather},
      {"GatherND", 11, importGatherNd, foldGatherNd},
      {"GatherElements", 11, nullptr, foldGatherElements},
      {"Trilu", 14, importTrilu, foldTrilu},
  };
  return rows;
}

} // namespace echelon::onnx_import

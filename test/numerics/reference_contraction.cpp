// SPDX-License-Identifier: Apache-2.0
//
// Contractions, reductions and row normalizations of the reference interpreter.
#include "test/numerics/reference_ops.h"
#include <cmath>

using namespace llvm;

namespace echelon::test {

using Results = std::vector<RefTensor>;

namespace {
/// The names of an einsum that one loop nest runs over, with their strides in
/// left operand, right operand and result.
struct Loop {
  Shape sizes, a, b, c;

  std::vector<int64_t> places(const Shape &strides) const {
    std::vector<int64_t> result;
    forEachPlace(sizes, strides, 0,
                 [&](int64_t place) { result.push_back(place); });
    return result;
  }
};
} // namespace

static Shape nameStrides(const IterationSpace &space, const SpaceTensor &dims,
                         const Shape &shape) {
  Shape own = refStrides(shape), strides(space.names.size(), 0);
  for (auto [index, dim] : enumerate(dims))
    strides[dim[0]] += own[index]; // a name that stands twice is a diagonal
  return strides;
}

static bool hasName(const SpaceTensor &tensor, unsigned name) {
  return any_of(tensor, [&](const SpaceDim &dim) { return dim[0] == name; });
}

/// Rows of the left operand times columns of the right one, each copied into
/// consecutive memory, for every point of the names that both share with the
/// result.
RefResults evaluate(graph::EinsumOp op, RefOperands in) {
  FailureOr<IterationSpace> space = op.getIterationSpace();
  if (mlir::failed(space))
    return createStringError("einsum '" + op.getSpec() + "' does not verify");
  RefTensor result = zeros(op.getType());
  const SpaceTensor &left = space->operands[0], &right = space->operands[1];
  Shape a = nameStrides(*space, left, in[0].shape),
        b = nameStrides(*space, right, in[1].shape),
        c = nameStrides(*space, space->results[0], result.shape);
  Loop batch, rows, columns, sum;
  for (unsigned name = 0; name < space->names.size(); ++name) {
    bool inLeft = hasName(left, name), inRight = hasName(right, name);
    Loop &loop = space->isReduction(name) ? sum
                 : !inLeft                ? columns
                 : !inRight               ? rows
                                          : batch;
    loop.sizes.push_back(space->names[name].size);
    loop.a.push_back(a[name]);
    loop.b.push_back(b[name]);
    loop.c.push_back(c[name]);
  }
  auto batchA = batch.places(batch.a), batchB = batch.places(batch.b),
       batchC = batch.places(batch.c), rowA = rows.places(rows.a),
       rowC = rows.places(rows.c), columnB = columns.places(columns.b),
       columnC = columns.places(columns.c), sumA = sum.places(sum.a),
       sumB = sum.places(sum.b);
  size_t depth = sumA.size();
  std::vector<double> row(depth), packed(columnB.size() * depth);
  for (size_t at = 0; at < batchA.size(); ++at) {
    for (size_t n = 0; n < columnB.size(); ++n)
      for (size_t k = 0; k < depth; ++k)
        packed[n * depth + k] = in[1].values[batchB[at] + columnB[n] + sumB[k]];
    for (size_t m = 0; m < rowA.size(); ++m) {
      for (size_t k = 0; k < depth; ++k)
        row[k] = in[0].values[batchA[at] + rowA[m] + sumA[k]];
      for (size_t n = 0; n < columnB.size(); ++n) {
        const double *column = &packed[n * depth];
        double total = 0;
        for (size_t k = 0; k < depth; ++k)
          total += row[k] * column[k];
        result.values[batchC[at] + rowC[m] + columnC[n]] = total;
      }
    }
  }
  return Results{std::move(result)};
}

RefResults evaluate(graph::ReduceOp op, RefOperands in) {
  RefTensor result = zeros(op.getType());
  bool isMax = op.getKind() == graph::ReduceKind::Max;
  if (isMax)
    std::fill(result.values.begin(), result.values.end(), -INFINITY);
  Shape own = refStrides(result.shape), strides(in[0].shape.size(), 0);
  size_t kept = 0, next = 0;
  for (size_t dim = 0; dim < strides.size(); ++dim)
    if (!is_contained(op.getDims(), int64_t(dim)))
      strides[dim] = own[kept++];
  forEachPlace(in[0].shape, strides, 0, [&](int64_t place) {
    double &total = result.values[place], value = in[0].values[next++];
    if (!isMax)
      total += value;
    else if (std::isnan(value) || value > total)
      total = value; // a NaN stays: nothing is greater
  });
  if (op.getKind() == graph::ReduceKind::Mean)
    for (double &value : result.values)
      value /= double(in[0].values.size()) / double(result.values.size());
  return Results{std::move(result)};
}

/// Calls `visit(row, width)` for each row of the last dim of `tensor`.
template <typename Visit>
static void forEachRow(RefTensor &tensor, Visit visit) {
  size_t width = size_t(tensor.shape.back());
  for (size_t row = 0; row < tensor.values.size(); row += width)
    visit(&tensor.values[row], width);
}

/// exp(x - max) / sum: a row of -inf gives NaN.
RefResults evaluate(graph::SoftmaxOp, RefOperands in) {
  RefTensor result = in[0];
  forEachRow(result, [](double *x, size_t width) {
    double max = *std::max_element(x, x + width), sum = 0;
    for (size_t i = 0; i < width; ++i)
      sum += x[i] = std::exp(x[i] - max);
    for (size_t i = 0; i < width; ++i)
      x[i] /= sum;
  });
  return Results{std::move(result)};
}

RefResults evaluate(graph::LayerNormOp op, RefOperands in) {
  RefTensor result = in[0];
  double epsilon = op.getEpsilon().convertToDouble();
  forEachRow(result, [&](double *x, size_t width) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < width; ++i)
      mean += x[i] / double(width);
    for (size_t i = 0; i < width; ++i)
      variance += (x[i] - mean) * (x[i] - mean) / double(width);
    for (size_t i = 0; i < width; ++i)
      x[i] = (x[i] - mean) / std::sqrt(variance + epsilon) * in[1].values[i] +
             in[2].values[i];
  });
  return Results{std::move(result)};
}

RefResults evaluate(graph::RmsNormOp op, RefOperands in) {
  RefTensor result = in[0];
  double epsilon = op.getEpsilon().convertToDouble();
  forEachRow(result, [&](double *x, size_t width) {
    double square = 0;
    for (size_t i = 0; i < width; ++i)
      square += x[i] * x[i] / double(width);
    for (size_t i = 0; i < width; ++i)
      x[i] *= in[1].values[i] / std::sqrt(square + epsilon);
  });
  return Results{std::move(result)};
}

} // namespace echelon::test

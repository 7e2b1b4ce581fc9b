// SPDX-License-Identifier: Apache-2.0
//
// Reductions and matrix products on the host, accumulated in double.
#include "compiler/onnx/fold.h"
#include "compiler/onnx/shape_rules.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;

namespace echelon::onnx_import {

/// Multiplications that folding one product may take: a second or so.
static constexpr double kMaxFoldedProducts = 1e9;

static double startOf(StringRef op) {
  if (op == "ReduceProd")
    return 1;
  if (op == "ReduceMax")
    return -INFINITY;
  return op == "ReduceMin" ? INFINITY : 0;
}

static double step(StringRef op, double sum, double value) {
  if (op == "ReduceProd")
    return sum * value;
  if (op == "ReduceMax")
    return std::isnan(value) ? value : std::max(sum, value);
  if (op == "ReduceMin")
    return std::isnan(value) ? value : std::min(sum, value);
  if (op == "ReduceL1")
    return sum + std::fabs(value);
  if (op == "ReduceL2" || op == "ReduceSumSquare")
    return sum + value * value;
  return sum + value;
}

void foldReduce(FoldCall &call) {
  const HostTensor &input = call.constant(0);
  Reduction reduction = reductionOf(call);
  StringRef op = call.node.op;
  if (reduction.axes.empty()) {
    call.set(0, input);
    return;
  }
  // Offsets of the reduced tensor, as if it were broadcast back.
  Shape narrow = input.shape;
  double count = 1;
  for (int64_t axis : reduction.axes) {
    count *= double(narrow[axis]);
    narrow[axis] = 1;
  }
  std::vector<int64_t> to = broadcastOffsets(narrow, input.shape);
  if (!isFloat(input.type) && op != "ReduceL2" && op != "ReduceMean") {
    if (op == "ReduceL1")
      call.fail("is not supported on integers");
    // Exact in 64 bits, which double is not.
    std::vector<int64_t> sums(elementsOf(narrow),
                              op == "ReduceProd" ? 1
                              : input.type == DataType::Bool
                                  ? int64_t(op == "ReduceMin")
                              : op == "ReduceMax" ? INT64_MIN
                              : op == "ReduceMin" ? INT64_MAX
                                                  : 0);
    for (size_t i = 0; i < to.size(); ++i) {
      int64_t value = input.integer(i), &sum = sums[to[i]];
      sum = op == "ReduceProd"  ? int64_t(uint64_t(sum) * uint64_t(value))
            : op == "ReduceMax" ? std::max(sum, value)
            : op == "ReduceMin" ? std::min(sum, value)
            : op == "ReduceSumSquare"
                ? int64_t(uint64_t(sum) + uint64_t(value) * uint64_t(value))
                : int64_t(uint64_t(sum) + uint64_t(value));
    }
    call.set(0, HostTensor::fromIntegers(input.type, reduction.result, sums));
    return;
  }
  std::vector<double> sums(elementsOf(narrow), startOf(op));
  for (size_t i = 0; i < to.size(); ++i)
    sums[to[i]] = step(op, sums[to[i]], input.real(i));
  for (double &sum : sums)
    sum = op == "ReduceMean" ? sum / count
          : op == "ReduceL2" ? std::sqrt(sum)
                             : sum;
  call.set(0, HostTensor::fromReals(input.type, reduction.result, sums));
}

void foldMatMul(FoldCall &call) {
  HostTensor a = call.constant(0), b = call.constant(1);
  if (a.type != b.type)
    call.fail(Twine("multiplies ") + nameOf(a.type) + " by " + nameOf(b.type));
  if (a.shape.empty() || b.shape.empty())
    call.fail("has a scalar operand");
  bool isRow = a.shape.size() == 1, isColumn = b.shape.size() == 1;
  if (isRow)
    a.shape.insert(a.shape.begin(), 1);
  if (isColumn)
    b.shape.push_back(1);
  int64_t m = a.shape[a.shape.size() - 2], k = a.shape.back();
  int64_t n = b.shape.back();
  if (b.shape[b.shape.size() - 2] != k)
    call.fail("cannot multiply shapes " + textOf(a.shape) + " and " +
              textOf(b.shape));
  Shape batchA(a.shape.begin(), a.shape.end() - 2);
  Shape batchB(b.shape.begin(), b.shape.end() - 2);
  Shape batch = commonShape(batchA, batchB, call), shape = batch;
  shape.append({m, n});
  requireFoldable(elementsOf(shape));
  if (double(elementsOf(shape)) * double(k) > kMaxFoldedProducts)
    call.fail("of constants is too large to fold: " + textOf(a.shape) + " by " +
              textOf(b.shape));
  std::vector<double> left = a.reals(), right = b.reals(),
                      values(elementsOf(shape), 0);
  std::vector<int64_t> atA = broadcastOffsets(batchA, batch),
                       atB = broadcastOffsets(batchB, batch);
  for (size_t matrix = 0; matrix < atA.size(); ++matrix)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t p = 0; p < k; ++p) {
        double factor = left[(atA[matrix] * m + i) * k + p];
        for (int64_t j = 0; j < n; ++j)
          values[(int64_t(matrix) * m + i) * n + j] +=
              factor * right[(atB[matrix] * k + p) * n + j];
      }
  if (isRow)
    shape.erase(shape.end() - 2);
  if (isColumn)
    shape.pop_back();
  call.set(0, HostTensor::fromReals(a.type, shape, values));
}

} // namespace echelon::onnx_import

// SPDX-License-Identifier: Apache-2.0
//
// Softmax, LogSoftmax and the norms as single ops over the last dim; another
// axis is moved there and back.
#include "compiler/onnx/op_call.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace llvm;
using mlir::Value;

namespace echelon::onnx_import {

using graph::ReduceKind;
using graph::UnaryKind;

/// The permutation that swaps `axis` and the last dim (its own inverse).
static Shape swapWithLast(int64_t rank, int64_t axis) {
  Shape permutation;
  for (int64_t dim = 0; dim < rank; ++dim)
    permutation.push_back(dim);
  std::swap(permutation[axis], permutation[rank - 1]);
  return permutation;
}

static Value softmax(ImportCall &call, Value x) {
  return call.g.builder.create<graph::SoftmaxOp>(call.g.loc, x.getType(), x);
}

/// x - max - log(sum(exp(x - max))).
static Value logSoftmax(ImportCall &call, Value x) {
  auto &g = call.g;
  Shape shape = graph::shapeOf(x);
  int64_t last = int64_t(shape.size()) - 1;
  Value max = g.unreduce(g.reduce(ReduceKind::Max, x, {last}), shape, {last});
  Value shifted = g.sub(x, max);
  Value sum =
      g.reduce(ReduceKind::Sum, g.unary(UnaryKind::Exp, shifted), {last});
  Value log = g.unreduce(g.unary(UnaryKind::Log, sum), shape, {last});
  Value result = g.sub(shifted, log);
  call.noteLogSoftmax(result, x);
  return result;
}

using LastDimFunction = Value (*)(ImportCall &, Value);

static void importAlongAxis(ImportCall &call, LastDimFunction function) {
  call.requireFloats({0});
  Shape shape = call.shape(0);
  int64_t rank = shape.size();
  if (rank == 0)
    call.fail("needs at least one dim");
  auto &g = call.g;
  Value x = call.value(0);
  if (call.node.version < 13) {
    // Up to opset 12 the dims from `axis` on are one.
    int64_t axis = call.axis(call.intAttr("axis", 1), rank);
    ArrayRef<int64_t> sizes(shape);
    Value flat = axis == rank - 1
                     ? x
                     : g.reshape(x, {elementsOf(sizes.take_front(axis)),
                                     elementsOf(sizes.drop_front(axis))});
    call.set(0, g.reshape(function(call, flat), shape));
    return;
  }
  int64_t axis = call.axis(call.intAttr("axis", -1), rank);
  Shape swap = swapWithLast(rank, axis);
  call.set(0, g.transpose(function(call, g.transpose(x, swap)), swap));
}

static void importSoftmax(ImportCall &call) { importAlongAxis(call, softmax); }
static void importLogSoftmax(ImportCall &call) {
  importAlongAxis(call, logSoftmax);
}

/// Flattens the dims from `axis` on into one, applies the norm, restores.
static void importNorm(ImportCall &call) {
  bool isLayer = call.node.op == "LayerNormalization";
  call.requireFloats({0});
  call.requireFloats({1, 2});
  Shape shape = call.shape(0);
  int64_t axis = call.axis(call.intAttr("axis", -1), shape.size());
  ArrayRef<int64_t> sizes(shape);
  int64_t width = elementsOf(sizes.drop_front(axis));
  Shape flat(sizes.take_front(axis));
  flat.push_back(width);
  auto &g = call.g;
  auto perChannel = [&](unsigned index) {
    if (elementsOf(call.shape(index)) == width)
      return g.reshape(call.value(index, Position::Norm), {width});
    return g.reshape(call.value(index, sizes.drop_front(axis), Position::Norm),
                     {width});
  };
  Value x = g.reshape(call.value(0), flat);
  Value scale = g.convert(perChannel(1), graph::elementOf(x));
  auto epsilon = g.builder.getF64FloatAttr(call.floatAttr("epsilon", 1e-5));
  Value result;
  if (isLayer) {
    Value bias = call.has(2) ? g.convert(perChannel(2), graph::elementOf(x))
                             : g.splat(scale.getType(), 0);
    result = g.builder.create<graph::LayerNormOp>(g.loc, x.getType(), x, scale,
                                                  bias, epsilon);
  } else {
    result = g.builder.create<graph::RmsNormOp>(g.loc, x.getType(), x, scale,
                                                epsilon);
  }
  call.set(0, g.reshape(result, shape));
}

ArrayRef<OpRow> normalizationRows() {
  static const OpRow rows[] = {
      {"Softmax", 1, importSoftmax, nullptr},
      {"LogSoftmax", 1, importLogSoftmax, nullptr},
      {"LayerNormalization", 17, importNorm, nullptr},
      {"RMSNormalization", 23, importNorm, nullptr},
  };
  return rows;
}

} // namespace echelon::onnx_import

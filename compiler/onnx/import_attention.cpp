// SPDX-License-Identifier: Apache-2.0
//
// ONNX's Attention (opset 23 to 25, in the text of onnx 1.23: without a cache,
// query i sees key j <= i; rows that see nothing give 0). The graph dialect
// aligns at the last key, so a causal mask over unequal lengths is written out.
#include "compiler/onnx/op_call.h"
#include <cmath>

using namespace llvm;
using mlir::Value;

namespace echelon::onnx_import {

/// Q, K or V as [batch, sequence, heads, dim]; 4-D inputs are [batch, heads,
/// sequence, dim], 3-D ones [batch, sequence, heads * dim].
static Value headsOf(ImportCall &call, unsigned index, int64_t heads) {
  Shape shape = call.shape(index);
  Value x = call.value(index);
  if (shape.size() == 4)
    return call.g.transpose(x, {0, 2, 1, 3});
  if (shape.size() != 3 || heads <= 0 || shape[2] % heads)
    call.fail("has input " + Twine(index) + " of shape " + textOf(shape) +
              " and " + Twine(heads) + " heads");
  return call.g.reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
}

/// The mask as an additive one of rank 4 with dims 0 and 1 of full size or 1.
static Value additiveMask(ImportCall &call, const Shape &scores) {
  Shape shape = call.shape(3);
  if (shape.size() < 2 || shape.size() > 4)
    call.fail("has a mask of shape " + textOf(shape));
  while (shape.size() < 4)
    shape.insert(shape.begin(), 1);
  Shape full = scores;
  for (size_t dim = 0; dim < 4; ++dim) {
    if (shape[dim] != 1 && shape[dim] != scores[dim])
      call.fail("has a mask of shape " + textOf(call.shape(3)) +
                " for scores of shape " + textOf(scores));
    if (dim < 2)
      full[dim] = shape[dim];
  }
  auto &g = call.g;
  mlir::Type element = elementType(g.builder, call.type(0));
  if (call.type(3) != DataType::Bool)
    return g.convert(call.value(3, full), element);
  if (call.isConstant(3)) {
    const HostTensor &mask = call.constant(3);
    std::vector<double> values(mask.size());
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = mask.integer(i) ? 0 : -INFINITY;
    Value added = call.materialize(
        HostTensor::fromReals(call.type(0), mask.shape, values));
    return g.broadcastTo(added, full);
  }
  auto type = mlir::RankedTensorType::get(full, element);
  return g.select(call.value(3, full), g.splat(type, 0),
                  g.splat(type, -INFINITY));
}

static void refuseVariants(ImportCall &call) {
  if (call.has(4) || call.has(5) || call.has(6) || call.wants(1) ||
      call.wants(2))
    call.fail("with past or present keys belongs to decoding; export the model "
              "without a cache (use_cache=False)");
  if (call.wants(3))
    call.fail("with its scores as a result is not supported");
  if (call.floatAttr("softcap", 0) != 0)
    call.fail("with softcap is not supported yet");
}

namespace {
/// What a query may see by the attributes alone.
struct Sight {
  bool causal;
  int64_t left, right; ///< window sizes of opset 25, -1: unbounded

  bool isFree() const { return !causal && left < 0 && right < 0; }
  bool sees(int64_t i, int64_t j) const {
    return (!causal || j <= i) && (left < 0 || j >= i - left) &&
           (right < 0 || j <= i + right);
  }
};
} // namespace

/// The sight as an additive mask of shape [queries, keys], added to `mask`.
static Value addSight(ImportCall &call, const Sight &sight, Value mask,
                      const Shape &scores) {
  int64_t queries = scores[2], keys = scores[3];
  requireFoldable(elementsOf({queries, keys}));
  std::vector<double> values(queries * keys);
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = 0; j < keys; ++j)
      values[i * keys + j] = sight.sees(i, j) ? 0 : -INFINITY;
  Value added = call.materialize(
      HostTensor::fromReals(call.type(0), {queries, keys}, values));
  Shape shape = mask ? graph::shapeOf(mask) : Shape{1, 1, queries, keys};
  added = call.g.broadcastTo(added, shape);
  return mask ? call.g.add(mask, added) : added;
}

static void importAttention(ImportCall &call) {
  refuseVariants(call);
  call.requireFloats({0, 1, 2});
  auto &g = call.g;
  int64_t heads = call.intAttr("q_num_heads", 0);
  int64_t kvHeads = call.intAttr("kv_num_heads", 0);
  Value q = headsOf(call, 0, heads), k = headsOf(call, 1, kvHeads),
        v = headsOf(call, 2, kvHeads);
  Shape qShape = graph::shapeOf(q), kShape = graph::shapeOf(k),
        vShape = graph::shapeOf(v);
  if (qShape[0] != kShape[0] || kShape[0] != vShape[0] ||
      kShape[1] != vShape[1] || kShape[2] != vShape[2] ||
      qShape[3] != kShape[3] || kShape[2] == 0 || qShape[2] % kShape[2])
    call.fail("has queries " + textOf(qShape) + ", keys " + textOf(kShape) +
              " and values " + textOf(vShape) +
              " ([batch, sequence, heads, dim]), which do not fit");
  Shape scores{qShape[0], qShape[2], qShape[1], kShape[1]};
  Value mask = call.has(3) ? additiveMask(call, scores) : Value();
  Sight sight{call.intAttr("is_causal", 0) != 0,
              call.intAttr("left_window_size", -1),
              call.intAttr("right_window_size", -1)};
  bool isNative = sight.causal && qShape[1] == kShape[1];
  if (!isNative && !sight.isFree())
    mask = addSight(call, sight, mask, scores);
  double scale = call.floatAttr("scale", 0);
  if (scale == 0)
    scale = 1 / std::sqrt(double(qShape[3]));
  Shape resultShape{qShape[0], qShape[1], qShape[2], vShape[3]};
  auto type = [&](ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, graph::elementOf(q));
  };
  auto op = g.builder.create<graph::AttentionOp>(
      g.loc,
      mlir::TypeRange{type(resultShape),
                      type({qShape[0], qShape[2], qShape[1]})},
      q, k, v, mask, g.builder.getF64FloatAttr(scale),
      g.builder.getBoolAttr(isNative),
      // The dialect counts the key itself.
      g.builder.getI64IntegerAttr(isNative && sight.left >= 0 ? sight.left + 1
                                                              : 0));
  Value result = op.getResult();
  if (call.shape(0).size() == 4)
    result = g.transpose(result, {0, 2, 1, 3});
  else
    result = g.reshape(result, {qShape[0], qShape[1], qShape[2] * vShape[3]});
  call.set(0, result);
}

ArrayRef<OpRow> attentionRows() {
  static const OpRow rows[] = {
      {"Attention", 23, importAttention, nullptr},
  };
  return rows;
}

} // namespace echelon::onnx_import

// SPDX-License-Identifier: Apache-2.0
//
// ONNX's Attention (opset 23 to 25, as corrected in onnx 1.20: causal masks
// align at the bottom right, rows that see nothing give 0).
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
  double scale = call.floatAttr("scale", 0);
  if (scale == 0)
    scale = 1 / std::sqrt(double(qShape[3]));
  Shape resultShape{qShape[0], qShape[1], qShape[2], vShape[3]};
  auto type = [&](ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, graph::elementOf(q));
  };
  auto op = g.builder.create<graph::AttentionOp>(
      g.loc, mlir::TypeRange{type(resultShape),
                             type({qShape[0], qShape[2], qShape[1]})},
      q, k, v, mask, g.builder.getF64FloatAttr(scale),
      g.builder.getBoolAttr(call.intAttr("is_causal", 0)),
      g.builder.getI64IntegerAttr(0));
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

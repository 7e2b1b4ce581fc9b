// SPDX-License-Identifier: Apache-2.0
//
// Losses inside the model: sum and count from one op, and for a mean their
// quotient. ONNX has classes in dim 1, the graph dialect last.
#include "compiler/onnx/op_call.h"
#include <climits>

using namespace llvm;
using mlir::Value;

namespace echelon::onnx_import {

/// Moves dim 1 of [N, C, d1, ...] to the end.
static Value classesLast(ImportCall &call, Value logits) {
  Shape permutation{0};
  int64_t rank = graph::shapeOf(logits).size();
  for (int64_t dim = 2; dim < rank; ++dim)
    permutation.push_back(dim);
  permutation.push_back(1);
  return call.g.transpose(logits, permutation);
}

static Value crossEntropy(ImportCall &call, Value logits, Value &lse) {
  auto &g = call.g;
  if (call.has(2))
    call.fail("with class weights is not supported");
  std::string reduction = call.textAttr("reduction", "mean");
  if (reduction != "mean" && reduction != "sum")
    call.fail("with reduction '" + reduction +
              "' is not supported; 'mean' and 'sum' are");
  Shape rows = graph::shapeOf(logits);
  rows.pop_back();
  if (call.shape(1) != rows)
    call.fail("has labels of shape " + textOf(call.shape(1)) +
              " for logits of shape " + textOf(call.shape(0)));
  if (isFloat(call.type(1)) || call.type(1) == DataType::Bool)
    call.fail(Twine("has labels of type ") + nameOf(call.type(1)));
  Value labels = g.convert(call.value(1), g.builder.getI64Type());
  mlir::Type element = graph::elementOf(logits);
  auto scalar = mlir::RankedTensorType::get({}, element);
  // ONNX: without the attribute no label is ignored.
  auto op = g.builder.create<graph::SoftmaxCrossEntropyOp>(
      g.loc,
      mlir::TypeRange{scalar, scalar,
                      mlir::RankedTensorType::get(rows, element)},
      logits, labels,
      g.builder.getI64IntegerAttr(call.intAttr("ignore_index", INT64_MIN)),
      g.builder.getF64FloatAttr(0));
  lse = op.getLse();
  return reduction == "mean" ? g.div(op.getSum(), op.getCount()) : op.getSum();
}

static void importSoftmaxCrossEntropy(ImportCall &call) {
  call.requireFloats({0});
  if (call.shape(0).size() < 2)
    call.fail("has logits of shape " + textOf(call.shape(0)));
  auto &g = call.g;
  Value logits = classesLast(call, call.value(0)), lse;
  call.set(0, crossEntropy(call, logits, lse));
  if (!call.wants(1))
    return;
  // log_prob, back in ONNX's order of dims.
  Shape shape = graph::shapeOf(logits), permutation{0};
  int64_t last = int64_t(shape.size()) - 1;
  Value logProb = g.sub(logits, g.unreduce(lse, shape, {last}));
  permutation.push_back(last);
  for (int64_t dim = 1; dim < last; ++dim)
    permutation.push_back(dim);
  call.set(1, g.transpose(logProb, permutation));
}

static void importNegativeLogLikelihood(ImportCall &call) {
  call.requireFloats({0});
  if (call.shape(0).size() < 2)
    call.fail("has log-probabilities of shape " + textOf(call.shape(0)));
  Value logits = call.logitsOf(call.value(0)), lse;
  if (!logits)
    call.fail("of anything but LogSoftmax over the classes is not supported; "
              "use cross entropy in the source");
  call.set(0, crossEntropy(call, classesLast(call, logits), lse));
}

ArrayRef<OpRow> lossRows() {
  static const OpRow rows[] = {
      {"SoftmaxCrossEntropyLoss", 12, importSoftmaxCrossEntropy, nullptr},
      {"NegativeLogLikelihoodLoss", 12, importNegativeLogLikelihood, nullptr},
  };
  return rows;
}

} // namespace echelon::onnx_import

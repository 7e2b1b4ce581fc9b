// SPDX-License-Identifier: Apache-2.0
//
// Reductions of data. ReduceMin, L1, L2 and SumSquare are composed.
#include "compiler/onnx/fold.h"
#include "compiler/onnx/shape_rules.h"

using namespace llvm;
using mlir::Value;

namespace echelon::onnx_import {

using graph::ReduceKind;
using graph::UnaryKind;

static void importReduce(ImportCall &call) {
  StringRef op = call.node.op;
  if (!isFloat(call.type(0)))
    call.fail(Twine("of ") + nameOf(call.type(0)) + " data is not supported");
  Reduction reduction = reductionOf(call);
  auto &g = call.g;
  Value x = call.value(0);
  if (op == "ReduceL2" || op == "ReduceSumSquare")
    x = g.mul(x, x);
  else if (op == "ReduceL1")
    x = g.unary(UnaryKind::Abs, x);
  else if (op == "ReduceMin")
    x = g.unary(UnaryKind::Neg, x);
  ReduceKind kind = op == "ReduceMean"                       ? ReduceKind::Mean
                    : op == "ReduceMax" || op == "ReduceMin" ? ReduceKind::Max
                                                             : ReduceKind::Sum;
  x = g.reduce(kind, x, reduction.axes);
  if (op == "ReduceL2")
    x = g.unary(UnaryKind::Sqrt, x);
  else if (op == "ReduceMin")
    x = g.unary(UnaryKind::Neg, x);
  call.set(0, g.reshape(x, reduction.result));
}

static void importGlobalAveragePool(ImportCall &call) {
  call.requireFloats({0});
  Shape shape = call.shape(0), axes, result = shape;
  if (shape.size() < 3)
    call.fail("needs spatial dims, but has shape " + textOf(shape));
  for (size_t dim = 2; dim < shape.size(); ++dim) {
    axes.push_back(dim);
    result[dim] = 1;
  }
  Value mean = call.g.reduce(ReduceKind::Mean, call.value(0), axes);
  call.set(0, call.g.reshape(mean, result));
}

ArrayRef<OpRow> reductionRows() {
  static const OpRow rows[] = {
      {"ReduceSum", 1, importReduce, foldReduce},
      {"ReduceMean", 1, importReduce, foldReduce},
      {"ReduceMax", 1, importReduce, foldReduce},
      {"ReduceMin", 1, importReduce, foldReduce},
      {"ReduceL1", 1, importReduce, foldReduce},
      {"ReduceL2", 1, importReduce, foldReduce},
      {"ReduceSumSquare", 1, importReduce, foldReduce},
      {"ReduceProd", 1, nullptr, foldReduce},
      {"GlobalAveragePool", 1, importGlobalAveragePool, nullptr},
  };
  return rows;
}

} // namespace echelon::onnx_import

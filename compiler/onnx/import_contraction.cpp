// SPDX-License-Identifier: Apache-2.0
//
// MatMul, Gemm, Einsum and patch-embedding Conv as graph.einsum. Batch dims are
// named b0, b1, ...; an operand whose batch dim is 1 leaves the name out.
#include "compiler/onnx/fold.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <map>
#include <set>

using namespace llvm;
using mlir::Value;

namespace echelon::onnx_import {

namespace {
/// One operand of a product: its names, and its shape without the dims of size
/// 1 that broadcast.
struct Operand {
  std::string names;
  Shape shape;
};
} // namespace

static void addName(Operand &operand, const std::string &name, int64_t size) {
  operand.names += (operand.names.empty() ? "" : " ") + name;
  operand.shape.push_back(size);
}

/// Names the batch dims of an operand, aligned at the end with `batch`.
static Operand nameBatch(ArrayRef<int64_t> own, ArrayRef<int64_t> batch) {
  Operand operand;
  size_t lead = batch.size() - own.size();
  for (auto [index, size] : enumerate(own))
    if (size == batch[lead + index])
      addName(operand, "b" + utostr(lead + index), size);
  return operand;
}

static void importMatMul(ImportCall &call) {
  call.requireFloats({0, 1});
  Shape a = call.shape(0), b = call.shape(1);
  if (a.empty() || b.empty())
    call.fail("has a scalar operand");
  bool isRow = a.size() == 1, isColumn = b.size() == 1;
  int64_t k = a.back(), kRight = isColumn ? b.back() : b[b.size() - 2];
  if (k != kRight)
    call.fail("cannot multiply shapes " + textOf(a) + " and " + textOf(b));
  ArrayRef<int64_t> batchA = ArrayRef<int64_t>(a).drop_back(isRow ? 1 : 2);
  ArrayRef<int64_t> batchB = ArrayRef<int64_t>(b).drop_back(isColumn ? 1 : 2);
  Shape batch = commonShape(batchA, batchB, call);
  Operand left = nameBatch(batchA, batch), right = nameBatch(batchB, batch),
          result = nameBatch(batch, batch);
  if (!isRow) {
    addName(left, "m", a[a.size() - 2]);
    addName(result, "m", a[a.size() - 2]);
  }
  addName(left, "k", k);
  addName(right, "k", k);
  if (!isColumn) {
    addName(right, "n", b.back());
    addName(result, "n", b.back());
  }
  std::string spec = left.names + ", " + right.names + " -> " + result.names;
  Value lhs = call.g.reshape(call.value(0, Position::Weight), left.shape);
  Value rhs = call.g.reshape(call.value(1, Position::Weight), right.shape);
  if (result.shape.empty()) // a dot product: einsum needs a result name
    call.set(0,
             call.g.reduce(graph::ReduceKind::Sum, call.g.mul(lhs, rhs), {0}));
  else
    call.set(0, call.g.einsum(spec, lhs, rhs));
}

static void importGemm(ImportCall &call) {
  call.requireFloats({0, 1, 2});
  Shape a = call.shape(0), b = call.shape(1);
  if (a.size() != 2 || b.size() != 2)
    call.fail("needs matrices, but has shapes " + textOf(a) + " and " +
              textOf(b));
  bool transA = call.intAttr("transA", 0), transB = call.intAttr("transB", 0);
  double alpha = call.floatAttr("alpha", 1), beta = call.floatAttr("beta", 1);
  int64_t m = a[transA], k = a[!transA], n = b[!transB];
  if (k != b[transB])
    call.fail("cannot multiply shapes " + textOf(a) + " and " + textOf(b) +
              (transA || transB ? " (transposed)" : ""));
  std::string spec = std::string(transA ? "k m" : "m k") +
                     (transB ? ", n k" : ", k n") + " -> m n";
  Value result = call.g.einsum(spec, call.value(0, Position::Weight),
                               call.value(1, Position::Weight));
  if (alpha != 1)
    result = call.g.scale(result, alpha);
  if (call.has(2) && beta != 0) {
    Value bias = call.value(2, {m, n}, Position::Bias);
    result = call.g.add(result, beta == 1 ? bias : call.g.scale(bias, beta));
  } else if (Value bias = call.removedBias(n)) {
    result = call.g.add(result, call.g.broadcastTo(bias, {m, n}));
  }
  call.set(0, result);
}

/// graph.einsum wants every name in two tensors, once in each, and sizes that
/// agree.
static void checkEinsum(ImportCall &call, StringRef text,
                        const IterationSpace &space) {
  std::map<unsigned, int64_t> sizes;
  std::map<unsigned, int> uses;
  bool fits = space.operands.size() == 2 && space.results.size() == 1;
  auto visit = [&](const SpaceTensor &tensor, const Shape *shape) {
    fits &= !shape || tensor.size() == shape->size();
    std::set<unsigned> own;
    for (size_t dim = 0; fits && dim < tensor.size(); ++dim) {
      unsigned name = tensor[dim][0];
      ++uses[name];
      fits &= own.insert(name).second;
      if (shape)
        fits &= sizes.try_emplace(name, (*shape)[dim]).first->second ==
                (*shape)[dim];
    }
  };
  Shape left = call.shape(0), right = call.shape(1);
  for (unsigned side = 0; fits && side < 2; ++side)
    visit(space.operands[side], side ? &right : &left);
  if (fits)
    visit(space.results[0], nullptr);
  for (auto &[name, count] : uses)
    fits &= count > 1;
  if (!fits)
    call.fail("'" + text + "' of shapes " + textOf(left) + " and " +
              textOf(right) +
              " is not supported: each letter must stand in two "
              "of the three tensors, with one size");
}

/// "ij,jk->ik" with single letters becomes "i j, j k -> i k".
static void importEinsum(ImportCall &call) {
  call.requireFloats({0, 1});
  std::string equation = call.textAttr("equation", "");
  StringRef text(equation);
  auto [operands, result] = text.split("->");
  auto [lhs, rhs] = operands.split(',');
  if (call.node.inputs.size() != 2 || rhs.empty() || text.contains('.') ||
      !text.contains("->"))
    call.fail("'" + text +
              "' is not supported: two operands and an explicit "
              "result without '...' are");
  auto spaced = [](StringRef names) {
    std::string result;
    for (char c : names)
      if (isAlpha(c))
        result += std::string(1, c) + " ";
    return StringRef(result).trim().str();
  };
  std::string spec = spaced(lhs) + ", " + spaced(rhs) + " -> " + spaced(result);
  Value left = call.value(0, Position::Weight),
        right = call.value(1, Position::Weight);
  Expected<IterationSpace> space = IterationSpace::parse(spec);
  if (!space)
    call.fail("'" + text + "': " + toString(space.takeError()));
  checkEinsum(call, text, *space);
  call.set(0, call.g.einsum(spec, left, right));
}

/// A convolution whose windows tile the image without overlap, as patch
/// embeddings are, is one contraction.
static void importConv(ImportCall &call) {
  call.requireFloats({0, 1, 2});
  Shape image = call.shape(0), kernel = call.shape(1);
  size_t rank = image.size();
  Shape ones(rank > 2 ? rank - 2 : 0, 1);
  Shape strides = call.intsAttr("strides").value_or(ones);
  bool isTiling = rank > 2 && kernel.size() == rank && kernel[1] == image[1] &&
                  call.intAttr("group", 1) == 1 &&
                  call.intsAttr("dilations").value_or(ones) == ones &&
                  all_of(call.intsAttr("pads").value_or(Shape(2, 0)),
                         [](int64_t pad) { return pad == 0; });
  for (size_t dim = 2; isTiling && dim < rank; ++dim)
    isTiling = dim - 2 < strides.size() && kernel[dim] > 0 &&
               strides[dim - 2] == kernel[dim] && image[dim] % kernel[dim] == 0;
  if (!isTiling)
    call.fail("of shapes " + textOf(image) + " and " + textOf(kernel) +
              " is not supported: only windows that tile the image (stride "
              "equal to the kernel, no padding, one group) are");
  std::string inNames = "b c", outNames = "b o", kernelNames = "o c";
  Shape cut{image[0], image[1]}, result{image[0], kernel[0]};
  for (size_t dim = 2; dim < rank; ++dim) {
    std::string tile = "x" + utostr(dim), inside = "k" + utostr(dim);
    inNames += " " + tile + " " + inside;
    outNames += " " + tile;
    kernelNames += " " + inside;
    cut.append({image[dim] / kernel[dim], kernel[dim]});
    result.push_back(image[dim] / kernel[dim]);
  }
  Value tiles = call.g.reshape(call.value(0), cut);
  Value sum = call.g.einsum(inNames + ", " + kernelNames + " -> " + outNames,
                            tiles, call.value(1, Position::Weight));
  Value bias =
      call.has(2) ? call.value(2, Position::Bias) : call.removedBias(kernel[0]);
  if (bias)
    sum = call.g.add(sum, call.g.broadcast(bias, result, {1}));
  call.set(0, sum);
}

ArrayRef<OpRow> contractionRows() {
  static const OpRow rows[] = {
      {"MatMul", 1, importMatMul, foldMatMul},
      {"Gemm", 1, importGemm, nullptr},
      {"Einsum", 12, importEinsum, nullptr},
      {"Conv", 1, importConv, nullptr},
  };
  return rows;
}

} // namespace echelon::onnx_import

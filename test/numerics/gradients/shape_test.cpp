// SPDX-License-Identifier: Apache-2.0
//
// Gradients of graph.reshape, graph.transpose, graph.broadcast, graph.slice,
// graph.pad, graph.concat. They are linear: differences are exact but for
// rounding.
#include "test/numerics/gradients/gradient_check.h"
#include <gtest/gtest.h>

using namespace echelon;
using namespace echelon::test;

namespace {

std::string list(llvm::ArrayRef<int64_t> values) {
  std::string text = "array<i64";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : ": ") + std::to_string(values[i]);
  return text + ">";
}

/// `op` with one operand.
std::string viewText(const std::string &op, llvm::ArrayRef<int64_t> from,
                     llvm::ArrayRef<int64_t> to,
                     const std::string &attributes) {
  std::string x = tensorType(from), y = tensorType(to);
  return "func.func @f(%x: " + x + ") -> " + y + " {\n  %0 = " + op + " %x " +
         attributes + " : (" + x + ") -> " + y + "\n  return %0 : " + y + "\n}";
}

TEST(Reshape, Differences) {
  const std::pair<Shape, Shape> cases[] = {
      {{2, 6}, {3, 4}}, {{2, 3, 4}, {6, 4}}, {{6, 4}, {2, 3, 2, 2}},
      {{1, 4, 1}, {4}}, {{1, 1}, {}},        {{}, {1, 1}}};
  for (const auto &[from, to] : cases)
    checkGradient(viewText("graph.reshape", from, to, ""));
}

TEST(Transpose, Differences) {
  const std::tuple<Shape, Shape, Shape> cases[] = {
      {{2, 3}, {1, 0}, {3, 2}},
      {{2, 3, 4}, {2, 0, 1}, {4, 2, 3}},
      {{2, 3, 4}, {1, 2, 0}, {3, 4, 2}},
      {{2, 3, 4, 2}, {0, 2, 1, 3}, {2, 4, 3, 2}},
      {{2, 3}, {0, 1}, {2, 3}}};
  for (const auto &[from, permutation, to] : cases)
    checkGradient(viewText("graph.transpose", from, to,
                           "{permutation = " + list(permutation) + "}"));
}

TEST(Broadcast, Differences) {
  const std::tuple<Shape, Shape, Shape> cases[] = {
      {{3}, {1}, {2, 3}},         {{2}, {0}, {2, 3}},
      {{}, {}, {2, 3}},           {{2, 4}, {0, 2}, {2, 3, 4}},
      {{3}, {1}, {2, 3, 4}},      {{2, 3}, {0, 1}, {2, 3}},
      {{1, 3}, {1, 2}, {4, 1, 3}}};
  for (const auto &[from, dims, to] : cases)
    checkGradient(
        viewText("graph.broadcast", from, to, "{dims = " + list(dims) + "}"));
}

/// Views of views, which the canonicalizer merges: it may not change a
/// gradient.
TEST(Transpose, OfTranspose) {
  checkGradient(R"(
func.func @f(%x: tensor<2x3x4xf64>) -> tensor<2x4x3xf64> {
  %0 = graph.transpose %x {permutation = array<i64: 1, 2, 0>} : (tensor<2x3x4xf64>) -> tensor<3x4x2xf64>
  %1 = graph.transpose %0 {permutation = array<i64: 2, 1, 0>} : (tensor<3x4x2xf64>) -> tensor<2x4x3xf64>
  return %1 : tensor<2x4x3xf64>
})");
  checkGradient(R"(
func.func @f(%x: tensor<2x3x4xf64>) -> tensor<4x2x3xf64> {
  %0 = graph.transpose %x {permutation = array<i64: 1, 2, 0>} : (tensor<2x3x4xf64>) -> tensor<3x4x2xf64>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 2, 0>} : (tensor<3x4x2xf64>) -> tensor<4x2x3xf64>
  %2 = graph.unary exp %1 : tensor<4x2x3xf64>
  return %2 : tensor<4x2x3xf64>
})");
}

TEST(Broadcast, OfBroadcast) {
  checkGradient(R"(
func.func @f(%x: tensor<3xf64>) -> tensor<2x4x3x2xf64> {
  %0 = graph.broadcast %x {dims = array<i64: 1>} : (tensor<3xf64>) -> tensor<4x3xf64>
  %1 = graph.broadcast %0 {dims = array<i64: 1, 2>} : (tensor<4x3xf64>) -> tensor<2x4x3x2xf64>
  %2 = graph.unary exp %1 : tensor<2x4x3x2xf64>
  return %2 : tensor<2x4x3x2xf64>
})");
}

TEST(Reshape, OfReshape) {
  checkGradient(R"(
func.func @f(%x: tensor<2x6xf64>) -> tensor<4x3xf64> {
  %0 = graph.reshape %x : (tensor<2x6xf64>) -> tensor<12xf64>
  %1 = graph.reshape %0 : (tensor<12xf64>) -> tensor<4x3xf64>
  %2 = graph.unary exp %1 : tensor<4x3xf64>
  return %2 : tensor<4x3xf64>
})");
}

struct Window {
  Shape outer, inner, offsets, strides;
};

const Window kWindows[] = {
    {{5}, {3}, {1}, {1}},
    {{7}, {3}, {0}, {3}},
    {{5}, {5}, {4}, {-1}},
    {{6}, {3}, {5}, {-2}},
    {{4, 5}, {2, 5}, {1, 0}, {2, 1}},
    {{4, 5}, {4, 2}, {0, 3}, {1, -2}},
    {{2, 4, 3}, {1, 2, 3}, {1, 3, 2}, {1, -1, -1}},
    {{3, 4}, {3, 4}, {0, 0}, {1, 1}},
    {{3}, {1}, {2}, {1}},
};

TEST(Slice, Differences) {
  for (const Window &window : kWindows)
    checkGradient(viewText("graph.slice", window.outer, window.inner,
                           "{offsets = " + list(window.offsets) +
                               ", strides = " + list(window.strides) + "}"));
}

TEST(Pad, Differences) {
  for (const Window &window : kWindows)
    checkGradient(viewText("graph.pad", window.inner, window.outer,
                           "{offsets = " + list(window.offsets) +
                               ", strides = " + list(window.strides) + "}"));
}

/// Overlapping slices of one value: the terms add up.
TEST(Slice, Overlapping) {
  checkGradient(R"(
func.func @f(%x: tensor<5xf64>) -> tensor<3xf64> {
  %a = graph.slice %x {offsets = array<i64: 0>, strides = array<i64: 1>} : (tensor<5xf64>) -> tensor<3xf64>
  %b = graph.slice %x {offsets = array<i64: 4>, strides = array<i64: -1>} : (tensor<5xf64>) -> tensor<3xf64>
  %0 = graph.binary mul %a, %b : tensor<3xf64>
  return %0 : tensor<3xf64>
})");
}

std::string concatText(llvm::ArrayRef<Shape> inputs, int64_t dim) {
  Shape to = inputs[0];
  to[dim] = 0;
  std::string arguments, operands, types;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string comma = i ? ", " : "", name = "%x" + std::to_string(i),
                type = tensorType(inputs[i]);
    to[dim] += inputs[i][dim];
    arguments += comma + name + ": " + type;
    operands += comma + name;
    types += comma + type;
  }
  std::string result = tensorType(to);
  return "func.func @f(" + arguments + ") -> " + result +
         " {\n  %0 = graph.concat " + operands +
         " {dim = " + std::to_string(dim) + " : i64} : (" + types + ") -> " +
         result + "\n  return %0 : " + result + "\n}";
}

TEST(Concat, Differences) {
  checkGradient(concatText({{2}, {3}, {1}}, 0));
  checkGradient(concatText({{2, 3}, {1, 3}, {4, 3}}, 0));
  checkGradient(concatText({{2, 1}, {2, 3}, {2, 2}}, 1));
  checkGradient(concatText({{2, 1, 3}, {2, 2, 3}}, 1));
  checkGradient(concatText({{2, 3}}, 1));
}

/// One value stands twice in a concat.
TEST(Concat, OneOperandTwice) {
  checkGradient(R"(
func.func @f(%x: tensor<2x3xf64>, %y: tensor<2x1xf64>) -> tensor<2x7xf64> {
  %0 = graph.concat %x, %y, %x {dim = 1 : i64} : (tensor<2x3xf64>, tensor<2x1xf64>, tensor<2x3xf64>) -> tensor<2x7xf64>
  return %0 : tensor<2x7xf64>
})");
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
//
// Speed of generated kernels against memcpy on one core. Numbers are printed; a kernel that runs far below memory speed
// fails, which is what a loop that lost its vectorization does.
#include "test/numerics/fused/fused_program.h"
#include <chrono>
#include <cstring>
#include <gtest/gtest.h>

namespace echelon::test {
namespace {

double copyRate() {
  std::vector<char> from(96 << 20, 1), to(96 << 20, 2);
  double best = 1e9;
  for (int i = 0; i < 6; ++i) {
    auto start = std::chrono::steady_clock::now();
    from[i] = char(i);
    std::memcpy(to.data(), from.data(), from.size());
    volatile char seen = to[size_t(i) * 4097]; // keeps the copy alive
    (void)seen;
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return 2.0 * double(from.size()) / best;
}

/// Runs the first group of `text` and returns bytes a second.
double rateOf(const char *name, const std::string &text, bool inPlace = false) {
  ProgramOptions options;
  options.inPlace = inPlace;
  FusedProgram program(text, options);
  EXPECT_EQ(program.groups(), 1u);
  std::vector<std::vector<double>> arguments;
  for (auto argument : program.source().getArguments())
    arguments.emplace_back(mlir::cast<mlir::RankedTensorType>(argument.getType()).getNumElements(), 0.5);
  program.run(arguments);
  double seconds = program.time(0, 8), rate = double(program.traffic(0)) / seconds;
  std::printf("%-24s %8.3f ms %6.2f GB/s\n", name, 1e3 * seconds, 1e-9 * rate);
  return rate;
}

std::string layerNorm(const std::string &rows) {
  std::string type = "tensor<" + rows + "x768xf32>";
  return "func.func @f(%x: " + type + ", %h: " + type + ", %s: tensor<768xf32>, %b: tensor<768xf32>) -> (" + type +
         ", " + type + ") {\n %u = graph.binary add %x, %h : " + type +
         "\n %y = graph.layer_norm %u, %s, %b {epsilon = 1.0e-5 : f64} : (" + type +
         ", tensor<768xf32>, tensor<768xf32>) -> " + type + "\n return %u, %y : " + type + ", " + type + "\n}";
}

std::string biasGelu(const std::string &kind) {
  std::string type = "tensor<2048x3072xf32>";
  return "func.func @f(%x: " + type + ", %b: tensor<3072xf32>) -> " + type +
         " {\n %s = graph.broadcast %b {dims = array<i64: 1>} : (tensor<3072xf32>) -> " + type +
         "\n %u = graph.binary add %x, %s : " + type + "\n %y = graph.unary " + kind + " %u : " + type +
         "\n return %y : " + type + "\n}";
}

std::string softmax() {
  std::string type = "tensor<4096x1024xf32>";
  return "func.func @f(%x: " + type + ") -> " + type + " {\n %y = graph.softmax %x : (" + type + ") -> " + type +
         "\n return %y : " + type + "\n}";
}

std::string adamw() {
  std::string type = "tensor<4000000xf32>";
  std::string list = type + ", " + type + ", " + type;
  return "func.func @f(%p: " + type + ", %m: " + type + ", %v: " + type + ", %g: " + type +
         ", %s: tensor<f32>, %lr: tensor<f32>, %bias: tensor<2xf32>) -> (" + list +
         ") {\n %a:3 = graph.adamw %p, %g, %m, %v, %s, %lr, %bias {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = "
         "1.0e-8 : f64, weight_decay = 0.1 : f64} : (" +
         list + ", " + type + ", tensor<f32>, tensor<f32>, tensor<2xf32>) -> (" + list +
         ")\n return %a#0, %a#1, %a#2 : " + list + "\n}";
}

std::string columnSum() {
  return R"(func.func @f(%x: tensor<4096x1024xf32>, %y: tensor<4096x1024xf32>) -> tensor<1024xf32> {
    %z = graph.binary mul %x, %y : tensor<4096x1024xf32>
    %s = graph.reduce sum %z over [0] : (tensor<4096x1024xf32>) -> tensor<1024xf32>
    return %s : tensor<1024xf32>
  })";
}

std::string squareSum() {
  return R"(func.func @f(%x: tensor<4096x1024xf32>) -> tensor<f32> {
    %z = graph.binary mul %x, %x : tensor<4096x1024xf32>
    %s = graph.reduce sum %z over [0, 1] : (tensor<4096x1024xf32>) -> tensor<f32>
    return %s : tensor<f32>
  })";
}

TEST(FusedSpeed, NearMemory) {
  double copy = copyRate();
  std::printf("%-24s %20.2f GB/s (read + written)\n", "memcpy", 1e-9 * copy);
  EXPECT_GT(rateOf("residual + layer_norm", layerNorm("4096")), 0.25 * copy);
  rateOf("the same, in cache", layerNorm("64"));
  EXPECT_GT(rateOf("bias + gelu", biasGelu("gelu")), 0.1 * copy);
  EXPECT_GT(rateOf("bias + gelu_tanh", biasGelu("gelu_tanh")), 0.1 * copy);
  EXPECT_GT(rateOf("softmax", softmax()), 0.1 * copy);
  EXPECT_GT(rateOf("adamw", adamw()), 0.25 * copy);
  EXPECT_GT(rateOf("adamw in place", adamw(), true), 0.25 * copy);
  EXPECT_GT(rateOf("column sum of a product", columnSum()), 0.25 * copy);
  EXPECT_GT(rateOf("sum of squares", squareSum()), 0.2 * copy);
}

} // namespace
} // namespace echelon::test

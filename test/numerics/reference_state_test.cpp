// SPDX-License-Identifier: Apache-2.0
//
// Views, rows, loss, update, variables and groups in the reference interpreter
// against numbers worked out by hand, and what it refuses.
#include "test/numerics/reference_run.h"

using namespace echelon::test;

namespace {

TEST(Reference, Views) {
  Function views(R"(
func.func @f(%a: tensor<2x3xf64>) -> (tensor<3x2xf64>, tensor<3x2xf64>, tensor<2x2x3xf64>, tensor<2x2xf64>, tensor<3x4xf64>, tensor<2x5xf64>) {
  %r = graph.reshape %a : (tensor<2x3xf64>) -> tensor<3x2xf64>
  %t = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<2x3xf64>) -> tensor<3x2xf64>
  %b = graph.broadcast %a {dims = array<i64: 0, 2>} : (tensor<2x3xf64>) -> tensor<2x2x3xf64>
  %s = graph.slice %a {offsets = array<i64: 1, 2>, strides = array<i64: -1, -2>} : (tensor<2x3xf64>) -> tensor<2x2xf64>
  %p = graph.pad %s {offsets = array<i64: 0, 3>, strides = array<i64: 2, -2>} : (tensor<2x2xf64>) -> tensor<3x4xf64>
  %c = graph.concat %s, %a {dim = 1 : i64} : (tensor<2x2xf64>, tensor<2x3xf64>) -> tensor<2x5xf64>
  return %r, %t, %b, %s, %p, %c : tensor<3x2xf64>, tensor<3x2xf64>, tensor<2x2x3xf64>, tensor<2x2xf64>, tensor<3x4xf64>, tensor<2x5xf64>
})");
  auto results = views({{{2, 3}, {1, 2, 3, 4, 5, 6}}});
  expectNear(results[0], {1, 2, 3, 4, 5, 6});
  expectNear(results[1], {1, 4, 2, 5, 3, 6});
  expectNear(results[2], {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  expectNear(results[3], {6, 4, 3, 1});
  expectNear(results[4], {0, 4, 0, 6, 0, 0, 0, 0, 0, 1, 0, 3});
  expectNear(results[5], {6, 4, 1, 2, 3, 3, 1, 4, 5, 6});
}

TEST(Reference, RowsAndLoss) {
  Function rows(R"(
func.func @f(%t: tensor<3x2xf64>, %i: tensor<2xi64>) -> (tensor<2x2xf64>, tensor<3x2xf64>) {
  %0 = graph.embedding %t, %i : (tensor<3x2xf64>, tensor<2xi64>) -> tensor<2x2xf64>
  %1 = graph.embedding_grad %i, %0 : (tensor<2xi64>, tensor<2x2xf64>) -> tensor<3x2xf64>
  return %0, %1 : tensor<2x2xf64>, tensor<3x2xf64>
})");
  Tensor table{{3, 2}, {1, 2, 3, 4, 5, 6}};
  auto taken = rows({table, {{2}, {-1, 2}}});
  expectNear(taken[0], {5, 6, 5, 6});
  expectNear(taken[1], {0, 0, 0, 0, 10, 12});
  EXPECT_EQ(rows.errorOf({table, {{2}, {0, 3}}}),
            "index 3 is outside a table of 3 rows");
  EXPECT_EQ(rows.errorOf({table, {{2}, {0, -4}}}),
            "index -4 is outside a table of 3 rows");
  Function loss(R"(
func.func @f(%x: tensor<3x2xf64>, %y: tensor<3xi64>) -> (tensor<f64>, tensor<f64>, tensor<3xf64>) {
  %0, %1, %2 = graph.softmax_cross_entropy %x, %y {ignore_index = -7 : i64, label_smoothing = 0.5 : f64} : (tensor<3x2xf64>, tensor<3xi64>) -> (tensor<f64>, tensor<f64>, tensor<3xf64>)
  return %0, %1, %2 : tensor<f64>, tensor<f64>, tensor<3xf64>
})");
  // Probabilities 1/4 3/4 and 1/2 1/2; targets 1/4 3/4 (label 1) and 3/4 1/4.
  double ln3 = std::log(3.0), ln2 = std::log(2.0);
  Tensor x{{3, 2}, {0, ln3, 5, 6, 1000, 1000}};
  auto computed = loss({x, {{3}, {1, -7, 0}}});
  expectNear(computed[0], {0.25 * 2 * ln2 + 0.75 * (2 * ln2 - ln3) + ln2},
             1e-12);
  expectNear(computed[1], {2});
  expectNear(computed[2],
             {2 * ln2, 5 + std::log(1 + std::exp(1.0)), 1000 + ln2}, 1e-12);
  EXPECT_EQ(loss.errorOf({x, {{3}, {1, 2, 0}}}),
            "label 2 is not one of 2 classes");
}

TEST(Reference, ScheduleAndUpdate) {
  const auto rates = [](const char *kind) {
    Function run(
        std::string(
            "func.func @f() -> tensor<f32> {\n  %0 = graph.learning_rate ") +
        "{schedule = #graph<schedule_kind " + kind +
        ">, base = 8.0 : f64, min_lr = 2.0 : f64, warmup_steps = 2 : i64, "
        "total_steps = 7 : i64} : () -> "
        "tensor<f32>\n  return %0 : tensor<f32>\n}");
    std::vector<double> result;
    for (run.interpreter.step = 0; run.interpreter.step < 9;
         ++run.interpreter.step)
      result.push_back(run({})[0].values[0]);
    return Tensor{{9}, result};
  };
  // Two steps of warmup to 8; from step 2 to step 6 down to 2 in quarters.
  expectNear(rates("constant"), {4, 8, 8, 8, 8, 8, 8, 8, 8});
  expectNear(rates("linear"), {4, 8, 8, 6.5, 5, 3.5, 2, 2, 2});
  double part = 3 * std::sqrt(0.5);
  expectNear(rates("cosine"), {4, 8, 8, 5 + part, 5, 5 - part, 2, 2, 2}, 1e-14);
  Function update(R"(
func.func @f(%p: tensor<1xf64>, %g: tensor<1xf64>, %m: tensor<1xf64>, %v: tensor<1xf64>, %s: tensor<f64>, %lr: tensor<f64>) -> (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>, tensor<2xf64>) {
  %bias = graph.adam_bias {beta1 = 0.5 : f64, beta2 = 0.75 : f64} : () -> tensor<2xf64>
  %0, %1, %2 = graph.adamw %p, %g, %m, %v, %s, %lr, %bias {beta1 = 0.5 : f64, beta2 = 0.75 : f64, epsilon = 1.0 : f64, weight_decay = 0.5 : f64} : (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>, tensor<1xf64>, tensor<f64>, tensor<f64>, tensor<2xf64>) -> (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>)
  return %0, %1, %2, %bias : tensor<1xf64>, tensor<1xf64>, tensor<1xf64>, tensor<2xf64>
})");
  // Step 1: bias [1 / (1 - 1/2), 1 / sqrt(1 - 3/4)] = [2, 2]. g = 4 * 1/2 = 2,
  // m = 1, v = 1. p = 3 (1 - 0.1 * 0.5) - 0.1 * 2 * 1 / (1 * 2 + 1) = 2.85 -
  // 0.2 / 3.
  auto stepped = update({{{1}, {3}},
                         {{1}, {4}},
                         {{1}, {0}},
                         {{1}, {0}},
                         {{}, {0.5}},
                         {{}, {0.1}}});
  expectNear(stepped[0], {2.85 - 0.2 / 3});
  expectNear(stepped[1], {1});
  expectNear(stepped[2], {1});
  expectNear(stepped[3], {2, 2});
}

TEST(Reference, VariablesAndGroups) {
  Function run(R"(
graph.variable parameter @w : tensor<2xf64> = #graph.init<constant, 3.0, 0.0>
graph.variable gradient @g : tensor<2xf64> = #graph.init<constant, 0.0, 0.0>
func.func @f(%x: tensor<2x2xf64>) -> (tensor<2xf64>, tensor<2xf64>) {
  %before = graph.read @w : tensor<2xf64>
  %0 = graph.fused(%x, %before) over [2, 2] rows 1 : (tensor<2x2xf64>, tensor<2xf64>) -> tensor<2xf64> {
  ^bb0(%a: tensor<2x2xf64>, %b: tensor<2xf64>):
    %c = graph.broadcast %b {dims = array<i64: 1>} : (tensor<2xf64>) -> tensor<2x2xf64>
    %d = graph.binary mul %a, %c : tensor<2x2xf64>
    %e = graph.reduce sum %d over [1] : (tensor<2x2xf64>) -> tensor<2xf64>
    graph.yield %e : tensor<2xf64>
  }
  graph.accumulate %0 into @g : tensor<2xf64>
  graph.accumulate %0 into @g : tensor<2xf64>
  graph.assign %0 to @w : tensor<2xf64>
  %after = graph.read @w : tensor<2xf64>
  return %before, %after : tensor<2xf64>, tensor<2xf64>
})");
  auto first = firstValues(*run.module, "");
  ASSERT_TRUE(bool(first));
  run.interpreter.variables = *first;
  auto results = run({{{2, 2}, {1, 2, 3, 4}}});
  expectNear(results[0], {3, 3});
  expectNear(results[1], {9, 21});
  expectNear(run.interpreter.variables["g"], {18, 42});
  run.interpreter.variables.erase("g");
  EXPECT_EQ(run.errorOf({{{2, 2}, {1, 2, 3, 4}}}), "no variable 'g'");
  EXPECT_EQ(run.errorOf({}), "@f takes 1 arguments, 0 are given");
  EXPECT_EQ(run.errorOf({{{4}, {1, 2, 3, 4}}}),
            "argument 0 of @f does not have the shape of its type");
}

TEST(Reference, AnOpOfAnotherDialectIsRefused) {
  Function run(R"(
func.func private @g(tensor<f64>) -> tensor<f64>
func.func @f(%x: tensor<f64>) -> tensor<f64> {
  %0 = func.call @g(%x) : (tensor<f64>) -> tensor<f64>
  return %0 : tensor<f64>
})");
  EXPECT_EQ(run.errorOf({{{}, {1}}}), "no reference for 'func.call'");
}

} // namespace

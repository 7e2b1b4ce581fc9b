// SPDX-License-Identifier: Apache-2.0
//
// A whole training step against its plain definition: attach-loss,
// differentiate and attach-optimizer on a softmax classifier, five steps run by
// the interpreter, against the same five steps written out: gradient, clipping
// and AdamW as in torch.optim.AdamW and torch.nn.utils.clip_grad_norm_, the
// schedule as in docs/reference/train.md.
#include "test/numerics/gradients/training_program.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace echelon;
using namespace echelon::test;

namespace {

constexpr int64_t kRows = 4, kFeatures = 3, kClasses = 5, kSteps = 5;
constexpr int64_t kIgnore = -1;

constexpr char kModel[] = R"(
graph.variable parameter @W : tensor<3x5xf32> = #graph.init<constant, 0.0, 0.0> {trainable = true}
graph.variable parameter @b : tensor<5xf32> = #graph.init<constant, 0.0, 0.0> {trainable = true}
func.func @forward(%x: tensor<4x3xf32> {graph.name = "x"}) -> (tensor<4x5xf32> {graph.name = "logits"}) {
  %w = graph.read @W : tensor<3x5xf32>
  %b = graph.read @b : tensor<5xf32>
  %p = graph.einsum "r i, i c -> r c" %x, %w : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %s = graph.broadcast %b {dims = array<i64: 1>} : (tensor<5xf32>) -> tensor<4x5xf32>
  %0 = graph.binary add %p, %s : tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
})";

struct Settings {
  int accumulate = 1;
  double clip = 0, decay = 0.1, smoothing = 0;
  const char *schedule = "constant";
  int64_t warmup = 0, total = 0;
  double lr = 0.05, low = 0, beta1 = 0.8, beta2 = 0.95, epsilon = 1e-6;
};

struct Batch {
  Tensor x, labels;
};

/// One parameter with its two moments.
struct State {
  std::vector<double> value, mean, variance;
  double decay;
};

/// The classifier and its update, written out.
class Plain {
public:
  Plain(const Settings &s, const Tensor &w, const Tensor &b) : s(s) {
    for (const Tensor *tensor : {&w, &b})
      states.push_back(
          {tensor->values, std::vector<double>(tensor->values.size(), 0),
           std::vector<double>(tensor->values.size(), 0), s.decay});
    states[1].decay = 0; // one-dimensional parameters do not decay
  }

  void step(llvm::ArrayRef<Batch> batches) {
    std::vector<double> dw(kFeatures * kClasses, 0), db(kClasses, 0);
    lossSum = count = 0;
    for (const Batch &batch : batches)
      addGradient(batch, dw, db);
    squareSum = 0;
    for (std::vector<double> *gradient : {&dw, &db})
      for (double &value : *gradient) {
        squareSum += value * value;
        value /= std::max(count, 1.0);
      }
    double norm = std::sqrt(squareSum) / std::max(count, 1.0), factor = 1;
    if (s.clip > 0)
      factor = std::min(1.0, s.clip / (norm + 1e-6));
    clipped |= factor < 1;
    rate = rateOf(t);
    ++t;
    adamw(states[0], dw, factor);
    adamw(states[1], db, factor);
  }

  std::vector<State> states;
  double lossSum = 0, count = 0, squareSum = 0, rate = 0;
  bool clipped = false;

private:
  void addGradient(const Batch &batch, std::vector<double> &dw,
                   std::vector<double> &db) {
    const std::vector<double> &w = states[0].value, &b = states[1].value;
    for (int64_t row = 0; row < kRows; ++row) {
      int64_t label = int64_t(batch.labels.values[row]);
      if (label == kIgnore)
        continue;
      const double *x = &batch.x.values[row * kFeatures];
      double logits[kClasses], total = 0;
      for (int64_t c = 0; c < kClasses; ++c) {
        logits[c] = b[c];
        for (int64_t i = 0; i < kFeatures; ++i)
          logits[c] += x[i] * w[i * kClasses + c];
        total += std::exp(logits[c]);
      }
      for (int64_t c = 0; c < kClasses; ++c) {
        double target =
            s.smoothing / kClasses + (c == label ? 1 - s.smoothing : 0);
        double error = std::exp(logits[c]) / total - target;
        lossSum -= target * (logits[c] - std::log(total));
        db[c] += error;
        for (int64_t i = 0; i < kFeatures; ++i)
          dw[i * kClasses + c] += x[i] * error;
      }
      count += 1;
    }
  }

  double rateOf(int64_t step) const {
    std::string kind = s.schedule;
    if (step < s.warmup)
      return s.lr * double(step + 1) / double(s.warmup);
    if (kind == "constant")
      return s.lr;
    double done =
        std::min(1.0, double(step - s.warmup) / double(s.total - 1 - s.warmup));
    if (kind == "linear")
      return s.lr * (1 - done) + s.low * done;
    return s.low + (s.lr - s.low) * 0.5 * (1 + std::cos(M_PI * done));
  }

  void adamw(State &state, const std::vector<double> &gradient,
             double factor) const {
    double correction1 = 1 - std::pow(s.beta1, double(t)),
           correction2 = 1 - std::pow(s.beta2, double(t));
    for (size_t i = 0; i < gradient.size(); ++i) {
      double g = gradient[i] * factor;
      state.value[i] *= 1 - rate * state.decay;
      state.mean[i] += (1 - s.beta1) * (g - state.mean[i]);
      state.variance[i] = s.beta2 * state.variance[i] + (1 - s.beta2) * g * g;
      double root = std::sqrt(state.variance[i]) / std::sqrt(correction2);
      state.value[i] -= rate / correction1 * state.mean[i] / (root + s.epsilon);
    }
  }

  Settings s;
  int64_t t = 0;
};

std::string pipelineOf(const Settings &s) {
  auto number = [](double value) {
    char text[32];
    snprintf(text, sizeof(text), "%.17g", value);
    return std::string(text);
  };
  return "attach-loss{ignore-index=-1 label-smoothing=" + number(s.smoothing) +
         "},differentiate,attach-optimizer{lr=" + number(s.lr) +
         " beta1=" + number(s.beta1) + " beta2=" + number(s.beta2) +
         " eps=" + number(s.epsilon) + " weight-decay=" + number(s.decay) +
         " clip-norm=" + number(s.clip) + " schedule=" + s.schedule +
         " warmup-steps=" + std::to_string(s.warmup) +
         " total-steps=" + std::to_string(s.total) +
         " min-lr=" + number(s.low) + " no-decay=@1d}";
}

/// 1e-12 relative: both sides are in double. The clip limit is exact in f32;
/// the 1e-6 beside the norm is not, which is 2.5e-14 relative at norms of 1.
void expectClose(const std::vector<double> &actual,
                 const std::vector<double> &expected, const std::string &what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i],
                1e-12 * std::max(1.0, std::fabs(expected[i])))
        << what << ", element " << i;
}

Batch drawBatch(Draw &draw) {
  Batch batch{draw.uniform({kRows, kFeatures}, -2, 2), {{kRows}, {}}};
  Tensor labels = draw.uniform({kRows}, -1, double(kClasses));
  for (double label : labels.values)
    batch.labels.values.push_back(std::floor(label));
  return batch;
}

class Step : public testing::TestWithParam<Settings> {};

TEST_P(Step, FiveStepsAsWrittenOut) {
  const Settings &s = GetParam();
  TrainingProgram program(kModel);
  ASSERT_TRUE(program.transform(pipelineOf(s)));
  program.drawParameters();
  Plain plain(s, program.get("W"), program.get("b"));
  Draw draw(31);
  double first = 0;
  for (int64_t step = 0; step < kSteps; ++step) {
    std::vector<Batch> batches;
    for (int i = 0; i < s.accumulate; ++i)
      batches.push_back(drawBatch(draw));
    program.clearMetrics();
    for (const Batch &batch : batches)
      program.microbatch({batch.x, batch.labels});
    program.update();
    plain.step(batches);
    std::string at = " after step " + std::to_string(step);
    expectClose(program.get("W").values, plain.states[0].value, "W" + at);
    expectClose(program.get("b").values, plain.states[1].value, "b" + at);
    expectClose(program.get("W.exp_avg").values, plain.states[0].mean,
                "mean" + at);
    expectClose(program.get("W.exp_avg_sq").values, plain.states[0].variance,
                "variance" + at);
    EXPECT_EQ(program.get("grad.W").values, std::vector<double>(15, 0)) << at;
    expectClose({program.scalar("echelon.loss_sum"),
                 program.scalar("echelon.loss_count"),
                 program.scalar("echelon.gradient_square_sum"),
                 program.scalar("echelon.learning_rate")},
                {plain.lossSum, plain.count, plain.squareSum, plain.rate},
                "metrics" + at);
    first = step ? first : plain.lossSum;
  }
  EXPECT_EQ(plain.clipped, s.clip > 0 && s.clip < 1);
  EXPECT_NE(first, plain.lossSum);
}

Settings with(int accumulate, double clip, const char *schedule = "constant",
              int64_t warmup = 0, int64_t total = 0, double smoothing = 0) {
  Settings s;
  s.accumulate = accumulate;
  s.clip = clip;
  s.schedule = schedule;
  s.warmup = warmup;
  s.total = total;
  s.smoothing = smoothing;
  s.low = total ? 0.01 : 0;
  return s;
}

INSTANTIATE_TEST_SUITE_P(
    Settings, Step,
    testing::Values(with(1, 0), with(2, 0), with(1, 0.25), with(2, 0.25),
                    with(1, 64), // a limit that is never reached
                    with(1, 0.25, "cosine", 2, 5, 0.125),
                    with(2, 0.25, "linear", 1, 4, 0.125),
                    with(3, 0, "cosine", 0, 5), with(1, 0, "constant", 3)));

/// No label of the step counts: the parameters only decay.
TEST(Step, NothingCounts) {
  Settings s = with(1, 0.25);
  TrainingProgram program(kModel);
  ASSERT_TRUE(program.transform(pipelineOf(s)));
  program.drawParameters();
  std::vector<double> w = program.get("W").values, b = program.get("b").values;
  program.clearMetrics();
  program.microbatch({Draw(1).uniform({kRows, kFeatures}),
                      {{kRows}, std::vector<double>(kRows, kIgnore)}});
  program.update();
  for (double &value : w)
    value *= 1 - s.lr * s.decay;
  expectClose(program.get("W").values, w, "W");
  expectClose(program.get("b").values, b, "b");
}

} // namespace

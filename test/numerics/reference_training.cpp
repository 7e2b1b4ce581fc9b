// SPDX-License-Identifier: Apache-2.0
//
// Loss and update ops of the reference interpreter.
#include "test/numerics/reference_ops.h"
#include <cmath>

using namespace llvm;

namespace echelon::test {

using Results = std::vector<RefTensor>;

/// The class of each row, -1 where it does not count.
static Expected<std::vector<int64_t>>
labelsOf(const RefTensor &labels, int64_t ignored, int64_t classes) {
  std::vector<int64_t> result;
  for (double value : labels.values) {
    int64_t label = int64_t(value);
    if (label != ignored && (label < 0 || label >= classes))
      return createStringError("label " + Twine(label) + " is not one of " +
                               Twine(classes) + " classes");
    result.push_back(label == ignored ? -1 : label);
  }
  return result;
}

/// What a smoothed label asks for: 1 - s at the label, and s spread over all.
static double targetOf(int64_t label, int64_t at, int64_t classes, double s) {
  return (at == label ? 1 - s : 0) + s / double(classes);
}

/// The sum over rows of -sum_c target_c log softmax_c.
RefResults evaluate(graph::SoftmaxCrossEntropyOp op, RefOperands in) {
  int64_t classes = in[0].shape.back();
  auto labels = labelsOf(in[1], op.getIgnoreIndex(), classes);
  if (!labels)
    return labels.takeError();
  double smoothing = op.getLabelSmoothing().convertToDouble();
  RefTensor sum{{}, {0}}, count{{}, {0}}, lse{in[1].shape, {}};
  for (auto [row, label] : enumerate(*labels)) {
    const double *x = &in[0].values[row * size_t(classes)];
    double max = *std::max_element(x, x + classes), total = 0;
    for (int64_t c = 0; c < classes; ++c)
      total += std::exp(x[c] - max);
    lse.values.push_back(max + std::log(total));
    if (label < 0)
      continue;
    count.values[0] += 1;
    for (int64_t c = 0; c < classes; ++c)
      if (double target = targetOf(label, c, classes, smoothing); target != 0)
        sum.values[0] += target * (lse.values[row] - x[c]);
  }
  return Results{std::move(sum), std::move(count), std::move(lse)};
}

RefResults evaluate(graph::SoftmaxCrossEntropyGradOp op, RefOperands in) {
  int64_t classes = in[0].shape.back();
  auto labels = labelsOf(in[1], op.getIgnoreIndex(), classes);
  if (!labels)
    return labels.takeError();
  double smoothing = op.getLabelSmoothing().convertToDouble();
  RefTensor result = zeros(op.getLogitsGradient().getType());
  for (auto [row, label] : enumerate(*labels)) {
    if (label < 0)
      continue;
    for (int64_t c = 0; c < classes; ++c) {
      size_t at = row * size_t(classes) + size_t(c);
      double p = std::exp(in[0].values[at] - in[2].values[row]);
      result.values[at] =
          in[3].values[0] * (p - targetOf(label, c, classes, smoothing));
    }
  }
  return Results{std::move(result)};
}

RefResults evaluate(graph::AdamWOp op, RefOperands in) {
  RefTensor parameter = in[0], mean = in[2], variance = in[3];
  double b1 = op.getBeta1().convertToDouble(),
         b2 = op.getBeta2().convertToDouble(),
         epsilon = op.getEpsilon().convertToDouble(),
         decay = op.getWeightDecay().convertToDouble(), rate = in[5].values[0];
  for (size_t i = 0; i < parameter.values.size(); ++i) {
    double gradient = in[1].values[i] * in[4].values[0];
    double &p = parameter.values[i], &m = mean.values[i],
           &v = variance.values[i];
    m = b1 * m + (1 - b1) * gradient;
    v = b2 * v + (1 - b2) * gradient * gradient;
    p = p * (1 - rate * decay) -
        rate * in[6].values[0] * m / (std::sqrt(v) * in[6].values[1] + epsilon);
  }
  return Results{std::move(parameter), std::move(mean), std::move(variance)};
}

double learningRate(graph::LearningRateOp op, int64_t step) {
  double base = op.getBase().convertToDouble(),
         low = op.getMinLr().convertToDouble();
  int64_t warmup = op.getWarmupSteps(), last = int64_t(op.getTotalSteps()) - 1;
  if (step < warmup)
    return base * double(step + 1) / double(warmup);
  if (op.getSchedule() == graph::ScheduleKind::Constant)
    return base;
  double done = step < last ? double(step - warmup) / double(last - warmup) : 1;
  if (op.getSchedule() == graph::ScheduleKind::Linear)
    return base + (low - base) * done;
  return low + (base - low) * (1 + std::cos(M_PI * done)) / 2;
}

RefTensor adamBias(graph::AdamBiasOp op, int64_t step) {
  double t = double(step + 1);
  return {{2},
          {1 / (1 - std::pow(op.getBeta1().convertToDouble(), t)),
           1 / std::sqrt(1 - std::pow(op.getBeta2().convertToDouble(), t))}};
}

} // namespace echelon::test

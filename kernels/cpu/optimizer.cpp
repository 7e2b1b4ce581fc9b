// SPDX-License-Identifier: Apache-2.0
//
// The scalars of an update that depend on the step alone: the learning rate of
// the schedule and Adam's bias corrections. The update of the parameters itself
// is generated code.
#include "kernels/cpu/isa.h"

#include <math.h>

namespace {

enum ScheduleKind : int64_t { kConstant = 0, kLinear = 1, kCosine = 2 };

} // namespace

/// Learning rate of 0-based step t.
static double scheduledRate(const ech_learning_rate &d, int64_t t) {
  if (t < d.warmup_steps)
    return d.base * static_cast<double>(t + 1) /
           static_cast<double>(d.warmup_steps);
  if (d.kind == kConstant)
    return d.base;
  // A schedule that ends with its warmup has no steps between base and min_lr.
  const int64_t steps = d.total_steps - 1 - d.warmup_steps;
  double progress = 1;
  if (t - d.warmup_steps < steps)
    progress =
        static_cast<double>(t - d.warmup_steps) / static_cast<double>(steps);
  if (d.kind == kLinear)
    return d.base + (d.min_lr - d.base) * progress;
  if (d.kind != kCosine)
    echelon::kernels::fail("learning_rate_f32", "unknown schedule kind %lld",
                           static_cast<long long>(d.kind));
  return d.min_lr + 0.5 * (d.base - d.min_lr) * (1 + cos(M_PI * progress));
}

void ech_learning_rate_f32(const ech_launch *launch,
                           const ech_learning_rate *schedule, float *out) {
  *out = static_cast<float>(scheduledRate(*schedule, launch->step));
}

void ech_adam_bias_f32(const ech_launch *launch, const ech_adam_bias *bias,
                       float *out) {
  const double t = static_cast<double>(launch->step + 1);
  out[0] = static_cast<float>(1 / (1 - pow(bias->beta1, t)));
  out[1] = static_cast<float>(1 / sqrt(1 - pow(bias->beta2, t)));
}

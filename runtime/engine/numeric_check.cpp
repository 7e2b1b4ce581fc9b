// SPDX-License-Identifier: Apache-2.0
//
// The check for non-finite results.
#include "runtime/engine/numeric_check.h"

#include <cmath>
#include <cstring>

namespace echelon::runtime {

void NumericCheck::attach(ech_launch &launch) {
  launch.check_numerics = inspect;
  launch.check_state = this;
}

void NumericCheck::inspect(const ech_launch *launch, const char *place,
                           const float *values, int64_t count) {
  NumericCheck &check = *static_cast<NumericCheck *>(launch->check_state);
  check.called = true;
  if (check.place)
    return;
  // Without an early exit this loop vectorises: all exponent bits set means not
  // finite.
  uint32_t bad = 0;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits;
    memcpy(&bits, values + i, 4);
    bad |= (bits & 0x7F800000u) == 0x7F800000u;
  }
  if (!bad)
    return;
  for (int64_t i = 0; i < count; ++i) {
    if (std::isfinite(values[i]))
      continue;
    check.place = place;
    check.value = values[i];
    check.index = i;
    check.count = count;
    check.step = launch->step;
    check.microbatch = launch->microbatch;
    return;
  }
}

Status NumericCheck::result() const {
  if (!place)
    return {};
  Status status = failure(
      ECH_EXIT_NUMERIC,
      "'%s' gave %g at element %lld of %lld in microbatch %d: the first result "
      "that is not finite",
      place, static_cast<double>(value), static_cast<long long>(index),
      static_cast<long long>(count), microbatch);
  status.step = step;
  return status;
}

} // namespace echelon::runtime

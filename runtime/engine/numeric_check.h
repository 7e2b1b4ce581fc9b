// SPDX-License-Identifier: Apache-2.0
//
// The check that programs compiled with --check-numerics call after each
// kernel: it remembers the first place whose result holds an infinity or NaN.
#ifndef ECHELON_RUNTIME_ENGINE_NUMERIC_CHECK_H
#define ECHELON_RUNTIME_ENGINE_NUMERIC_CHECK_H

#include "runtime/base/status.h"

namespace echelon::runtime {

class NumericCheck {
public:
  /// Binds the check to a launch. The object must outlive the launch's use.
  void attach(ech_launch &launch);

  /// Whether the program ever called the check.
  bool wasCalled() const { return called; }

  /// ECH_EXIT_NUMERIC naming the place, the element and its value, if there is
  /// any.
  Status result() const;

private:
  static void inspect(const ech_launch *launch, const char *place,
                      const float *values, int64_t count);

  bool called = false;
  const char *place = nullptr; ///< the program's own text
  float value = 0;
  int64_t index = 0;
  int64_t count = 0;
  int64_t step = 0;
  int32_t microbatch = 0;
};

} // namespace echelon::runtime

#endif

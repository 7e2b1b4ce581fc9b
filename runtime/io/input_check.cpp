// SPDX-License-Identifier: Apache-2.0
//
// The range check of indices, and facts about dtypes.
#include "runtime/io/input_check.h"

#include "runtime/base/text.h"

namespace echelon::runtime {

namespace {

template <typename T>
Status checkValues(const ech_input &input, const T *values, int64_t count,
                   int64_t step, int64_t firstPosition) {
  bool isLabel = input.role == ECH_ROLE_LABELS;
  int64_t low = isLabel ? 0 : -input.limit;
  for (int64_t i = 0; i < count; ++i) {
    int64_t value = values[i];
    if (value >= low && value < input.limit)
      continue;
    if (isLabel && value == input.ignore_index)
      continue;
    Status status = failure(
        ECH_EXIT_INPUT,
        "input '%s' has value %lld at position %lld, outside of [%lld, %lld)",
        input.name, static_cast<long long>(value),
        static_cast<long long>(firstPosition + i), static_cast<long long>(low),
        static_cast<long long>(input.limit));
    if (isLabel)
      appendFormat(status.message, " and not the ignored label %d",
                   input.ignore_index);
    status.step = step;
    return status;
  }
  return {};
}

} // namespace

Status checkIndices(const ech_input &input, const void *values, int64_t count,
                    int64_t step, int64_t firstPosition) {
  if (input.limit == 0)
    return {};
  if (input.dtype == ECH_I64)
    return checkValues(input, static_cast<const int64_t *>(values), count, step,
                       firstPosition);
  if (input.dtype == ECH_I32)
    return checkValues(input, static_cast<const int32_t *>(values), count, step,
                       firstPosition);
  return {};
}

uint64_t elementBytes(int dtype) {
  switch (dtype) {
  case ECH_F64:
  case ECH_I64:
    return 8;
  case ECH_BF16:
  case ECH_F16:
    return 2;
  case ECH_BOOL:
    return 1;
  default:
    return 4;
  }
}

const char *dtypeName(int dtype) {
  static constexpr const char *kNames[] = {"f32", "bf16", "f64",
                                           "i32", "i64",  "bool", "f16"};
  return dtype >= 0 && dtype <= ECH_F16 ? kNames[dtype] : "unknown";
}

} // namespace echelon::runtime

// SPDX-License-Identifier: Apache-2.0
//
// The check of integer inputs against the range that the program can index,
// before any kernel sees them.
#ifndef ECHELON_RUNTIME_IO_INPUT_CHECK_H
#define ECHELON_RUNTIME_IO_INPUT_CHECK_H

#include "runtime/base/status.h"

namespace echelon::runtime {

/// Checks `count` values of `input` (its own dtype, I32 or I64; other dtypes
/// pass) against ech_input.limit: labels in [0, limit) or ignore_index, others
/// in [-limit, limit). Fails with ECH_EXIT_INPUT naming step, input, the index
/// of the element among the values plus `firstPosition`, and the value.
Status checkIndices(const ech_input &input, const void *values, int64_t count,
                    int64_t step, int64_t firstPosition);

/// Bytes of one element.
uint64_t elementBytes(int dtype);

/// "f32", "bf16", "f64", "i32", "i64", "bool".
const char *dtypeName(int dtype);

} // namespace echelon::runtime

#endif

// SPDX-License-Identifier: Apache-2.0
//
// First values as a pure function of (seed, tensor name, element index): any
// range of elements can be made on its own, in any order.
#ifndef ECHELON_COMPILER_ZOO_WEIGHTS_H
#define ECHELON_COMPILER_ZOO_WEIGHTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace echelon::zoo {

/// Fills `values` with elements [first, first + size) of the tensor's normal
/// distribution with the given mean and standard deviation. `first` is even.
void fillNormal(int64_t seed, llvm::StringRef name, int64_t first, double mean,
                double std, llvm::MutableArrayRef<float> values);

} // namespace echelon::zoo

#endif

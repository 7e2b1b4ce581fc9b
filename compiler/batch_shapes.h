// SPDX-License-Identifier: Apache-2.0
//
// What a file of explicit batches says about a model's symbols.
#ifndef ECHELON_COMPILER_BATCH_SHAPES_H
#define ECHELON_COMPILER_BATCH_SHAPES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <vector>

namespace echelon {

struct BatchShapes {
  std::map<std::string, std::vector<int64_t>> inputs; ///< shape of one microbatch of each input
  int64_t micro = 0, accumulate = 1;                  ///< micro x accumulate = rows of a step
};

/// Reads the header of a safetensors file with tensors `<step>.<input>` and takes the shapes of step 0. An unset
/// `micro` (0) is rows / accumulate. Errors: no such file, no safetensors file, no step 0, inputs with different rows,
/// rows that do not divide.
llvm::Expected<BatchShapes> readBatchShapes(llvm::StringRef path, int64_t micro, int64_t accumulate);

} // namespace echelon

#endif

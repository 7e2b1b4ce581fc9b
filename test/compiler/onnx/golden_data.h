// SPDX-License-Identifier: Apache-2.0
//
// Reading the data that lies next to golden models: safetensors files as
// double-precision tensors.
#ifndef ECHELON_TEST_COMPILER_ONNX_GOLDEN_DATA_H
#define ECHELON_TEST_COMPILER_ONNX_GOLDEN_DATA_H

#include "test/numerics/reference_interpreter.h"

namespace echelon::test {

/// All tensors of a safetensors file (F32, F64, I64, I32, BOOL, U8).
llvm::Expected<std::map<std::string, RefTensor>>
readSafetensors(llvm::StringRef path);

/// How far a model's outputs are from what PyTorch computed on batch 0.
struct GoldenDifference {
  std::string output; ///< logits or loss
  double largest = 0; ///< absolute
  double golden = 0;  ///< largest magnitude of the expected values
};

/// Runs the module's `forward` on `batches.safetensors` step 0 of `folder` and
/// compares with `logits.safetensors` or the first loss in `golden.json`.
llvm::Expected<GoldenDifference> compareWithGolden(mlir::ModuleOp module,
                                                   llvm::StringRef folder);

} // namespace echelon::test

#endif

// SPDX-License-Identifier: Apache-2.0
//
// Graph ops in double together with a bound on the error that the same ops make in f32: a running error analysis
// (Higham, Accuracy and Stability of Numerical Algorithms, section 3.3). Only what fused groups are made of.
#ifndef ECHELON_TEST_NUMERICS_FUSED_REFERENCE_H
#define ECHELON_TEST_NUMERICS_FUSED_REFERENCE_H

#include "dialects/graph/graph_dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include <vector>

namespace echelon::test {

/// A dense tensor: exact values and, for each, how far an f32 evaluation may be off.
struct Bounded {
  std::vector<double> values, errors;
};

/// Evaluates a function of graph ops; `arguments` are dense. Composites (softmax, layer_norm, rms_norm, adamw, mean)
/// are evaluated by their definition.
std::vector<Bounded> evaluate(mlir::func::FuncOp function, const std::vector<std::vector<double>> &arguments);

/// Row-major position of `index` in `shape`, and the next index.
int64_t flatten(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> strides);
bool advance(llvm::SmallVectorImpl<int64_t> &index, llvm::ArrayRef<int64_t> shape);
llvm::SmallVector<int64_t> denseStrides(llvm::ArrayRef<int64_t> shape);

} // namespace echelon::test

#endif

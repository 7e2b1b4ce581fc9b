// SPDX-License-Identifier: Apache-2.0
//
// The ops of the reference interpreter that are more than one line each.
#ifndef ECHELON_TEST_NUMERICS_REFERENCE_OPS_H
#define ECHELON_TEST_NUMERICS_REFERENCE_OPS_H

#include "test/numerics/reference_interpreter.h"

namespace echelon::test {

/// A tensor of zeros of the type's shape.
RefTensor zeros(mlir::Type type);
Shape refStrides(const Shape &shape);

std::vector<RefTensor> refEinsum(graph::EinsumOp op, const RefTensor &lhs,
                                 const RefTensor &rhs);
std::vector<RefTensor> refReduce(graph::ReduceOp op, const RefTensor &input);
std::vector<RefTensor> refSoftmax(const RefTensor &input);
std::vector<RefTensor> refLayerNorm(graph::LayerNormOp op,
                                    llvm::ArrayRef<RefTensor> in);
std::vector<RefTensor> refRmsNorm(graph::RmsNormOp op,
                                  llvm::ArrayRef<RefTensor> in);
std::vector<RefTensor> refAttention(graph::AttentionOp op,
                                    llvm::ArrayRef<RefTensor> in);
std::vector<RefTensor> refAttentionGrad(graph::AttentionGradOp op,
                                        llvm::ArrayRef<RefTensor> in);
std::vector<RefTensor> refCrossEntropy(graph::SoftmaxCrossEntropyOp op,
                                       llvm::ArrayRef<RefTensor> in);
std::vector<RefTensor> refCrossEntropyGrad(graph::SoftmaxCrossEntropyGradOp op,
                                           llvm::ArrayRef<RefTensor> in);
std::vector<RefTensor> refAdamW(graph::AdamWOp op,
                                llvm::ArrayRef<RefTensor> in);

} // namespace echelon::test

#endif

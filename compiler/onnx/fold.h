// SPDX-License-Identifier: Apache-2.0
//
// Evaluating ops on the host: the shape chains, masks and rotary tables that
// exporters leave in a graph. Floating point is computed in double and rounded
// to the result's type after each op, which for float equals correctly rounded
// single-precision arithmetic (Figueroa 1995, double rounding).
#ifndef ECHELON_COMPILER_ONNX_FOLD_H
#define ECHELON_COMPILER_ONNX_FOLD_H

#include "compiler/onnx/op_call.h"

namespace echelon::onnx_import {

// Elementwise, with broadcasting (fold_elementwise.cpp).
void foldBinary(FoldCall &call);  ///< Add Sub Mul Div Pow Mod Max Min Sum Mean
void foldCompare(FoldCall &call); ///< Equal Less Greater LessOrEqual ...
void foldLogic(FoldCall &call);   ///< And Or Xor BitwiseAnd BitwiseOr
void foldUnary(FoldCall &call);   ///< Neg Exp Sqrt Cos Floor Not IsNaN ...
void foldCast(FoldCall &call);    ///< Cast CastLike
void foldWhere(FoldCall &call);
void foldClip(FoldCall &call);

// Views and copies (fold_shape.cpp).
void foldIdentity(FoldCall &call);
void foldReshape(FoldCall &call);
void foldFlatten(FoldCall &call);
void foldSqueeze(FoldCall &call);
void foldUnsqueeze(FoldCall &call);
void foldTranspose(FoldCall &call);
void foldExpand(FoldCall &call);
void foldConcat(FoldCall &call);
void foldSlice(FoldCall &call);
void foldSplit(FoldCall &call);
void foldTile(FoldCall &call);
void foldShapeOf(FoldCall &call);
void foldSizeOf(FoldCall &call);

// By index, and from nothing (fold_indexing.cpp).
void foldGather(FoldCall &call);
void foldGatherNd(FoldCall &call);
void foldGatherElements(FoldCall &call);
void foldScatterNd(FoldCall &call);
void foldRange(FoldCall &call);
void foldConstantOfShape(FoldCall &call);
void foldTrilu(FoldCall &call);
void foldCumSum(FoldCall &call);
void foldEyeLike(FoldCall &call);
void foldOneHot(FoldCall &call);

// Sums (fold_reduction.cpp).
void foldReduce(FoldCall &call); ///< ReduceSum Mean Max Min Prod L2 ...
void foldMatMul(FoldCall &call);

/// Element i of `input` under strides, for every position of `shape` in
/// row-major order starting at `offset` (in elements).
HostTensor copyStrided(const HostTensor &input, const Shape &shape,
                       int64_t offset, llvm::ArrayRef<int64_t> strides);

/// Element offsets of `shape` broadcast to `result`, in row-major order.
std::vector<int64_t> broadcastOffsets(llvm::ArrayRef<int64_t> shape,
                                      llvm::ArrayRef<int64_t> result);

} // namespace echelon::onnx_import

#endif

// SPDX-License-Identifier: Apache-2.0
//
// The shape arithmetic that importing and folding an op share, over all its
// versions: axes as attribute or input, defaults, negative axes, -1 and 0.
#ifndef ECHELON_COMPILER_ONNX_SHAPE_RULES_H
#define ECHELON_COMPILER_ONNX_SHAPE_RULES_H

#include "compiler/onnx/op_call.h"

namespace echelon::onnx_import {

/// Reshape's result from input 1 (0 copies unless allowzero, -1 infers).
Shape reshapeShape(OpCall &call);
/// Flatten's result.
Shape flattenShape(OpCall &call);
/// Results of Squeeze and Unsqueeze.
Shape squeezeShape(OpCall &call);
Shape unsqueezeShape(OpCall &call);
/// Transpose's permutation (reversal when absent).
Shape permutationOf(OpCall &call);

/// Elements offsets[i] + j * strides[i], j < sizes[i].
struct Window {
  Shape offsets, sizes, strides;
};
/// Slice's window: attributes before opset 10, inputs since.
Window sliceWindow(OpCall &call);
/// The parts of Split (sizes given, num_outputs, or equal ones).
std::vector<Window> splitWindows(OpCall &call);
/// Parts for SplitToSequence.
std::vector<Window> sequenceWindows(OpCall &call);

/// A reduction's axes (attribute or input 1; all when absent, none with
/// noop_with_empty_axes) and the result with and without the reduced dims.
struct Reduction {
  Shape axes, kept, result;
};
Reduction reductionOf(OpCall &call);

} // namespace echelon::onnx_import

#endif

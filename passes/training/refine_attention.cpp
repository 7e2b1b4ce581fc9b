// SPDX-License-Identifier: Apache-2.0
//
// Masks and repeated heads of attention ops: read off the operands, kept as attributes and smaller operands.
#include "passes/training/refine_attention.h"

#include "dialects/graph/builders.h"
#include "passes/training/attention_mask.h"

using namespace mlir;
using namespace llvm;
using namespace echelon::graph;

namespace echelon::training {

Value fewerHeads(OpBuilder &builder, Value keys, int64_t &heads) {
  Shape shape = shapeOf(keys);
  heads = shape[2];
  // The repetition may be spelled before or after the move to [b, k, h, d].
  SmallVector<int64_t> permutation = {0, 1, 2, 3};
  Value value = keys;
  if (auto transpose = value.getDefiningOp<TransposeOp>()) {
    permutation.assign(transpose.getPermutation().begin(), transpose.getPermutation().end());
    value = transpose.getInput();
  }
  auto merge = value.getDefiningOp<ReshapeOp>();
  auto repeat = merge ? merge.getInput().getDefiningOp<BroadcastOp>() : BroadcastOp();
  if (!repeat || shapeOf(repeat.getResult()).size() != 5 || repeat.getDims().size() != 4)
    return keys;
  // The head dim of the merged tensor and the dim that the broadcast adds right after its kv heads.
  int64_t headDim = permutation[2];
  Shape wide = shapeOf(repeat.getResult()), merged = shapeOf(merge.getResult());
  int64_t added = -1;
  for (int64_t dim = 0; dim < 5; ++dim)
    if (!llvm::is_contained(repeat.getDims(), dim))
      added = dim;
  if (added != headDim + 1 || wide[headDim] * wide[added] != merged[headDim])
    return keys;
  for (int64_t dim = 0; dim < 4; ++dim)
    if (dim != headDim && merged[dim] != wide[dim < added ? dim : dim + 1])
      return keys;
  heads = wide[headDim];
  return GraphBuilder(builder, keys.getLoc()).transpose(repeat.getInput(), permutation);
}

/// Moves a constant mask into the op's attributes. A class that meets another one already there stays an operand.
static void refineMask(AttentionOp op) {
  if (!op.getMask())
    return;
  MaskClass found = classifyMask(op.getMask(), MaskForm::Additive);
  bool isCausal = op.getCausal() && op.getWindow() == 0;
  if ((found.kind == MaskClass::Causal || found.kind == MaskClass::Window) && (!op.getCausal() || isCausal)) {
    op.setCausal(true);
    op.setWindow(found.window);
  } else if (found.kind != MaskClass::None) {
    return;
  }
  op.getMaskMutable().clear();
}

void refineAttention(AttentionOp op, OpBuilder &builder) {
  refineMask(op);
  builder.setInsertionPoint(op);
  int64_t keyHeads, valueHeads;
  Value keys = fewerHeads(builder, op.getKey(), keyHeads), values = fewerHeads(builder, op.getValue(), valueHeads);
  if (keyHeads != valueHeads)
    return;
  op.getKeyMutable().assign(keys);
  op.getValueMutable().assign(values);
}

} // namespace echelon::training

// SPDX-License-Identifier: Apache-2.0
//
// One spelling for each computation: transposes melt into contractions, views commute into one order, exporter
// leftovers go; recompose.cpp puts norms and activations back together.
#include "dialects/graph/builders.h"
#include "llvm/ADT/StringExtras.h"
#include "passes/training/passes.h"
#include "passes/training/recompose.h"

using namespace mlir;
using namespace llvm;
using namespace echelon::graph;

namespace echelon::training {
#define GEN_PASS_DEF_CANONICALIZEGRAPHPASS
#include "passes/training/passes.h.inc"

namespace {

std::array<SmallVector<StringRef>, 3> splitNames(StringRef spec) {
  std::array<SmallVector<StringRef>, 3> names;
  auto [operands, result] = spec.split("->");
  auto [lhs, rhs] = operands.split(',');
  SplitString(lhs, names[0]);
  SplitString(rhs, names[1]);
  SplitString(result, names[2]);
  return names;
}

std::string joinNames(const std::array<SmallVector<StringRef>, 3> &names) {
  return join(names[0], " ") + ", " + join(names[1], " ") + " -> " + join(names[2], " ");
}

/// einsum(transpose x, y) and transpose(einsum(x, y)) become one einsum.
struct AbsorbOperandTranspose : OpRewritePattern<EinsumOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(EinsumOp op, PatternRewriter &rewriter) const override {
    auto names = splitNames(op.getSpec());
    SmallVector<Value> operands = {op.getLhs(), op.getRhs()};
    bool changed = false;
    for (int side : {0, 1})
      if (auto transpose = operands[side].getDefiningOp<TransposeOp>()) {
        SmallVector<StringRef> moved(names[side].size());
        for (auto [i, dim] : enumerate(transpose.getPermutation()))
          moved[dim] = names[side][i];
        names[side] = moved;
        operands[side] = transpose.getInput();
        changed = true;
      }
    if (!changed)
      return failure();
    rewriter.replaceOpWithNewOp<EinsumOp>(op, op.getType(), joinNames(names), operands[0], operands[1]);
    return success();
  }
};

struct AbsorbResultTranspose : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto einsum = op.getInput().getDefiningOp<EinsumOp>();
    if (!einsum || !einsum->hasOneUse())
      return failure();
    auto names = splitNames(einsum.getSpec());
    SmallVector<StringRef> result;
    for (int64_t dim : op.getPermutation())
      result.push_back(names[2][dim]);
    names[2] = result;
    rewriter.replaceOpWithNewOp<EinsumOp>(op, op.getType(), joinNames(names), einsum.getLhs(), einsum.getRhs());
    return success();
  }
};

/// transpose(reshape x) = reshape(transpose x) where every dim that moves is a block of whole dims of x. Then pairs
/// such as reshape-transpose-reshape around attention cancel.
struct TransposeBelowReshape : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto reshape = op.getInput().getDefiningOp<ReshapeOp>();
    if (!reshape)
      return failure();
    Shape from = shapeOf(reshape.getInput()), to = shapeOf(reshape.getResult());
    if (from.size() <= to.size())
      return failure(); // only merges: a split is the form that einsum and attention want
    // Blocks of input dims for each reshaped dim.
    SmallVector<SmallVector<int64_t>> blocks;
    size_t next = 0;
    for (int64_t size : to) {
      SmallVector<int64_t> block;
      int64_t product = 1;
      while (next < from.size() && product < size) {
        product *= from[next];
        block.push_back(next++);
      }
      if (product != size)
        return failure();
      blocks.push_back(block);
    }
    if (next != from.size())
      return failure();
    SmallVector<int64_t> permutation;
    for (int64_t dim : op.getPermutation())
      permutation.append(blocks[dim]);
    GraphBuilder g(rewriter, op.getLoc());
    Value moved = g.transpose(reshape.getInput(), permutation);
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), moved);
    return success();
  }
};

/// transpose(broadcast x): the broadcast does the move where x's dims keep their order.
struct TransposeOfBroadcast : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto broadcast = op.getInput().getDefiningOp<BroadcastOp>();
    if (!broadcast)
      return failure();
    SmallVector<int64_t> dims, order;
    for (auto [i, dim] : enumerate(op.getPermutation())) {
      auto found = llvm::find(broadcast.getDims(), dim);
      if (found == broadcast.getDims().end())
        continue;
      dims.push_back(i);
      order.push_back(found - broadcast.getDims().begin());
    }
    GraphBuilder g(rewriter, op.getLoc());
    Value moved = g.transpose(broadcast.getInput(), order);
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), moved, dims);
    return success();
  }
};

/// select(x != x, c, x) guards against NaN of fully masked softmax rows, which attention defines as 0.
struct DropNanGuard : OpRewritePattern<SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SelectOp op, PatternRewriter &rewriter) const override {
    auto compare = op.getCondition().getDefiningOp<CompareOp>();
    if (!compare || compare.getPredicate() != Predicate::Ne || compare.getLhs() != compare.getRhs() ||
        compare.getLhs() != op.getOnFalse() || !op.getOnFalse().getDefiningOp<SoftmaxOp>())
      return failure();
    rewriter.replaceOp(op, op.getOnFalse());
    return success();
  }
};

/// Looking up rows 0 .. n-1 in order is a slice of the table.
struct IotaEmbedding : OpRewritePattern<EmbeddingOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(EmbeddingOp op, PatternRewriter &rewriter) const override {
    // Rows repeated over a leading batch are one slice, broadcast.
    Value indices = op.getIndices();
    if (auto broadcast = indices.getDefiningOp<BroadcastOp>())
      if (broadcast.getDims().size() == 1 && broadcast.getDims()[0] + 1 == int64_t(shapeOf(indices).size()))
        indices = broadcast.getInput();
    auto constant = indices.getDefiningOp<ConstantOp>();
    auto values = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue()) : nullptr;
    if (!values)
      return failure();
    Shape shape = shapeOf(indices), table = shapeOf(op.getTable());
    int64_t last = shape.empty() ? 1 : shape.back(), position = 0;
    int64_t first = values.empty() ? 0 : (*values.begin()).getSExtValue();
    for (const APInt &value : values)
      if (value.getSExtValue() != first + position++ % last)
        return failure();
    if (first < 0 || first + last > table[0])
      return failure();
    GraphBuilder g(rewriter, op.getLoc());
    Value rows = op.getTable();
    if (last != table[0])
      rows = g.slice(rows, {last, table[1]}, {first, 0}, {1, 1});
    Shape result = shapeOf(op.getResult());
    int64_t rank = result.size();
    if (rank == 1)
      rewriter.replaceOp(op, g.reshape(rows, result));
    else
      rewriter.replaceOp(op, g.broadcast(rows, result, {rank - 2, rank - 1}));
    return success();
  }
};

/// reshape(broadcast x) where the broadcast repeats nothing.
struct ReshapeOfTrivialBroadcast : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto broadcast = op.getInput().getDefiningOp<BroadcastOp>();
    if (!broadcast || broadcast.getInput().getType().getNumElements() != op.getType().getNumElements())
      return failure();
    rewriter.replaceOp(op, GraphBuilder(rewriter, op.getLoc()).reshape(broadcast.getInput(), shapeOf(op.getResult())));
    return success();
  }
};

/// A loss over flattened rows, as exporters write it, is the loss over the rows as they are.
struct UnflattenLoss : OpRewritePattern<SoftmaxCrossEntropyOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SoftmaxCrossEntropyOp op, PatternRewriter &rewriter) const override {
    auto logits = op.getLogits().getDefiningOp<ReshapeOp>();
    auto labels = op.getLabels().getDefiningOp<ReshapeOp>();
    if (!logits || !labels)
      return failure();
    Shape scores = shapeOf(logits.getInput()), rows = shapeOf(labels.getInput());
    if (scores.empty() || scores.back() != shapeOf(op.getLogits()).back())
      return failure();
    Type lse = RankedTensorType::get(rows, elementOf(op.getLse()));
    scores.pop_back();
    if (scores != rows)
      return failure();
    auto whole = rewriter.create<SoftmaxCrossEntropyOp>(
        op.getLoc(), TypeRange{op.getSum().getType(), op.getCount().getType(), lse}, logits.getInput(),
        labels.getInput(), op.getIgnoreIndexAttr(), op.getLabelSmoothingAttr());
    Value flat = GraphBuilder(rewriter, op.getLoc()).reshape(whole.getLse(), shapeOf(op.getLse()));
    rewriter.replaceOp(op, {whole.getSum(), whole.getCount(), flat});
    return success();
  }
};

struct CanonicalizeGraphPass : impl::CanonicalizeGraphPassBase<CanonicalizeGraphPass> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    patterns.add<AbsorbOperandTranspose, AbsorbResultTranspose, TransposeBelowReshape, TransposeOfBroadcast,
                 DropNanGuard, IotaEmbedding, ReshapeOfTrivialBroadcast, UnflattenLoss>(context);
    populateRecomposePatterns(patterns);
    for (StringRef name : {"graph.reshape", "graph.transpose", "graph.broadcast"})
      RegisteredOperationName::lookup(name, context)->getCanonicalizationPatterns(patterns, context);
    FrozenRewritePatternSet frozen(std::move(patterns));
    GreedyRewriteConfig config;
    config.useTopDownTraversal = true;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(applyPatternsAndFoldGreedily(function, frozen, config)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace echelon::training

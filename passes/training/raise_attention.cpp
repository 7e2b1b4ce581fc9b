// SPDX-License-Identifier: Apache-2.0
//
// Finds softmax(scale q k^T + mask) v while it is still a pattern, before a backward exists. Works on einsums, so
// transposes are already gone: the roles of dims follow from names, not from positions.
#include "dialects/graph/builders.h"
#include "llvm/ADT/StringExtras.h"
#include "passes/training/attention_mask.h"
#include "passes/training/passes.h"
#include "passes/training/refine_attention.h"

using namespace mlir;
using namespace llvm;
using namespace echelon::graph;

namespace echelon::training {
#define GEN_PASS_DEF_RAISEATTENTIONPASS
#include "passes/training/passes.h.inc"

namespace {

/// A scalar factor moves down through views and contractions, towards the scores.
struct SinkScale : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    double factor;
    Value other = op.getLhs();
    if (op.getKind() == BinaryKind::Mul && matchSplat(op.getLhs(), factor))
      other = op.getRhs();
    else if ((op.getKind() != BinaryKind::Mul && op.getKind() != BinaryKind::Div) ||
             !matchSplat(op.getRhs(), factor))
      return failure();
    if (op.getKind() == BinaryKind::Div)
      factor = 1 / factor;
    if (!op->hasOneUse())
      return failure();
    Operation *user = *op->user_begin();
    GraphBuilder g(rewriter, op.getLoc());
    auto pushBelow = [&](unsigned operand) {
      rewriter.setInsertionPoint(user);
      Operation *moved = rewriter.clone(*user);
      moved->setOperand(operand, other);
      rewriter.replaceOp(user, g.scale(moved->getResult(0), factor));
      return success();
    };
    if (isa<ReshapeOp, TransposeOp, BroadcastOp>(user))
      return leadsToScores(user) ? pushBelow(0) : failure();
    if (auto einsum = dyn_cast<EinsumOp>(user); einsum && isScores(einsum))
      return pushBelow(einsum.getLhs() == op.getResult() ? 0 : 1);
    return failure();
  }

  static bool leadsToScores(Operation *op) {
    for (int depth = 0; depth < 6 && op->hasOneUse(); ++depth) {
      op = *op->user_begin();
      if (auto einsum = dyn_cast<EinsumOp>(op))
        return isScores(einsum);
      if (!isa<ReshapeOp, TransposeOp, BroadcastOp>(op))
        return false;
    }
    return false;
  }

  /// A contraction whose result reaches a softmax through elementwise ops with one use each.
  static bool isScores(EinsumOp einsum) {
    Operation *op = einsum;
    for (int depth = 0; depth < 8 && op->hasOneUse(); ++depth) {
      op = *op->user_begin();
      if (isa<SoftmaxOp>(op))
        return true;
      if (!isa<BinaryOp, SelectOp, ConvertOp, ReshapeOp>(op))
        return false;
    }
    return false;
  }
};

/// What stands between the scores and the softmax.
struct ScoreChain {
  double scale = 1;
  bool causal = false;
  int64_t window = 0;
  Value bias; ///< additive, [.., queries, keys]; null if none
  EinsumOp scores;
};

/// The names of a contraction by role. q: only in the first operand; k: only in the second.
struct Roles {
  SmallVector<StringRef> lhs, rhs, result;
};

Roles rolesOf(EinsumOp op) {
  Roles roles;
  auto [operands, result] = op.getSpec().split("->");
  auto [lhs, rhs] = operands.split(',');
  SplitString(lhs, roles.lhs);
  SplitString(rhs, roles.rhs);
  SplitString(result, roles.result);
  return roles;
}

int indexOf(ArrayRef<StringRef> names, StringRef name) {
  const StringRef *found = llvm::find(names, name);
  return found == names.end() ? -1 : int(found - names.begin());
}

/// True if the value comes from a contraction through elementwise ops: it is scores, not a mask.
bool feeds(Value value) {
  for (int depth = 0; depth < 8; ++depth) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    if (isa<EinsumOp>(op))
      return true;
    if (isa<SelectOp>(op)) {
      double splat;
      value = matchSplat(op->getOperand(1), splat) ? op->getOperand(2) : op->getOperand(1);
      continue;
    }
    if (!isa<BinaryOp>(op))
      return false;
    double splat;
    value = matchSplat(op->getOperand(0), splat) ? op->getOperand(1) : op->getOperand(0);
  }
  return false;
}

class Raiser {
public:
  Raiser(OpBuilder &builder, bool explain) : builder(builder), explain(explain) {}
  bool raise(SoftmaxOp softmax);

private:
  bool fail(Operation *op, const Twine &why) {
    if (explain)
      op->emitRemark() << "attention not raised: " << why;
    return false;
  }
  bool walkScores(Value value, ScoreChain &chain);
  bool takeMask(Value mask, MaskForm form, ScoreChain &chain);
  Value arrange(Value operand, ArrayRef<StringRef> names, ArrayRef<StringRef> wanted);
  Value biasOperand(Value bias, int64_t batch, int64_t heads, int64_t queries, int64_t keys);

  OpBuilder &builder;
  bool explain;
};

/// Adds a mask to the chain: by its class if it is constant, else as a bias.
bool Raiser::takeMask(Value mask, MaskForm form, ScoreChain &chain) {
  MaskClass found = classifyMask(mask, form);
  if (found.kind == MaskClass::None)
    return true;
  if ((found.kind == MaskClass::Causal || found.kind == MaskClass::Window) && !chain.causal) {
    chain.causal = true;
    chain.window = found.window;
    return true;
  }
  if (found.kind == MaskClass::Causal && chain.causal && chain.window == 0)
    return true; // written twice
  Value additive = mask;
  GraphBuilder g(builder, mask.getLoc());
  if (form != MaskForm::Additive) {
    auto type = cast<RankedTensorType>(mask.getType()).clone(builder.getF32Type());
    Value zero = g.splat(type, 0), hidden = g.splat(type, -std::numeric_limits<double>::infinity());
    additive = form == MaskForm::SeenIfTrue ? g.select(mask, zero, hidden) : g.select(mask, hidden, zero);
  }
  chain.bias = chain.bias ? g.add(chain.bias, additive) : additive;
  return true;
}

bool Raiser::walkScores(Value value, ScoreChain &chain) {
  for (int depth = 0; depth < 10; ++depth) {
    Operation *op = value.getDefiningOp();
    double splat;
    if (!op)
      return false;
    if (auto einsum = dyn_cast<EinsumOp>(op)) {
      chain.scores = einsum;
      return true;
    }
    if (auto select = dyn_cast<SelectOp>(op)) {
      if (matchSplat(select.getOnFalse(), splat) && splat <= -1e4) {
        if (!takeMask(select.getCondition(), MaskForm::SeenIfTrue, chain))
          return false;
        value = select.getOnTrue();
      } else if (matchSplat(select.getOnTrue(), splat) && splat <= -1e4) {
        if (!takeMask(select.getCondition(), MaskForm::HiddenIfTrue, chain))
          return false;
        value = select.getOnFalse();
      } else {
        return fail(op, "a select that is no mask");
      }
      continue;
    }
    auto binary = dyn_cast<BinaryOp>(op);
    if (!binary)
      return fail(op, "'" + op->getName().getStringRef() + "' between scores and softmax");
    Value lhs = binary.getLhs(), rhs = binary.getRhs();
    if (binary.getKind() == BinaryKind::Mul && matchSplat(rhs, splat)) {
      value = lhs;
    } else if (binary.getKind() == BinaryKind::Mul && matchSplat(lhs, splat)) {
      value = rhs;
    } else if (binary.getKind() == BinaryKind::Div && matchSplat(rhs, splat)) {
      value = lhs;
      splat = 1 / splat;
    } else if (binary.getKind() == BinaryKind::Add) {
      // The scores side is the one that a contraction feeds.
      bool left = feeds(lhs);
      if (chain.scale != 1)
        return fail(op, "a mask is added before the scores are scaled");
      if (!takeMask(left ? rhs : lhs, MaskForm::Additive, chain))
        return false;
      value = left ? lhs : rhs;
      continue;
    } else {
      return fail(op, "an elementwise op that is neither scale nor mask");
    }
    chain.scale *= splat;
  }
  return false;
}

/// `operand` with dims named `names`, brought into the order `wanted`.
Value Raiser::arrange(Value operand, ArrayRef<StringRef> names, ArrayRef<StringRef> wanted) {
  SmallVector<int64_t> permutation;
  for (StringRef name : wanted)
    permutation.push_back(indexOf(names, name));
  return GraphBuilder(builder, operand.getLoc()).transpose(operand, permutation);
}

/// A bias as [1 or b, 1 or h, q, k]: repeated leading dims are dropped.
Value Raiser::biasOperand(Value bias, int64_t batch, int64_t heads, int64_t queries, int64_t keys) {
  GraphBuilder g(builder, bias.getLoc());
  Shape shape = {1, 1, queries, keys};
  if (auto broadcast = bias.getDefiningOp<BroadcastOp>(); broadcast && shapeOf(bias).size() == 4) {
    auto keeps = [&](int64_t dim) { return llvm::is_contained(broadcast.getDims(), dim); };
    if (keeps(2) && keeps(3)) {
      shape[0] = keeps(0) ? batch : 1;
      shape[1] = keeps(1) ? heads : 1;
      return g.reshape(broadcast.getInput(), shape);
    }
  }
  shape[0] = batch;
  shape[1] = heads;
  return g.reshape(bias, shape);
}

bool Raiser::raise(SoftmaxOp softmax) {
  if (!softmax->hasOneUse())
    return fail(softmax, "the probabilities are used more than once");
  auto output = dyn_cast<EinsumOp>(*softmax->user_begin());
  if (!output)
    return fail(softmax, "no contraction reads the probabilities");
  builder.setInsertionPoint(output);
  ScoreChain chain;
  if (!walkScores(softmax.getInput(), chain))
    return fail(softmax, "no scores found");
  if (shapeOf(chain.scores.getResult()) != shapeOf(softmax.getResult()) || shapeOf(softmax.getResult()).size() != 4)
    return fail(softmax, "scores are not [batch, heads, queries, keys]");

  Roles score = rolesOf(chain.scores), out = rolesOf(output);
  StringRef b = score.result[0], h = score.result[1], q = score.result[2], k = score.result[3];
  Value query = chain.scores.getLhs(), key = chain.scores.getRhs();
  SmallVector<StringRef> queryNames = score.lhs, keyNames = score.rhs;
  if (indexOf(queryNames, q) < 0) {
    std::swap(query, key);
    std::swap(queryNames, keyNames);
  }
  StringRef d;
  for (StringRef name : queryNames)
    if (indexOf(score.result, name) < 0)
      d = name;
  for (StringRef name : {b, h, q, d})
    if (name.empty() || indexOf(queryNames, name) < 0 || queryNames.size() != 4)
      return fail(softmax, "the query has not the dims batch, heads, queries, head dim");
  for (StringRef name : {b, h, k, d})
    if (indexOf(keyNames, name) < 0 || keyNames.size() != 4)
      return fail(softmax, "the key has not the dims batch, heads, keys, head dim");

  // The probabilities [b h q k] times the value: names of the second contraction.
  bool left = output.getLhs() == softmax.getResult();
  ArrayRef<StringRef> probNames = left ? out.lhs : out.rhs, valueNames = left ? out.rhs : out.lhs;
  Value value = left ? output.getRhs() : output.getLhs();
  StringRef ob = probNames[0], oh = probNames[1], oq = probNames[2], ok = probNames[3], v;
  for (StringRef name : valueNames)
    if (indexOf(probNames, name) < 0)
      v = name;
  for (StringRef name : {ob, oh, ok, v})
    if (name.empty() || indexOf(valueNames, name) < 0 || valueNames.size() != 4)
      return fail(output, "the value has not the dims batch, heads, keys, head dim");
  for (StringRef name : {ob, oh, oq, v})
    if (indexOf(out.result, name) < 0 || out.result.size() != 4)
      return fail(output, "the result has not the dims batch, heads, queries, head dim");

  Value q4 = arrange(query, queryNames, {b, q, h, d});
  Value k4 = arrange(key, keyNames, {b, k, h, d});
  Value v4 = arrange(value, valueNames, {ob, ok, oh, v});
  int64_t keyHeads, valueHeads;
  Value fewKeys = fewerHeads(builder, k4, keyHeads), fewValues = fewerHeads(builder, v4, valueHeads);
  if (keyHeads == valueHeads) {
    k4 = fewKeys;
    v4 = fewValues;
  }
  Shape qs = shapeOf(q4), ks = shapeOf(k4), vs = shapeOf(v4);
  Value bias = chain.bias ? biasOperand(chain.bias, qs[0], qs[2], qs[1], ks[1]) : Value();
  Type element = elementOf(q4);
  auto attention = builder.create<AttentionOp>(
      output.getLoc(),
      TypeRange{RankedTensorType::get({qs[0], qs[1], qs[2], vs[3]}, element),
                RankedTensorType::get({qs[0], qs[2], qs[1]}, element)},
      q4, k4, v4, bias, builder.getF64FloatAttr(chain.scale), builder.getBoolAttr(chain.causal),
      builder.getI64IntegerAttr(chain.window));
  Value result = arrange(attention.getResult(), {ob, oq, oh, v}, out.result);
  output.getResult().replaceAllUsesWith(result);
  output.erase();
  return true;
}

struct RaiseAttentionPass : impl::RaiseAttentionPassBase<RaiseAttentionPass> {
  using RaiseAttentionPassBase::RaiseAttentionPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SinkScale>(&getContext());
    FrozenRewritePatternSet frozen(std::move(patterns));
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (failed(applyPatternsAndFoldGreedily(function, frozen)))
        return signalPassFailure();
      SmallVector<SoftmaxOp> candidates(function.getOps<SoftmaxOp>());
      OpBuilder builder(&getContext());
      for (SoftmaxOp softmax : candidates)
        Raiser(builder, explain).raise(softmax);
      for (AttentionOp attention : llvm::to_vector(function.getOps<AttentionOp>()))
        refineAttention(attention, builder);
      RewritePatternSet none(&getContext()); // drops what the raised ops leave dead
      if (failed(applyPatternsAndFoldGreedily(function, std::move(none))))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace echelon::training

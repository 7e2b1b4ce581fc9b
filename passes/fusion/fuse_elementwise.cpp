// SPDX-License-Identifier: Apache-2.0
//
// The pass: takes composites apart, plans groups, and rebuilds the block with one graph.fused a group.
#include "dialects/graph/builders.h"
#include "passes/fusion/decompose.h"
#include "passes/fusion/fusion_planner.h"
#include "passes/fusion/passes.h"
#include "llvm/Support/Format.h"
#include <map>

using namespace mlir;
using namespace echelon::graph;

namespace echelon::fusion {
#define GEN_PASS_DEF_FUSEELEMENTWISEPASS
#include "passes/fusion/passes.h.inc"

namespace {

/// Builds the graph.fused of one group at the builder's insertion point.
class GroupBuilder {
public:
  GroupBuilder(OpBuilder &outer, const FusionGroup &group, const DenseSet<Value> &recomputed)
      : outer(outer), inner(outer.getContext()), group(group), recomputed(recomputed) {}

  /// Null if nothing outside reads the group.
  FusedOp build() {
    SmallVector<Value> results;
    SmallVector<Location> places;
    for (Operation *op : group.ops)
      if (isReadOutside(group, op->getResult(0), recomputed)) {
        results.push_back(op->getResult(0));
        places.push_back(op->getLoc());
      }
    if (results.empty())
      return {};
    Block body;
    inner.setInsertionPointToEnd(&body);
    block = &body;
    SmallVector<Operation *> needed = neededOps(results);
    for (Operation *op : needed)
      emit(op, group.placement.find(op)->second);
    SmallVector<Value> yielded;
    for (Value value : results)
      yielded.push_back(emitted[{value.getAsOpaquePointer(), group.placementOf(value)}]);
    inner.create<YieldOp>(places.front(), yielded);
    auto [domain, rows] = domainOf(needed);
    auto fused = outer.create<FusedOp>(outer.getFusedLoc(places), ValueRange(results).getTypes(), inputs,
                                       outer.getDenseI64ArrayAttr(domain), outer.getI64IntegerAttr(rows));
    fused.getBody().push_back(new Block);
    Block &target = fused.getBody().front();
    for (BlockArgument argument : body.getArguments())
      argument.replaceAllUsesWith(target.addArgument(argument.getType(), argument.getLoc()));
    target.getOperations().splice(target.end(), body.getOperations());
    for (auto [old, result] : llvm::zip_equal(results, fused.getResults()))
      old.replaceAllUsesWith(result);
    return fused;
  }

private:
  /// The domain and its row dims: the group's own, or only its rows where all points have gone to groups that compute
  /// them again.
  std::pair<Dims, int64_t> domainOf(ArrayRef<Operation *> needed) {
    size_t rank = 0;
    for (Operation *op : needed)
      rank = std::max(rank, group.placement.find(op)->second.size());
    if (rank == group.domain.size())
      return {group.domain, group.outer()};
    return {Dims(ArrayRef(group.domain).take_front(rank)), std::max<int64_t>(0, int64_t(rank) - 1)};
  }

  /// Ops of the group that its results depend on, in order.
  SmallVector<Operation *> neededOps(ArrayRef<Value> results) {
    DenseSet<Operation *> needed;
    SmallVector<Operation *> work;
    for (Value value : results)
      work.push_back(value.getDefiningOp());
    while (!work.empty()) {
      Operation *op = work.pop_back_val();
      if (!needed.insert(op).second)
        continue;
      for (Value operand : op->getOperands()) {
        Operation *source = sourceOf(operand).value.getDefiningOp();
        if (source && (group.placement.count(source) || recomputed.contains(source->getResult(0))))
          work.push_back(source);
      }
    }
    return llvm::to_vector(llvm::make_filter_range(group.ops, [&](Operation *op) { return needed.contains(op); }));
  }

  /// Clones `op` at a placement of its operands' shape; deep only by the few ops of a recomputed value.
  Value emit(Operation *op, const Dims &at) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(emitOperand(operand, at, op->getLoc()));
    Operation *copy = inner.clone(*op);
    copy->setOperands(operands);
    Value result = op->getResult(0);
    Dims placed = group.placement.count(op) ? group.placementOf(result) : at;
    return emitted[{result.getAsOpaquePointer(), placed}] = copy->getResult(0);
  }

  Value emitOperand(Value operand, const Dims &at, Location loc) {
    GraphBuilder g(inner, loc);
    double splat;
    if (matchSplat(operand, splat))
      return g.splat(operand.getType(), splat);
    Source source = sourceOf(operand);
    Dims placed = compose(source.dims, at);
    Value value = emitted.lookup({source.value, placed});
    return g.broadcast(value ? value : load(source.value, placed), shapeOf(operand), source.dims);
  }

  Value load(Value value, const Dims &placed) {
    Operation *op = value.getDefiningOp();
    if (op && recomputed.contains(value) && !group.placement.count(op))
      return emit(op, placed);
    inputs.push_back(value);
    return emitted[{value.getAsOpaquePointer(), placed}] = block->addArgument(value.getType(), value.getLoc());
  }

  /// Values of the body by the outer value that they stand for and its place in the domain.
  struct Emitted : std::map<std::pair<const void *, Dims>, Value> {
    Value lookup(std::pair<Value, Dims> key) const {
      auto found = find({key.first.getAsOpaquePointer(), key.second});
      return found == end() ? Value() : found->second;
    }
  };

  OpBuilder &outer;
  OpBuilder inner;
  const FusionGroup &group;
  const DenseSet<Value> &recomputed;
  Block *block = nullptr;
  SmallVector<Value> inputs;
  Emitted emitted;
};

int64_t trafficOf(Operation *op) {
  int64_t bytes = 0;
  double splat;
  for (Value operand : op->getOperands())
    if (!matchSplat(operand, splat))
      bytes += bytesOf(sourceOf(operand).value);
  for (Value result : op->getResults())
    bytes += bytesOf(result);
  return bytes;
}

struct FuseElementwisePass : impl::FuseElementwisePassBase<FuseElementwisePass> {
  using FuseElementwisePassBase::FuseElementwisePassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isDeclaration())
      return;
    if (!function.getBody().hasOneBlock()) {
      function.emitOpError("has several blocks; graph functions have one");
      return signalPassFailure();
    }
    Block &block = function.getBody().front();
    decompose(block);
    FusionPlan plan = planFusion(block, {maxOps, maxTensors});
    rebuild(block, plan);
  }

  void rebuild(Block &block, const FusionPlan &plan) {
    SmallVector<Operation *> replaced;
    for (Operation &op : block)
      if (isComputed(&op))
        replaced.push_back(&op);
    OpBuilder builder(block.getTerminator());
    int64_t groups = 0, total = 0;
    for (const FusionStep &step : plan.steps) {
      if (!step.group) {
        step.op->moveBefore(block.getTerminator());
        continue;
      }
      int64_t unfused = 0;
      for (Operation *op : step.group->ops)
        unfused += trafficOf(op);
      FusedOp fused = GroupBuilder(builder, *step.group, plan.recomputed).build();
      if (fused && report)
        total += print(fused, groups++, unfused);
    }
    for (Operation *op : replaced)
      op->dropAllReferences();
    for (Operation *op : replaced) {
      op->dropAllUses(); // by views that are dead now
      op->erase();
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
    if (report)
      llvm::outs() << "@" << getOperation().getName() << ": " << groups << " groups save "
                   << llvm::format("%.2f", double(total) / 1e6) << " MB of memory traffic\n";
  }

  int64_t print(FusedOp fused, int64_t number, int64_t unfused) {
    int64_t moved = trafficOf(fused), ops = 0;
    for (Operation &op : fused.getBody().front().without_terminator())
      ops += isComputed(&op);
    llvm::outs() << "group " << number << ": " << ops << " ops over [";
    llvm::interleaveComma(fused.getDomain(), llvm::outs());
    llvm::outs() << "], " << fused.getOuter() << " row dims, " << fused.getInputs().size() << " operands, "
                 << fused.getNumResults() << " results, moves " << llvm::format("%.3f", double(moved) / 1e6)
                 << " MB, saves " << llvm::format("%.3f", double(unfused - moved) / 1e6) << " MB\n";
    return unfused - moved;
  }
};

} // namespace
} // namespace echelon::fusion

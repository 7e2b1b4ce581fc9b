// SPDX-License-Identifier: Apache-2.0
//
// Greedy choice of groups. First groups join those that make their operands; then groups that read the same tensor
// join; at last cheap values that would be kept only for readers in other groups are marked for recomputation.
#include "passes/fusion/fusion_planner.h"
#include "dialects/graph/builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace echelon::graph;

namespace echelon::fusion {
namespace {

/// Ops that a recomputed value may take, and tensors that it may need.
constexpr int64_t kRecomputeOps = 8, kRecomputeLeaves = 3;
/// Operands smaller than this are not worth joining groups for.
constexpr int64_t kSharedBytes = 4096;
/// Groups this far apart, in ops, do not join for a shared operand: that would stretch lifetimes.
constexpr unsigned kSharedDistance = 200;

bool isCheap(Operation *op) {
  if (auto unary = dyn_cast<UnaryOp>(op))
    return llvm::is_contained({UnaryKind::Neg, UnaryKind::Abs, UnaryKind::Sign, UnaryKind::Not, UnaryKind::Relu},
                              unary.getKind());
  if (auto binary = dyn_cast<BinaryOp>(op))
    return binary.getKind() != BinaryKind::Pow && binary.getKind() != BinaryKind::Div;
  return isa<CompareOp, SelectOp, ConvertOp>(op);
}

class Planner {
public:
  Planner(Block &block, const FusionLimits &limits) : limits(limits), graph(count(block)) {
    for (Operation &op : block.without_terminator()) {
      number[&op] = ops.size();
      ops.push_back(&op);
    }
    groups.resize(ops.size());
    addEdges();
  }

  FusionPlan run() {
    findRecomputable();
    for (Operation *op : ops)
      if (isComputed(op))
        groups[number[op]] = FusionGroup(op);
    joinProducers();
    joinReaders();
    keepLess();
    FusionPlan plan;
    for (unsigned unit : graph.sorted()) {
      FusionStep step;
      if (groups[unit])
        step.group = std::move(groups[unit]);
      else
        step.op = ops[graph.members(unit).front()];
      plan.steps.push_back(std::move(step));
    }
    plan.recomputed = std::move(recomputed);
    return plan;
  }

private:
  static unsigned count(Block &block) { return std::distance(block.begin(), block.end()) - 1; }
  void addEdges();
  void addStateEdges();
  void findRecomputable();
  void joinProducers();
  void joinReaders();
  void keepLess();
  bool join(unsigned a, unsigned b, ArrayRef<int64_t> aDims, ArrayRef<int64_t> bDims);
  bool fits(const FusionGroup &group);
  bool leaves(const FusionGroup &group, Value result) { return isReadOutside(group, result, recomputed); }
  SmallVector<Value> recomputable(const FusionGroup &group, Value value);

  const FusionLimits &limits;
  SmallVector<Operation *> ops;
  DenseMap<Operation *, unsigned> number;
  FusionGraph graph;
  std::vector<std::optional<FusionGroup>> groups; // of the unit with this number
  DenseSet<Value> recomputed;
  DenseSet<Value> again; // the full tensors among them
};

void Planner::addEdges() {
  for (Operation *op : ops) {
    SmallVector<Value> needed;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        needed.push_back(isComputed(inner) ? sourceOf(operand).value : operand);
    });
    for (Value value : needed)
      if (auto from = number.find(value.getDefiningOp()); from != number.end() && from->second != number[op])
        graph.addEdge(from->second, number[op]);
  }
  addStateEdges();
}

/// Reads and writes of one variable stay in order; what touches unknown state stays in order with all of them.
void Planner::addStateEdges() {
  struct State {
    std::optional<unsigned> write;
    SmallVector<unsigned> reads;
  };
  llvm::MapVector<Attribute, State> states;
  std::optional<unsigned> barrier;
  auto touch = [&](State &state, unsigned op, bool writes) {
    if (state.write)
      graph.addEdge(*state.write, op);
    if (!writes) {
      state.reads.push_back(op);
      return;
    }
    for (unsigned read : state.reads)
      graph.addEdge(read, op);
    state = {op, {}};
  };
  for (Operation *op : ops) {
    if (isMemoryEffectFree(op))
      continue;
    auto variable = op->getAttrOfType<FlatSymbolRefAttr>("variable");
    if (barrier)
      graph.addEdge(*barrier, number[op]);
    if (variable) {
      touch(states[variable], number[op], !isa<ReadOp>(op));
      continue;
    }
    for (auto &entry : states)
      touch(entry.second, number[op], true);
    barrier = number[op];
  }
}

/// Cheap functions of tensors far smaller than themselves, and cheap small tensors that are repeated: reading them
/// costs more than computing them.
void Planner::findRecomputable() {
  struct Tree {
    int64_t ops = 1;
    llvm::SmallSetVector<Value, 4> leaves;
  };
  DenseMap<Value, Tree> trees;
  for (Operation *op : ops) {
    if (!isComputed(op) || isa<ReduceOp>(op))
      continue;
    Value result = op->getResult(0);
    int64_t size = elementsOf(result);
    bool scalar = size == 1, small = true;
    if (!isCheap(op) && !scalar)
      continue;
    Tree tree;
    for (Value operand : op->getOperands()) {
      double splat;
      if (matchSplat(operand, splat))
        continue;
      Value source = sourceOf(operand).value;
      if (auto known = trees.find(source); known != trees.end()) {
        tree.ops += known->second.ops;
        tree.leaves.insert(known->second.leaves.begin(), known->second.leaves.end());
        continue;
      }
      tree.leaves.insert(source);
      small &= scalar || elementsOf(source) * 4 <= size;
    }
    if (!small || tree.ops > kRecomputeOps || int64_t(tree.leaves.size()) > kRecomputeLeaves)
      continue;
    recomputed.insert(result);
    trees[result] = std::move(tree);
  }
}

bool Planner::fits(const FusionGroup &group) {
  DenseSet<Value> inputs;
  int64_t results = 0;
  for (Operation *op : group.ops) {
    double splat;
    for (Value operand : op->getOperands()) {
      Value source = sourceOf(operand).value;
      if (!group.placement.count(source.getDefiningOp()) && !matchSplat(operand, splat))
        inputs.insert(source);
    }
    results += leaves(group, op->getResult(0));
  }
  return int64_t(inputs.size()) + results <= limits.tensors;
}

bool Planner::join(unsigned a, unsigned b, ArrayRef<int64_t> aDims, ArrayRef<int64_t> bDims) {
  if (int64_t(groups[a]->ops.size() + groups[b]->ops.size()) > limits.ops)
    return false;
  std::optional<FusionGroup> united = unite(*groups[a], *groups[b], aDims, bDims);
  if (!united || !fits(*united))
    return false;
  // Results are full tensors, values of rows, or sums over rows.
  for (Operation *op : united->ops) {
    size_t rank = united->placementOf(op->getResult(0)).size();
    bool row = int64_t(rank) == united->outer();
    if (rank != united->domain.size() && !row && !united->isSum(op) && leaves(*united, op->getResult(0)))
      return false;
  }
  if (!graph.merge(a, b))
    return false;
  unsigned unit = graph.members(a).empty() ? b : a;
  llvm::sort(united->ops, [&](Operation *x, Operation *y) { return number[x] < number[y]; });
  groups[unit == a ? b : a].reset();
  groups[unit] = std::move(united);
  return true;
}

/// Edges within one neighbourhood come before longer ones: what the backward pass computes from a forward value alone
/// belongs to its backward readers, not to the group that made the value.
void Planner::joinProducers() {
  struct Edge {
    unsigned distance; // log 2 of the ops between
    int64_t bytes;
    Operation *consumer;
    Value operand;
  };
  SmallVector<Edge> edges;
  for (Operation *op : ops)
    if (isComputed(op))
      for (Value operand : op->getOperands()) {
        Value source = sourceOf(operand).value;
        auto producer = number.find(source.getDefiningOp());
        if (producer != number.end() && isComputed(producer->first))
          edges.push_back({llvm::Log2_32(number[op] - producer->second), bytesOf(source), op, operand});
      }
  std::sort(edges.begin(), edges.end(), [&](const Edge &x, const Edge &y) {
    return std::make_tuple(x.distance, -x.bytes, number[x.consumer],
                           number[sourceOf(x.operand).value.getDefiningOp()]) <
           std::make_tuple(y.distance, -y.bytes, number[y.consumer], number[sourceOf(y.operand).value.getDefiningOp()]);
  });
  for (const Edge &edge : edges) {
    Source source = sourceOf(edge.operand);
    unsigned producer = graph.unitOf(number[source.value.getDefiningOp()]);
    unsigned consumer = graph.unitOf(number[edge.consumer]);
    if (producer == consumer)
      continue;
    // Small values that are computed again anyway need no common kernel.
    if (recomputed.contains(source.value) && source.dims.size() < groups[consumer]->domain.size())
      continue;
    Dims there = groups[producer]->placementOf(source.value);
    Dims here = compose(source.dims, groups[consumer]->placement[edge.consumer]);
    join(producer, consumer, there, here);
  }
}

void Planner::joinReaders() {
  struct Reader {
    Operation *op;
    Dims dims; // of the value in the op's own domain
  };
  llvm::MapVector<Value, SmallVector<Reader>> readers;
  for (Operation *op : ops)
    if (isComputed(op))
      for (Value operand : op->getOperands()) {
        Source source = sourceOf(operand);
        if (bytesOf(source.value) >= kSharedBytes && source.value == operand)
          readers[source.value].push_back({op, source.dims});
      }
  for (auto &[value, list] : readers)
    for (size_t i = 1; i < list.size(); ++i)
      for (size_t j = i; j-- > 0;) {
        unsigned a = graph.unitOf(number[list[j].op]), b = graph.unitOf(number[list[i].op]);
        if (a == b)
          break;
        unsigned distance = std::max(graph.order(a), graph.order(b)) - std::min(graph.order(a), graph.order(b));
        if (distance > kSharedDistance)
          continue;
        Dims first = compose(list[j].dims, groups[a]->placement[list[j].op]);
        Dims second = compose(list[i].dims, groups[b]->placement[list[i].op]);
        if (join(a, b, first, second))
          break;
      }
}

/// The ops' results that computing `value` of `group` again takes: none unless it is a cheap elementwise function of at
/// most one tensor of its size.
SmallVector<Value> Planner::recomputable(const FusionGroup &group, Value value) {
  SmallVector<Value> work{value};
  llvm::SmallSetVector<Value, 8> seen, tensors;
  int64_t extra = 0, full = 0;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next))
      continue;
    Operation *op = next.getDefiningOp();
    if (!op || !group.placement.count(op) || (next != value && leaves(group, next))) {
      tensors.insert(next);
      // A tensor that is itself computed again would bring its own operands, and theirs: the chain stops here.
      if (again.contains(next))
        return {};
      bool large = bytesOf(next) * 4 > bytesOf(value);
      bool lives = !op || isa<ReadOp>(op) || !llvm::hasSingleElement(next.getUsers());
      extra += !lives && large;
      full += large;
      continue;
    }
    if (!isCheap(op) || isa<ReduceOp>(op) || int64_t(seen.size()) > 3 * kRecomputeOps)
      return {};
    double splat;
    for (Value operand : op->getOperands())
      if (!matchSplat(operand, splat))
        work.push_back(sourceOf(operand).value);
  }
  SmallVector<Value> computed;
  for (Value inner : seen)
    if (!tensors.contains(inner))
      computed.push_back(inner);
  bool worth = int64_t(computed.size()) <= kRecomputeOps && int64_t(tensors.size()) <= kRecomputeLeaves && extra <= 1 &&
               full <= 1; // each reader would read all of them instead of one
  return worth ? computed : SmallVector<Value>();
}

/// Full tensors that only other groups read are computed again there, where that needs no other tensor to live longer.
void Planner::keepLess() {
  for (unsigned unit : graph.sorted()) {
    if (!groups[unit])
      continue;
    const FusionGroup &group = *groups[unit];
    for (Operation *op : group.ops) {
      Value value = op->getResult(0);
      if (recomputed.contains(value) || isa<ReduceOp>(op) || bytesOf(value) < kSharedBytes ||
          group.placementOf(value).size() != group.domain.size() || !leaves(group, value))
        continue;
      bool elementwise = llvm::all_of(value.getUsers(), [](Operation *user) { return isComputed(user); });
      // Worth it only where the group has something else to do.
      bool usedInside = llvm::any_of(value.getUsers(), [&](Operation *user) { return group.placement.count(user); });
      if (elementwise && usedInside)
        for (Value inner : recomputable(group, value)) {
          recomputed.insert(inner);
          again.insert(inner);
        }
    }
  }
}

} // namespace

FusionPlan planFusion(Block &block, const FusionLimits &limits) { return Planner(block, limits).run(); }

} // namespace echelon::fusion

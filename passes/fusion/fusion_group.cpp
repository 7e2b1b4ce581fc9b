// SPDX-License-Identifier: Apache-2.0
//
// Rules of groups: which reductions fix the rows, how a smaller domain lies in a larger one.
#include "passes/fusion/fusion_group.h"
#include "dialects/graph/builders.h"

using namespace mlir;
using namespace echelon::graph;

namespace echelon::fusion {

static Dims identity(size_t rank) { return llvm::to_vector<6>(llvm::seq<int64_t>(0, rank)); }

Dims compose(ArrayRef<int64_t> inner, ArrayRef<int64_t> outer) {
  return llvm::to_vector<6>(llvm::map_range(inner, [&](int64_t dim) { return outer[dim]; }));
}

Source sourceOf(Value operand) {
  Source source{operand, identity(shapeOf(operand).size())};
  while (auto broadcast = source.value.getDefiningOp<BroadcastOp>())
    source = {broadcast.getInput(), compose(broadcast.getDims(), source.dims)};
  return source;
}

bool isComputed(Operation *op) {
  return isa_and_nonnull<UnaryOp, BinaryOp, CompareOp, SelectOp, ConvertOp, ReduceOp>(op);
}

int64_t elementsOf(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); }

int64_t bytesOf(Value value) {
  Type element = elementOf(value);
  return elementsOf(value) * (element.isInteger(1) ? 1 : element.getIntOrFloatBitWidth() / 8);
}

FusionGroup::FusionGroup(Operation *op) {
  ops.push_back(op);
  auto reduce = dyn_cast<ReduceOp>(op);
  domain = Dims(reduce ? shapeOf(reduce.getInput()) : shapeOf(op->getResult(0)));
  placement[op] = identity(domain.size());
  if (!reduce || reduce.getDims().size() == domain.size())
    return;
  // The reduced dims at the end are points of a row, any others are rows to sum over.
  int64_t first = domain.size();
  while (llvm::is_contained(reduce.getDims(), first - 1))
    --first;
  if (first < int64_t(domain.size()))
    fixedOuter = first;
  else
    minOuter = reduce.getDims().back() + 1;
}

int64_t FusionGroup::outer() const {
  if (fixedOuter >= 0)
    return fixedOuter;
  return minOuter > 0 ? minOuter : std::max<int64_t>(0, int64_t(domain.size()) - 1);
}

bool FusionGroup::legal() const { return fixedOuter < 0 || fixedOuter >= minOuter; }

Dims FusionGroup::placementOf(Value result) const {
  Operation *op = result.getDefiningOp();
  const Dims &own = placement.find(op)->second;
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!reduce)
    return own;
  Dims kept;
  for (auto [index, dim] : llvm::enumerate(own))
    if (!llvm::is_contained(reduce.getDims(), int64_t(index)))
      kept.push_back(dim);
  return kept;
}

bool FusionGroup::isSum(Operation *op) const {
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!reduce)
    return false;
  // A row reduction takes a full tensor and leaves exactly the row dims.
  Dims kept = placementOf(reduce.getResult());
  bool full = placement.find(op)->second.size() == domain.size();
  return !full || kept.empty() || int64_t(kept.size()) != fixedOuter || kept != identity(fixedOuter);
}

bool FusionGroup::hasReductions() const {
  return llvm::any_of(ops, [](Operation *op) { return isa<ReduceOp>(op); });
}

/// Puts `small` into the domain of `large`, where its dims are `dims`.
static bool embed(FusionGroup &large, const FusionGroup &small, ArrayRef<int64_t> dims) {
  for (auto [size, dim] : llvm::zip_equal(small.domain, dims))
    if (large.domain[dim] != size)
      return false;
  bool same = dims.size() == large.domain.size();
  if (!same) {
    // Values of the row: one a row, computed between the passes over its points.
    if (dims.empty() || ArrayRef<int64_t>(identity(dims.size())) != dims || small.fixedOuter >= 0)
      return false;
    if (large.fixedOuter >= 0 && large.fixedOuter != int64_t(dims.size()))
      return false;
    large.fixedOuter = dims.size();
  } else {
    if (large.fixedOuter >= 0 && small.fixedOuter >= 0 && large.fixedOuter != small.fixedOuter)
      return false;
    large.fixedOuter = std::max(large.fixedOuter, small.fixedOuter);
    large.minOuter = std::max(large.minOuter, small.minOuter);
  }
  for (Operation *op : small.ops) {
    large.ops.push_back(op);
    large.placement[op] = compose(small.placement.find(op)->second, dims);
  }
  return large.legal();
}

/// True if another group computes the recomputed `value` again, itself or on the way to one of its readers.
static bool isComputedElsewhere(const FusionGroup &group, Value value, const DenseSet<Value> &recomputed) {
  SmallVector<Operation *> work(value.getUsers());
  while (!work.empty()) {
    Operation *user = work.pop_back_val();
    bool passesOn = isa<BroadcastOp>(user) || (group.placement.count(user) && recomputed.contains(user->getResult(0)));
    if (passesOn)
      work.append(user->user_begin(), user->user_end());
    else if (isComputed(user) && !group.placement.count(user))
      return true;
  }
  return false;
}

bool isReadOutside(const FusionGroup &group, Value result, const DenseSet<Value> &recomputed) {
  SmallVector<Operation *> work(result.getUsers());
  bool again = recomputed.contains(result);
  while (!work.empty()) {
    Operation *user = work.pop_back_val();
    if (isa<BroadcastOp>(user)) {
      work.append(user->user_begin(), user->user_end());
      continue;
    }
    if (!isComputed(user))
      return true;
    if (again)
      continue;
    // A member that other groups compute again takes its operands with it.
    if (!group.placement.count(user) ||
        (recomputed.contains(user->getResult(0)) && isComputedElsewhere(group, user->getResult(0), recomputed)))
      return true;
  }
  return false;
}

/// No reduction over rows is read inside.
static bool sumsLeave(const FusionGroup &group) {
  for (Operation *op : group.ops)
    for (Value operand : op->getOperands()) {
      Operation *source = sourceOf(operand).value.getDefiningOp();
      if (source && group.placement.count(source) && group.isSum(source))
        return false;
    }
  return true;
}

std::optional<FusionGroup> unite(const FusionGroup &producer, const FusionGroup &consumer,
                                 ArrayRef<int64_t> producerDims, ArrayRef<int64_t> consumerDims) {
  std::optional<FusionGroup> result;
  size_t covered = producerDims.size();
  if (covered != consumerDims.size())
    return {};
  auto inverse = [&](ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
    Dims dims(from.size());
    for (auto [a, b] : llvm::zip_equal(from, to))
      dims[a] = b;
    return dims;
  };
  bool embedded;
  if (covered == consumer.domain.size()) {
    result = producer;
    embedded = embed(*result, consumer, inverse(consumerDims, producerDims));
  } else if (covered == producer.domain.size()) {
    result = consumer;
    embedded = embed(*result, producer, inverse(producerDims, consumerDims));
  } else {
    if (producerDims != consumerDims || producer.domain != consumer.domain)
      return {};
    result = producer;
    embedded = embed(*result, consumer, identity(consumer.domain.size()));
  }
  if (!embedded || !sumsLeave(*result))
    return {};
  return result;
}

} // namespace echelon::fusion

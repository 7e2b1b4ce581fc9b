// SPDX-License-Identifier: Apache-2.0
//
// Plans generated kernels: placement of values over the domain, classes of reductions, merged loop dims, passes over a
// row, row buffers.
#include "passes/lowering/generate_kernels_plan.h"
#include "dialects/graph/builders.h"
#include <numeric>

using namespace mlir;
using namespace echelon::graph;

namespace echelon::lowering {

int64_t KernelPlan::rows() const {
  return blocked ? inner[0] : std::accumulate(outer.begin(), outer.end(), int64_t(1), std::multiplies<int64_t>());
}

int64_t KernelPlan::innerCount() const {
  return std::accumulate(inner.begin(), inner.end(), int64_t(1), std::multiplies<int64_t>());
}

bool KernelPlan::independentRows() const {
  return llvm::all_of(
      reductions, [](auto &entry) { return entry.second == Reduction::Identity || entry.second == Reduction::Row; });
}

namespace {

class Planner {
public:
  Planner(exec::KernelOp kernel, FusedOp group)
      : kernel(kernel), group(group), body(group.getBody().front()), yield(cast<graph::YieldOp>(body.getTerminator())),
        domain(group.getDomain()) {}

  FailureOr<KernelPlan> run() {
    if (failed(placeValues()) || failed(classify()) || failed(readStrides()))
      return failure();
    chooseDims();
    if (failed(checkResults()))
      return failure();
    findLevels();
    findPhases();
    chooseBuffers(body, plan);
    return std::move(plan);
  }

private:
  LogicalResult placeValues();
  void propagatePlaces();
  bool spread(Operation &op);
  bool place(Value value, ArrayRef<int64_t> dims);
  LogicalResult classify();
  LogicalResult readStrides();
  LogicalResult checkResults();
  void chooseDims();
  void findLevels();
  void findPhases();

  /// The dims of `value` that are larger than 1, as a mask over the domain.
  uint64_t mask(Value value) {
    uint64_t bits = 0;
    for (int64_t dim : placement.find(value)->second)
      if (domain[dim] != 1)
        bits |= uint64_t(1) << dim;
    return bits;
  }
  uint64_t rangeMask(int64_t first, int64_t last) {
    uint64_t bits = 0;
    for (int64_t dim = first; dim < last; ++dim)
      if (domain[dim] != 1)
        bits |= uint64_t(1) << dim;
    return bits;
  }

  exec::KernelOp kernel;
  FusedOp group;
  Block &body;
  graph::YieldOp yield;
  ArrayRef<int64_t> domain;
  DenseMap<Value, Dims> placement; // value dim -> domain dim
  KernelPlan plan;
};

/// Records where `value` lies; true if that is news.
bool Planner::place(Value value, ArrayRef<int64_t> dims) {
  return placement.try_emplace(value, Dims(dims.begin(), dims.end())).second;
}

/// Lets one op carry placements between its operands and result.
bool Planner::spread(Operation &op) {
  Value result = op.getResult(0);
  bool changed = false;
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    if (!placement.count(result))
      return false;
    Dims dims, &at = placement[result];
    for (int64_t dim : broadcast.getDims())
      dims.push_back(at[dim]);
    return place(broadcast.getInput(), dims);
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    if (!placement.count(reduce.getInput()))
      return false;
    Dims dims;
    for (auto [index, dim] : llvm::enumerate(Dims(placement[reduce.getInput()])))
      if (!llvm::is_contained(reduce.getDims(), int64_t(index)))
        dims.push_back(dim);
    return place(result, dims);
  }
  SmallVector<Value> values(op.getOperands());
  values.push_back(result);
  auto known = llvm::find_if(values, [&](Value value) { return placement.count(value); });
  if (known == values.end())
    return false;
  Dims dims = placement[*known];
  for (Value value : values)
    changed |= place(value, dims);
  return changed;
}

void Planner::propagatePlaces() {
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation &op : body.without_terminator())
      changed |= spread(op);
    for (Operation &op : llvm::reverse(body.without_terminator()))
      changed |= spread(op);
  }
}

LogicalResult Planner::placeValues() {
  Dims identity = llvm::to_vector<6>(llvm::seq<int64_t>(0, domain.size()));
  auto seed = [&](Value value) {
    size_t rank = shapeOf(value).size();
    if (rank == domain.size() || rank == 0)
      place(value, ArrayRef(identity).take_front(rank));
  };
  llvm::for_each(body.getArguments(), seed);
  for (Operation &op : body.without_terminator())
    seed(op.getResult(0));
  propagatePlaces();
  // What is connected to no full tensor has one value a row.
  auto onRow = [&](Value value) {
    if (ArrayRef<int64_t>(shapeOf(value)) == domain.take_front(group.getOuter()))
      place(value, ArrayRef(identity).take_front(group.getOuter()));
  };
  llvm::for_each(body.getArguments(), onRow);
  for (Operation &op : body.without_terminator())
    onRow(op.getResult(0));
  propagatePlaces();
  auto check = [&](Value value) -> LogicalResult {
    auto found = placement.find(value);
    if (found == placement.end())
      return kernel.emitOpError("has a value of type ")
             << value.getType() << " that lies nowhere in the group's domain";
    for (auto [size, dim] : llvm::zip_equal(shapeOf(value), found->second))
      if (size != domain[dim])
        return kernel.emitOpError("has a value of type ") << value.getType() << " that does not fit dim " << dim
                                                          << " of the group's domain, which has size " << domain[dim];
    return success();
  };
  if (domain.size() > 64)
    return kernel.emitOpError("has a domain of rank ") << domain.size() << ", at most 64 is supported";
  for (Value argument : body.getArguments())
    if (!argument.use_empty() && failed(check(argument)))
      return failure();
  for (Operation &op : body.without_terminator())
    if (failed(check(op.getResult(0))))
      return failure();
  return success();
}

LogicalResult Planner::classify() {
  uint64_t rowDims = rangeMask(0, group.getOuter()), innerDims = rangeMask(group.getOuter(), domain.size());
  for (auto reduce : body.getOps<ReduceOp>()) {
    uint64_t from = mask(reduce.getInput()), reduced = from & ~mask(reduce.getResult());
    bool usedInside = llvm::any_of(reduce->getUsers(), [&](Operation *user) { return user != yield; });
    bool full = from == (rowDims | innerDims), ofRow = from == rowDims && innerDims;
    Reduction kind;
    if (!reduced)
      kind = Reduction::Identity;
    else if (full && reduced == innerDims && (rowDims || usedInside))
      kind = Reduction::Row;
    else if (full && reduced == from)
      kind = Reduction::Total;
    else if (full && !(reduced & innerDims))
      kind = Reduction::Column;
    else if (full && (reduced & innerDims) == innerDims)
      kind = Reduction::Rows;
    else if (ofRow)
      kind = Reduction::RowValues;
    else
      return kernel.emitOpError("reduces over dims that are neither the row, nor row dims, nor all, in '")
             << *reduce << "'";
    if (usedInside && kind != Reduction::Row && kind != Reduction::Identity)
      return kernel.emitOpError("uses a reduction over rows inside the group, in '") << *reduce << "'";
    plan.reductions[reduce] = kind;
  }
  return success();
}

LogicalResult Planner::readStrides() {
  auto access = [&](Value value, Attribute attribute) -> FailureOr<TensorAccess> {
    TensorAccess tensor{value, elementOf(value), Dims(domain.size(), 0), {}, {}};
    auto strides = dyn_cast<DenseI64ArrayAttr>(attribute);
    size_t rank = shapeOf(value).size();
    if (!strides || strides.size() != int64_t(rank))
      return kernel.emitOpError("needs ")
             << rank << " strides (array<i64>) for a tensor of type " << value.getType() << ", has " << attribute;
    if (auto found = placement.find(value); found != placement.end())
      for (auto [dim, stride] : llvm::zip_equal(found->second, strides.asArrayRef()))
        tensor.domain[dim] = domain[dim] == 1 ? 0 : stride;
    return tensor;
  };
  if (kernel.getOperandStrides().size() != group.getInputs().size() ||
      kernel.getResultStrides().size() != group.getNumResults())
    return kernel.emitOpError("must hold one graph.fused that takes all its operands and makes all its results");
  for (auto [argument, strides] : llvm::zip_equal(body.getArguments(), kernel.getOperandStrides())) {
    FailureOr<TensorAccess> tensor = access(argument, strides);
    if (failed(tensor))
      return failure();
    plan.operands.push_back(*tensor);
  }
  for (auto [value, strides] : llvm::zip_equal(yield.getValues(), kernel.getResultStrides())) {
    FailureOr<TensorAccess> tensor = access(value, strides);
    if (failed(tensor))
      return failure();
    plan.results.push_back(*tensor);
  }
  return success();
}

/// Orders dims by the strides of the first full result, merges those that continue each other in every tensor, and
/// splits them into rows and points.
void Planner::chooseDims() {
  bool free = llvm::all_of(plan.reductions, [](auto &entry) {
    return entry.second == Reduction::Identity || entry.second == Reduction::Total;
  });
  int64_t split = free ? 0 : group.getOuter();
  SmallVector<TensorAccess *> tensors;
  for (auto *list : {&plan.results, &plan.operands})
    for (TensorAccess &tensor : *list)
      tensors.push_back(&tensor);
  const TensorAccess *guide = nullptr;
  for (TensorAccess *tensor : tensors)
    if (!guide && shapeOf(tensor->value).size() == domain.size())
      guide = tensor;
  auto build = [&](int64_t first, int64_t last, Dims &sizes, Dims TensorAccess::*strides) {
    SmallVector<int64_t> order;
    for (int64_t dim = first; dim < last; ++dim)
      if (domain[dim] != 1)
        order.push_back(dim);
    if (guide)
      llvm::sort(order, [&](int64_t a, int64_t b) {
        return std::make_pair(-std::abs(guide->domain[a]), a) < std::make_pair(-std::abs(guide->domain[b]), b);
      });
    for (int64_t dim : order) {
      bool merges = !sizes.empty() && llvm::all_of(tensors, [&](TensorAccess *tensor) {
        return (tensor->*strides).back() == tensor->domain[dim] * domain[dim];
      });
      if (!merges)
        sizes.push_back(1);
      sizes.back() *= domain[dim];
      for (TensorAccess *tensor : tensors) {
        if (!merges)
          (tensor->*strides).push_back(0);
        (tensor->*strides).back() = tensor->domain[dim];
      }
    }
  };
  build(0, split, plan.outer, &TensorAccess::outer);
  build(split, domain.size(), plan.inner, &TensorAccess::inner);
  if (!free)
    return;
  if (plan.inner.size() <= 1) {
    plan.blocked = !plan.inner.empty();
    return;
  }
  // Points: the last dims, until a row is worth its overhead.
  size_t keep = 1;
  int64_t count = plan.inner.back();
  while (keep < plan.inner.size() && count < kBlockElements / 2)
    count *= plan.inner[plan.inner.size() - ++keep];
  size_t moved = plan.inner.size() - keep;
  auto move = [&](Dims &inner, Dims &outer) {
    outer.assign(inner.begin(), inner.begin() + moved);
    inner.erase(inner.begin(), inner.begin() + moved);
  };
  move(plan.inner, plan.outer);
  for (TensorAccess *tensor : tensors)
    move(tensor->inner, tensor->outer);
}

LogicalResult Planner::checkResults() {
  uint64_t all = rangeMask(0, domain.size()), rowDims = rangeMask(0, group.getOuter());
  for (auto [index, tensor] : llvm::enumerate(plan.results)) {
    auto reduce = tensor.value.getDefiningOp<ReduceOp>();
    Reduction kind = reduce ? plan.reductionOf(reduce) : Reduction::Identity;
    bool accumulates = kernel.getAccumulate()[index];
    if (kind != Reduction::Identity && kind != Reduction::Row) {
      if (kind != Reduction::Total && !isa<Float32Type>(tensor.element))
        return kernel.emitOpError("sums rows into ") << tensor.element << ", only f32 is supported: convert afterwards";
      if (accumulates && reduce.getKind() == ReduceKind::Max)
        return kernel.emitOpError("cannot accumulate a maximum");
      continue;
    }
    uint64_t at = mask(tensor.value);
    if (at != all && at != rowDims)
      return kernel.emitOpError("result ") << index << " of type " << tensor.value.getType()
                                           << " is neither a full tensor, nor one value a row, nor a sum over rows";
    if (accumulates && !isa<FloatType>(tensor.element))
      return kernel.emitOpError("cannot accumulate into ") << tensor.element;
  }
  return success();
}

void Planner::findLevels() {
  for (TensorAccess &tensor : plan.operands)
    plan.level[tensor.value] = tensor.pointwise() ? Level::Point : tensor.constant() ? Level::Call : Level::Row;
  for (Operation &op : body.without_terminator()) {
    Level level = Level::Call;
    for (Value operand : op.getOperands())
      level = std::max(level, plan.level[operand]);
    auto reduce = dyn_cast<ReduceOp>(op);
    if (reduce && plan.reductionOf(reduce) != Reduction::Identity)
      level = Level::Row;
    plan.level[op.getResult(0)] = level;
  }
}

void Planner::findPhases() {
  for (Value argument : body.getArguments())
    plan.phase[argument] = 0;
  int last = 0;
  for (Operation &op : body.without_terminator()) {
    int phase = 0;
    for (Value operand : op.getOperands())
      phase = std::max(phase, plan.phase[operand]);
    auto reduce = dyn_cast<ReduceOp>(op);
    Reduction kind = reduce ? plan.reductionOf(reduce) : Reduction::Identity;
    if (kind != Reduction::Identity && kind != Reduction::RowValues)
      last = std::max(last, phase);
    plan.phase[op.getResult(0)] = phase + (kind == Reduction::Row ? 1 : 0);
  }
  for (TensorAccess &tensor : plan.results)
    if (auto reduce = tensor.value.getDefiningOp<ReduceOp>();
        tensor.pointwise() && (!reduce || plan.reductionOf(reduce) == Reduction::Identity))
      last = std::max(last, plan.phase[tensor.value]);
  plan.phases = last + 1;
}

} // namespace

FailureOr<KernelPlan> planKernel(exec::KernelOp kernel, FusedOp group) { return Planner(kernel, group).run(); }

} // namespace echelon::lowering

// SPDX-License-Identifier: Apache-2.0
//
// Where results go: into a fresh buffer, or straight into the concat, padding, gradient or variable that they end in.
#include "dialects/graph/builders.h"
#include "passes/lowering/entry_lowering.h"

using namespace mlir;
using namespace llvm;
using namespace echelon::graph;

namespace echelon::lowering {

static bool isView(Operation *op) { return isa<ReshapeOp, TransposeOp, BroadcastOp, SliceOp>(op); }

static SmallVector<int64_t> inverse(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> result(permutation.size());
  for (auto [i, dim] : enumerate(permutation))
    result[dim] = i;
  return result;
}

static int64_t bytesOf(RankedTensorType type) {
  int64_t bits = type.getElementType().getIntOrFloatBitWidth();
  return type.getNumElements() * std::max<int64_t>(1, bits / 8);
}

void EntryLowering::indexOps() {
  unsigned index = 0;
  for (Operation &op : function.getBody().front()) {
    order[&op] = index++;
    if (auto read = dyn_cast<ReadOp>(op))
      variables[read.getVariable()].read = true;
    if (auto accumulate = dyn_cast<AccumulateOp>(op))
      variables[accumulate.getVariable()].writes.push_back(order[&op]);
    if (auto assign = dyn_cast<AssignOp>(op)) {
      variables[assign.getVariable()].writes.push_back(order[&op]);
      variables[assign.getVariable()].assigned = true;
    }
  }
}

/// The last op that reads the tensor's memory, through views.
unsigned EntryLowering::lastUse(Value tensor) {
  unsigned last = 0;
  SmallVector<Value> worklist = {tensor};
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    for (Operation *user : value.getUsers()) {
      last = std::max(last, order[user]);
      if (isView(user))
        worklist.push_back(user->getResult(0));
    }
  }
  return last;
}

/// A read that is still used after its variable is written needs its own copy.
bool EntryLowering::mustCopyRead(ReadOp read) {
  unsigned last = lastUse(read.getResult());
  return any_of(variables[read.getVariable()].writes,
                [&](unsigned write) { return order[read] < write && write < last; });
}

/// True if `op` has an operand that is a view of `tensor`, not the tensor itself.
static bool readsThroughView(Operation *op, Value tensor) {
  return any_of(op->getOperands(), [&](Value operand) {
    bool isTensor = operand == tensor;
    while (operand.getDefiningOp() && isView(operand.getDefiningOp()))
      operand = operand.getDefiningOp()->getOperand(0);
    return operand == tensor && !isTensor;
  });
}

Value EntryLowering::allocate(Location loc, RankedTensorType type) {
  return builder.create<exec::AllocOp>(loc, bufferType, builder.getI64IntegerAttr(bytesOf(type)), IntegerAttr());
}

/// Dense memory whose dims lie in `order`, seen with the dims in their own order.
static StridedView denseInOrder(ArrayRef<int64_t> shape, ArrayRef<int64_t> order) {
  if (order.empty())
    return StridedView::dense(shape);
  Shape moved;
  for (int64_t dim : order)
    moved.push_back(shape[dim]);
  return StridedView::dense(moved).permute(inverse(order));
}

Place EntryLowering::freshPlace(Value tensor, ArrayRef<int64_t> order) {
  auto type = cast<RankedTensorType>(tensor.getType());
  return {allocate(tensor.getLoc(), type), denseInOrder(type.getShape(), order)};
}

Place EntryLowering::makeDense(Location loc, RankedTensorType type, const Place &place, ArrayRef<int64_t> order) {
  Place dense{allocate(loc, type), denseInOrder(type.getShape(), order)};
  copy(loc, type, place, dense);
  return dense;
}

Place EntryLowering::variablePlace(Location loc, StringRef variable, Type type) {
  Value buffer = builder.create<exec::VariableOp>(loc, bufferType, FlatSymbolRefAttr::get(builder.getContext(), variable));
  return {buffer, StridedView::dense(cast<RankedTensorType>(type).getShape())};
}

/// In place only if nothing reads the old value after the producer ran; the producer itself may, elementwise.
std::optional<Place> EntryLowering::wantedByAssign(AssignOp assign) {
  if (variables[assign.getVariable()].writes.size() != 1)
    return std::nullopt;
  for (auto read : function.getOps<ReadOp>()) {
    if (read.getVariable() != assign.getVariable())
      continue;
    unsigned last = lastUse(read.getResult());
    if (last > order[current])
      return std::nullopt;
    if (last == order[current] && (!isa<FusedOp>(current) || readsThroughView(current, read.getResult())))
      return std::nullopt;
  }
  return variablePlace(assign.getLoc(), assign.getVariable(), assign.getValue().getType());
}

std::optional<Place> EntryLowering::wantedByConcat(unsigned index, ConcatOp concat) {
  if (!places.count(concat.getResult()))
    places[concat.getResult()] = resultPlace(concat.getResult());
  Place whole = places[concat.getResult()];
  Shape size = shapeOf(concat.getInputs()[index]), offsets(size.size(), 0), ones(size.size(), 1);
  for (Value input : concat.getInputs().take_front(index))
    offsets[concat.getDim()] += shapeOf(input)[concat.getDim()];
  return Place{whole.buffer, whole.view.slice(size, offsets, ones)};
}

std::optional<Place> EntryLowering::wantedByPad(Value tensor, PadOp pad) {
  if (!places.count(pad.getResult())) {
    Place whole = freshPlace(pad.getResult());
    fillZero(pad.getLoc(), cast<RankedTensorType>(pad.getType()), whole);
    places[pad.getResult()] = whole;
  }
  const Place &whole = places[pad.getResult()];
  return Place{whole.buffer, whole.view.slice(shapeOf(tensor), pad.getOffsets(), pad.getStrides())};
}

std::optional<Place> EntryLowering::wantedPlace(Value tensor) {
  if (!tensor.hasOneUse())
    return std::nullopt;
  Operation *user = *tensor.user_begin();
  if (auto assign = dyn_cast<AssignOp>(user))
    return wantedByAssign(assign);
  if (auto concat = dyn_cast<ConcatOp>(user))
    return wantedByConcat(tensor.use_begin()->getOperandNumber(), concat);
  if (auto pad = dyn_cast<PadOp>(user))
    return wantedByPad(tensor, pad);
  if (!isa<ReshapeOp, TransposeOp>(user))
    return std::nullopt;
  std::optional<Place> outer = wantedPlace(user->getResult(0));
  if (!outer)
    return std::nullopt;
  if (auto transpose = dyn_cast<TransposeOp>(user))
    return Place{outer->buffer, outer->view.permute(inverse(transpose.getPermutation()))};
  std::optional<StridedView> view = outer->view.reshape(shapeOf(tensor));
  if (!view)
    return std::nullopt;
  return Place{outer->buffer, *view};
}

Place EntryLowering::resultPlace(Value tensor) {
  if (std::optional<Place> wanted = wantedPlace(tensor))
    return *wanted;
  return freshPlace(tensor);
}

std::optional<Place> EntryLowering::logitsPlace(SoftmaxCrossEntropyGradOp op) {
  // The root of the view chain owns the memory; every reader of it must come before.
  Value root = op.getLogits();
  while (Operation *producer = root.getDefiningOp()) {
    if (!isView(producer))
      break;
    root = producer->getOperand(0);
  }
  auto found = places.find(op.getLogits());
  if (found == places.end() || !root.getDefiningOp<EinsumOp>() ||
      !found->second.buffer.getDefiningOp<exec::AllocOp>() || lastUse(root) != order[op])
    return std::nullopt;
  return found->second;
}

std::optional<Place> EntryLowering::accumulatePlace(Value tensor) {
  if (!tensor.hasOneUse())
    return std::nullopt;
  Operation *user = *tensor.user_begin();
  if (auto accumulate = dyn_cast<AccumulateOp>(user)) {
    // The producer adds before the accumulate stands: nothing may look at the variable in between.
    const VariableUse &use = variables[accumulate.getVariable()];
    if (use.read || use.assigned)
      return std::nullopt;
    accumulated.insert(tensor);
    return variablePlace(accumulate.getLoc(), accumulate.getVariable(), tensor.getType());
  }
  if (!isa<ReshapeOp, TransposeOp>(user))
    return std::nullopt;
  std::optional<Place> outer = accumulatePlace(user->getResult(0));
  if (!outer)
    return std::nullopt;
  std::optional<StridedView> view;
  if (auto transpose = dyn_cast<TransposeOp>(user))
    view = outer->view.permute(inverse(transpose.getPermutation()));
  else
    view = outer->view.reshape(shapeOf(tensor));
  if (!view) {
    cancelAccumulate(tensor);
    return std::nullopt;
  }
  return Place{outer->buffer, *view};
}

void EntryLowering::cancelAccumulate(Value tensor) {
  while (!accumulated.erase(tensor))
    tensor = (*tensor.user_begin())->getResult(0);
}

} // namespace echelon::lowering

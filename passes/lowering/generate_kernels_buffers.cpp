// SPDX-License-Identifier: Apache-2.0
//
// Row buffers: values that several passes over a row need and that are too dear to compute in each.
#include "dialects/graph/builders.h"
#include "passes/lowering/generate_kernels_plan.h"

using namespace mlir;
using namespace echelon::graph;

namespace echelon::lowering {
namespace {

/// Functions that cost more than loading a value again.
bool isDear(Operation *op) {
  if (auto unary = dyn_cast_or_null<UnaryOp>(op))
    return !llvm::is_contained({UnaryKind::Neg, UnaryKind::Abs, UnaryKind::Sign, UnaryKind::Not, UnaryKind::Relu},
                               unary.getKind());
  if (auto binary = dyn_cast_or_null<BinaryOp>(op))
    return binary.getKind() == BinaryKind::Pow || binary.getKind() == BinaryKind::Div;
  return false;
}

/// The point values whose reductions or stores happen in `phase`.
void addRoots(Block &body, KernelPlan &plan, int phase, SmallVectorImpl<Value> &roots) {
  bool last = phase == plan.phases - 1;
  for (auto [op, kind] : plan.reductions) {
    Value input = op->getOperand(0);
    if (kind == Reduction::Identity || plan.level[input] != Level::Point)
      continue;
    if (kind == Reduction::Row ? plan.phase[input] == phase : last)
      roots.push_back(input);
  }
  if (last)
    for (Value value : body.getTerminator()->getOperands())
      if (plan.level[value] == Level::Point)
        roots.push_back(value);
}

/// All point values that pass `phase` computes or loads.
DenseSet<Value> needed(Block &body, KernelPlan &plan, int phase) {
  SmallVector<Value> roots;
  addRoots(body, plan, phase, roots);
  return pointValues(plan, std::move(roots), phase);
}

} // namespace

DenseSet<Value> pointValues(const KernelPlan &plan, SmallVector<Value> work, int phase) {
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (plan.level.lookup(value) != Level::Point || !seen.insert(value).second)
      continue;
    auto buffer = plan.buffers.find(value);
    if (buffer != plan.buffers.end() && buffer->second < phase)
      continue;
    if (Operation *op = value.getDefiningOp())
      work.append(op->operand_begin(), op->operand_end());
  }
  return seen;
}

void chooseBuffers(Block &body, KernelPlan &plan) {
  int64_t bytesLeft = kStackBytes, bytes = plan.innerCount() * int64_t(sizeof(float));
  for (auto [op, kind] : plan.reductions) // column sums have their own buffers
    if (kind == Reduction::Column && bytesLeft >= bytes)
      bytesLeft -= bytes;
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    Value value = op.getResult(0);
    if (!isDear(&op) || plan.level[value] != Level::Point || bytesLeft < bytes || !isa<Float32Type>(elementOf(value)))
      continue;
    SmallVector<int> users;
    for (int phase = 0; phase < plan.phases; ++phase)
      if (needed(body, plan, phase).contains(value))
        users.push_back(phase);
    if (users.size() < 2)
      continue;
    plan.buffers[value] = users.front();
    bytesLeft -= bytes;
  }
}

} // namespace echelon::lowering

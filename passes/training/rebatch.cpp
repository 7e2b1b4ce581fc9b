// SPDX-License-Identifier: Apache-2.0
//
// Rewrites a model with a baked batch for another number of rows: the batch is followed as a named dim through every
// op, and each op is rebuilt with buildLocal on its new sizes.
#include "dialects/graph/builders.h"
#include "passes/training/passes.h"

using namespace mlir;
using namespace llvm;
using namespace echelon::graph;

namespace echelon::training {
#define GEN_PASS_DEF_REBATCHPASS
#include "passes/training/passes.h.inc"

namespace {

class Rebatch {
public:
  Rebatch(func::FuncOp function, int64_t from, int64_t to) : function(function), from(from), to(to) {}

  LogicalResult run() {
    Block &block = function.getBody().front();
    for (BlockArgument argument : block.getArguments())
      if (failed(resizeArgument(argument)))
        return failure();
    for (Operation &op : make_early_inc_range(block.without_terminator()))
      if (failed(rebuild(op)))
        return failure();
    for (Operation *op : llvm::reverse(replaced)) // a producer stands after what only it needed
      if (op->use_empty())
        op->erase();
    SmallVector<Type> results(block.getTerminator()->getOperandTypes());
    OpBuilder builder(function.getContext());
    function.setFunctionType(builder.getFunctionType(block.getArgumentTypes(), results));
    return success();
  }

private:
  LogicalResult resizeArgument(BlockArgument argument) {
    auto type = cast<RankedTensorType>(argument.getType());
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.name");
    if (type.getRank() == 0 || type.getDimSize(0) != from)
      return function.emitError() << "input '" << (name ? name.getValue() : "?") << "' is " << type
                                  << "; its dim 0 should be the batch of " << from << " rows";
    Shape shape(type.getShape().begin(), type.getShape().end());
    oldShapes[argument] = shape;
    shape[0] = to;
    argument.setType(type.clone(shape));
    return success();
  }

  /// The shape that a value had before this pass.
  Shape oldShape(Value value) {
    auto found = oldShapes.find(value);
    return found == oldShapes.end() ? shapeOf(value) : found->second;
  }

  /// New sizes of the op's names from the operands that have changed. A compound dim changes in its outermost name.
  LogicalResult newSizes(Operation &op, ArrayRef<Shape> shapes, const IterationSpace &space,
                         SmallVectorImpl<int64_t> &sizes) {
    for (const IterationSpace::Name &name : space.names)
      sizes.push_back(name.size);
    for (auto [index, operand] : enumerate(op.getOperands()))
      for (auto [dim, size] : enumerate(shapeOf(operand))) {
        if (size == shapes[index][dim])
          continue;
        const SpaceDim &names = space.operands[index][dim];
        if (names.empty() || space.names[names[0]].size % from)
          return op.emitError() << "bakes the batch of " << from << " rows into dim " << dim << " of operand " << index
                                << "; export with a dynamic batch, or use batch.micro " << from;
        sizes[names[0]] = space.names[names[0]].size / from * to;
      }
    return success();
  }

  /// A value that no input reaches has no batch of its own, but its user may need one: it is built again on demand.
  LogicalResult fitOperands(Operation &op, const IterationSpace &space, ArrayRef<int64_t> sizes) {
    for (auto [index, operand] : enumerate(op.getOpOperands())) {
      Shape wanted = space.shapeOf(space.operands[index], sizes);
      if (wanted == shapeOf(operand.get()))
        continue;
      FailureOr<Value> fitted = fit(op, index, operand.get(), wanted);
      if (failed(fitted))
        return failure();
      operand.set(*fitted);
    }
    return success();
  }

  struct Fit {
    Value value;
    Shape wanted;
  };

  Value *findFitted(const Fit &one) {
    for (auto &[shape, value] : fitted[one.value])
      if (shape == one.wanted)
        return &value;
    return nullptr;
  }

  /// `value` for the new batch: its producer, and what that needs, cloned on new sizes (once for all users).
  FailureOr<Value> fit(Operation &user, unsigned index, Value value, const Shape &wanted) {
    SmallVector<Fit> stack = {{value, wanted}};
    while (!stack.empty()) {
      Fit one = stack.back();
      if (findFitted(one)) {
        stack.pop_back();
        continue;
      }
      Operation *producer = one.value.getDefiningOp();
      auto interface = dyn_cast_or_null<IterationSpaceOpInterface>(producer);
      FailureOr<IterationSpace> space =
          interface && isPure(producer) ? interface.getIterationSpace() : FailureOr<IterationSpace>();
      SmallVector<int64_t> sizes;
      if (failed(space) || !sizesForResult(*space, one, sizes))
        return user.emitError() << "operand " << index << " keeps the batch of " << from
                                << " rows where another operand has " << to
                                << "; export with a dynamic batch, or use batch.micro " << from,
               failure();
      SmallVector<Value> operands;
      for (auto [place, operand] : enumerate(producer->getOperands())) {
        Fit need{operand, space->shapeOf(space->operands[place], sizes)};
        Value *found = need.wanted == shapeOf(operand) ? &need.value : findFitted(need);
        if (found)
          operands.push_back(*found);
        else
          stack.push_back(need);
      }
      if (operands.size() < producer->getNumOperands())
        continue;
      OpBuilder builder(producer);
      std::string why;
      Operation *local = interface.buildLocal(builder, operands, sizes, why);
      if (!local)
        return producer->emitError() << "cannot be cut from " << from << " to " << to << " rows: " << why, failure();
      replaced.insert(producer);
      for (auto [old, result] : llvm::zip_equal(producer->getResults(), local->getResults())) {
        oldShapes[result] = shapeOf(old);
        fitted[old].push_back({shapeOf(result), result});
      }
      stack.pop_back();
    }
    return *findFitted({value, wanted});
  }

  /// Sizes of the producer's names under which the result has the wanted shape; false where the batch is not the
  /// outermost name of a dim.
  bool sizesForResult(const IterationSpace &space, const Fit &one, SmallVectorImpl<int64_t> &sizes) {
    for (const IterationSpace::Name &name : space.names)
      sizes.push_back(name.size);
    const SpaceTensor &tensor = space.results[cast<OpResult>(one.value).getResultNumber()];
    for (auto [dim, size] : enumerate(shapeOf(one.value))) {
      if (size == one.wanted[dim])
        continue;
      if (tensor[dim].empty() || space.names[tensor[dim][0]].size % from)
        return false;
      sizes[tensor[dim][0]] = space.names[tensor[dim][0]].size / from * to;
    }
    return space.shapeOf(tensor, sizes) == one.wanted;
  }

  LogicalResult rebuild(Operation &op) {
    SmallVector<Shape> shapes;
    bool changed = false;
    for (Value operand : op.getOperands()) {
      shapes.push_back(oldShape(operand));
      changed |= shapes.back() != shapeOf(operand);
    }
    if (!changed)
      return success();
    auto interface = dyn_cast<IterationSpaceOpInterface>(op);
    // The op's types are still the old ones, its operands' are not: ask for the space on the old shapes.
    FailureOr<IterationSpace> space = interface ? spaceOnOldShapes(op, shapes) : FailureOr<IterationSpace>();
    if (failed(space))
      return op.emitError() << "cannot follow the batch through '" << op.getName() << "'";
    SmallVector<int64_t> sizes;
    if (failed(newSizes(op, shapes, *space, sizes)) || failed(fitOperands(op, *space, sizes)))
      return failure();
    for (auto [index, result] : enumerate(op.getResults())) {
      oldShapes[result] = shapeOf(result);
      auto type = cast<RankedTensorType>(result.getType());
      for (const IterationSpace::Name &name : space->names)
        if (name.whole && sizes[&name - space->names.data()] != name.size)
          return op.emitError() << "cannot change the batch: dim '" << name.text << "' must stay whole";
      result.setType(type.clone(space->shapeOf(space->results[index], sizes)));
    }
    return success();
  }

  FailureOr<IterationSpace> spaceOnOldShapes(Operation &op, ArrayRef<Shape> shapes) {
    SmallVector<Type> kept;
    for (auto [operand, shape] : llvm::zip_equal(op.getOperands(), shapes)) {
      kept.push_back(operand.getType());
      operand.setType(cast<RankedTensorType>(operand.getType()).clone(shape));
    }
    FailureOr<IterationSpace> space = cast<IterationSpaceOpInterface>(op).getIterationSpace();
    for (unsigned index = kept.size(); index-- > 0;) // backwards: one value may stand twice
      op.getOperand(index).setType(kept[index]);
    return space;
  }

  func::FuncOp function;
  int64_t from, to;
  llvm::DenseMap<Value, Shape> oldShapes;
  llvm::DenseMap<Value, SmallVector<std::pair<Shape, Value>, 1>> fitted; ///< by the value that was built again
  llvm::SetVector<Operation *> replaced;
};

struct RebatchPass : impl::RebatchPassBase<RebatchPass> {
  using RebatchPassBase::RebatchPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto batch = module->getAttrOfType<IntegerAttr>("graph.batch");
    auto forward = module.lookupSymbol<func::FuncOp>("forward");
    if (!batch || !forward) {
      module.emitError() << "needs @forward and the attribute graph.batch";
      return signalPassFailure();
    }
    if (micro <= 0 || micro == batch.getInt())
      return;
    if (failed(Rebatch(forward, batch.getInt(), micro).run()))
      return signalPassFailure();
    module->setAttr("graph.batch", IntegerAttr::get(batch.getType(), micro));
  }
};

} // namespace
} // namespace echelon::training

// SPDX-License-Identifier: Apache-2.0
//
// Turns the outputs of @forward into the loss as (sum, count).
#include "dialects/graph/builders.h"
#include "llvm/ADT/StringExtras.h"
#include "passes/training/passes.h"

using namespace mlir;
using namespace llvm;
using namespace echelon::graph;

namespace echelon::training {
#define GEN_PASS_DEF_ATTACHLOSSPASS
#include "passes/training/passes.h.inc"

namespace {

struct Loss {
  Value sum, count;
};

std::string listNames(func::FuncOp function, bool results) {
  SmallVector<std::string> names;
  unsigned count = results ? function.getNumResults() : function.getNumArguments();
  for (unsigned i = 0; i < count; ++i) {
    auto name = results ? function.getResultAttrOfType<StringAttr>(i, "graph.name")
                        : function.getArgAttrOfType<StringAttr>(i, "graph.name");
    names.push_back(name ? "'" + name.str() + "'" : "?");
  }
  return join(names, ", ");
}

struct AttachLossPass : impl::AttachLossPassBase<AttachLossPass> {
  using AttachLossPassBase::AttachLossPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto forward = module.lookupSymbol<func::FuncOp>("forward");
    if (!forward) {
      module.emitError() << "needs a function @forward";
      return signalPassFailure();
    }
    FailureOr<Loss> loss = fromOutput.empty() ? crossEntropy(forward) : lossOutput(forward);
    if (failed(loss))
      return signalPassFailure();
    Operation *end = forward.getBody().front().getTerminator();
    end->setOperands({loss->sum, loss->count});
    OpBuilder builder(&getContext());
    forward.removeResAttrsAttr();
    forward.setFunctionType(builder.getFunctionType(forward.getBody().front().getArgumentTypes(),
                                                    {loss->sum.getType(), loss->count.getType()}));
  }

  FailureOr<Value> output(func::FuncOp forward, StringRef name, StringRef key) {
    Operation *end = forward.getBody().front().getTerminator();
    for (unsigned i = 0; i < forward.getNumResults(); ++i)
      if (auto attribute = forward.getResultAttrOfType<StringAttr>(i, "graph.name"))
        if (attribute.getValue() == name)
          return end->getOperand(i);
    return forward.emitError() << key << " names the output '" << name << "', but the model's outputs are "
                               << listNames(forward, true),
           failure();
  }

  /// loss = sum / count of a cross-entropy keeps both; any other scalar counts as the mean over rows.
  FailureOr<Loss> lossOutput(func::FuncOp forward) {
    FailureOr<Value> value = output(forward, fromOutput, "loss.from_output");
    if (failed(value))
      return failure();
    if (!shapeOf(*value).empty() || !elementOf(*value).isF32())
      return forward.emitError() << "loss.from_output: '" << fromOutput << "' must be a float scalar, it is "
                                 << value->getType(),
             failure();
    if (auto division = value->getDefiningOp<BinaryOp>()) {
      auto entropy = division.getLhs().getDefiningOp<SoftmaxCrossEntropyOp>();
      if (division.getKind() == BinaryKind::Div && entropy && division.getLhs() == entropy.getSum() &&
          division.getRhs() == entropy.getCount())
        return Loss{entropy.getSum(), entropy.getCount()};
    }
    OpBuilder builder(forward.getBody().front().getTerminator());
    GraphBuilder g(builder, value->getLoc());
    auto batch = getOperation()->getAttrOfType<IntegerAttr>("graph.batch");
    double rows = batch ? double(batch.getInt()) : 1.0;
    return Loss{g.scale(*value, rows), g.splat(value->getType(), rows)};
  }

  Value labelsInput(func::FuncOp forward, ArrayRef<int64_t> shape) {
    for (unsigned i = 0; i < forward.getNumArguments(); ++i)
      if (auto name = forward.getArgAttrOfType<StringAttr>(i, "graph.name"))
        if (name.getValue() == labels)
          return forward.getArgument(i);
    OpBuilder builder(&getContext());
    auto type = RankedTensorType::get(shape, builder.getI64Type());
    unsigned index = forward.getNumArguments();
    forward.insertArgument(index, type,
                           builder.getDictionaryAttr(
                               {builder.getNamedAttr("graph.name", builder.getStringAttr(labels))}),
                           forward.getLoc());
    return forward.getArgument(index);
  }

  FailureOr<Loss> crossEntropy(func::FuncOp forward) {
    FailureOr<Value> scores = output(forward, logits, "loss.logits");
    if (failed(scores))
      return failure();
    Shape shape = shapeOf(*scores);
    if (shape.size() < 2)
      return forward.emitError() << "loss.logits: '" << logits << "' is " << scores->getType()
                                 << "; cross-entropy needs [batch, .., classes]",
             failure();
    Shape rows(shape.begin(), shape.end() - 1);
    Value target = labelsInput(forward, rows);
    if (shapeOf(target) != rows)
      return forward.emitError() << "loss.labels: '" << labels << "' is " << target.getType() << ", but '" << logits
                                 << "' is " << scores->getType() << ": labels need its shape without the last dim",
             failure();
    if (!elementOf(target).isInteger(64) && !elementOf(target).isInteger(32))
      return forward.emitError() << "loss.labels: '" << labels << "' is " << target.getType()
                                 << "; cross-entropy needs integer labels",
             failure();
    OpBuilder builder(forward.getBody().front().getTerminator());
    GraphBuilder g(builder, scores->getLoc());
    Value input = *scores;
    if (shiftLabels) {
      if (shape.size() != 3 || shape[1] < 2)
        return forward.emitError() << "loss.shift_labels needs logits [batch, sequence, classes]", failure();
      Shape inner = {shape[0], shape[1] - 1, shape[2]};
      input = g.slice(input, inner, {0, 0, 0}, {1, 1, 1});
      target = g.slice(target, ArrayRef(inner).take_front(2), {0, 1}, {1, 1});
      rows = Shape(inner.begin(), inner.end() - 1);
    }
    auto scalar = RankedTensorType::get({}, elementOf(input));
    auto entropy = builder.create<SoftmaxCrossEntropyOp>(
        scores->getLoc(), TypeRange{scalar, scalar, RankedTensorType::get(rows, elementOf(input))}, input, target,
        builder.getI64IntegerAttr(ignoreIndex), builder.getF64FloatAttr(labelSmoothing));
    return Loss{entropy.getSum(), entropy.getCount()};
  }
};

} // namespace
} // namespace echelon::training

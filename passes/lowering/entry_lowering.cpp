// SPDX-License-Identifier: Apache-2.0
//
// Ops of one function to launches.
#include "passes/lowering/entry_lowering.h"

#include "dialects/graph/builders.h"

using namespace mlir;
using namespace llvm;
using namespace echelon::graph;

namespace echelon::lowering {

EntryLowering::EntryLowering(func::FuncOp function, const SymbolTable &symbols, KernelTable &kernels)
    : function(function), symbols(symbols), kernels(kernels), builder(function.getContext()),
      bufferType(builder.getType<exec::BufferType>()) {}

LogicalResult EntryLowering::run() {
  builder.setInsertionPointAfter(function);
  auto entry = builder.create<exec::EntryOp>(function.getLoc(), function.getSymName());
  builder.setInsertionPointToStart(&entry.getBody().emplaceBlock());
  indexOps();
  for (BlockArgument argument : function.getArguments())
    places[argument] = {builder.create<exec::InputOp>(function.getLoc(), bufferType, argument.getArgNumber()),
                        StridedView::dense(shapeOf(argument))};
  for (Operation &op : function.getBody().front().without_terminator())
    if (failed(lower(op)))
      return failure();
  return success();
}

LogicalResult EntryLowering::lower(Operation &op) {
  current = &op;
  countFlops(op);
  if (auto fused = dyn_cast<FusedOp>(op))
    return lowerFused(fused);
  if (auto kernel = dyn_cast<KernelOpInterface>(op))
    return lowerKernel(kernel);
  if (auto constant = dyn_cast<graph::ConstantOp>(op)) {
    lowerConstant(constant);
  } else if (auto read = dyn_cast<ReadOp>(op)) {
    Place place = variablePlace(op.getLoc(), read.getVariable(), read.getType());
    places[read] = mustCopyRead(read) ? makeDense(op.getLoc(), cast<RankedTensorType>(read.getType()), place) : place;
  } else if (isa<ReshapeOp, TransposeOp, BroadcastOp, SliceOp>(op)) {
    lowerView(op);
  } else if (auto concat = dyn_cast<ConcatOp>(op)) {
    for (auto [index, input] : enumerate(concat.getInputs())) {
      Place target = *wantedByConcat(index, concat);
      const Place &source = places[input];
      if (source.buffer != target.buffer || source.view.offset != target.view.offset)
        copy(op.getLoc(), cast<RankedTensorType>(input.getType()), placeOf(input), target);
    }
  } else if (auto pad = dyn_cast<PadOp>(op)) {
    Place target = *wantedByPad(pad.getInput(), pad);
    const Place &source = places[pad.getInput()];
    if (source.buffer != target.buffer)
      copy(op.getLoc(), cast<RankedTensorType>(pad.getInput().getType()), placeOf(pad.getInput()), target);
  } else if (auto accumulate = dyn_cast<AccumulateOp>(op)) {
    lowerAccumulate(accumulate);
  } else if (auto assign = dyn_cast<AssignOp>(op)) {
    lowerAssign(assign);
  } else {
    return op.emitError() << "'" << op.getName() << "' has neither a kernel nor a place in a fused group";
  }
  return success();
}

Place EntryLowering::placeOf(Value tensor) {
  auto found = places.find(tensor);
  assert(found != places.end() && "every operand is lowered before its user");
  return found->second;
}

void EntryLowering::lowerConstant(graph::ConstantOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  ElementsAttr value = op.getValue();
  Place place{{}, StridedView::dense(type.getShape())};
  if (auto splat = dyn_cast<SplatElementsAttr>(value)) {
    // One element, repeated by stride 0.
    value = splat.resizeSplat(type.clone(ArrayRef<int64_t>{1}));
    std::fill(place.view.strides.begin(), place.view.strides.end(), 0);
  }
  place.buffer = builder.create<exec::ConstantOp>(op.getLoc(), bufferType, value);
  places[op] = place;
}

void EntryLowering::lowerView(Operation &op) {
  Value result = op.getResult(0), operand = op.getOperand(0);
  if (accumulated.contains(result)) { // its producer already added it where it ends
    accumulated.insert(operand);
    return;
  }
  if (!places.count(operand))
    return; // only when the producer accumulated it
  Shape shape = shapeOf(result);
  Place place = placeOf(operand);
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    place.view = place.view.broadcast(shape, broadcast.getDims());
  } else if (auto transpose = dyn_cast<TransposeOp>(op)) {
    place.view = place.view.permute(transpose.getPermutation());
  } else if (auto slice = dyn_cast<SliceOp>(op)) {
    place.view = place.view.slice(shape, slice.getOffsets(), slice.getStrides());
  } else {
    std::optional<StridedView> view = place.view.reshape(shape);
    if (!view) {
      place = makeDense(op.getLoc(), cast<RankedTensorType>(operand.getType()), place);
      view = place.view.reshape(shape);
    }
    place.view = *view;
  }
  places[result] = place;
}

void EntryLowering::copy(Location loc, RankedTensorType type, const Place &from, const Place &to, bool accumulate) {
  FlatSymbolRefAttr kernel = kernels.getCopy(loc, type, from.view, to.view, accumulate);
  launch(loc, kernel.getValue(), {{&from, type.getElementType(), false}, {&to, type.getElementType(), true}}, {});
}

void EntryLowering::fillZero(Location loc, RankedTensorType type, const Place &place) {
  int64_t bytes = type.getNumElements() * std::max<int64_t>(1, type.getElementTypeBitWidth() / 8);
  launch(loc, "memset", {{&place, type.getElementType(), true}},
         {builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(bytes)});
}

void EntryLowering::launch(Location loc, StringRef callee, ArrayRef<Argument> arguments,
                           ArrayRef<Attribute> descriptor) {
  SmallVector<Value> buffers;
  SmallVector<int64_t> indices, offsets, counts;
  SmallVector<bool> writes;
  for (const Argument &argument : arguments) {
    if (!argument.place) {
      indices.push_back(-1);
      continue;
    }
    indices.push_back(buffers.size());
    buffers.push_back(argument.place->buffer);
    int64_t bytes = std::max<unsigned>(1, argument.element.getIntOrFloatBitWidth() / 8);
    offsets.push_back(argument.place->view.offset * bytes);
    writes.push_back(argument.written);
    bool checkable = argument.written && argument.element.isF32() && argument.place->view.isDense();
    int64_t count = 1;
    for (int64_t size : argument.place->view.sizes)
      count *= size;
    counts.push_back(checkable ? count : 0);
  }
  auto op = builder.create<exec::LaunchOp>(loc, callee, buffers, builder.getArrayAttr(descriptor), indices, offsets,
                                           writes);
  op->setAttr("check_counts", builder.getDenseI64ArrayAttr(counts));
}

LogicalResult EntryLowering::lowerFused(FusedOp op) {
  SmallVector<Place> operandPlaces, resultPlaces;
  SmallVector<StridedView> operandViews, resultViews;
  SmallVector<bool> accumulate;
  for (Value operand : op.getInputs()) {
    operandPlaces.push_back(placeOf(operand));
    operandViews.push_back(operandPlaces.back().view);
  }
  for (Value result : op.getResults()) {
    std::optional<Place> target = accumulatePlace(result);
    accumulate.push_back(bool(target));
    if (!target)
      places[result] = target.emplace(resultPlace(result));
    resultPlaces.push_back(*target);
    resultViews.push_back(target->view);
  }
  FlatSymbolRefAttr kernel = kernels.get(op, operandViews, resultViews, accumulate);
  SmallVector<Argument> arguments;
  for (auto [value, place] : llvm::zip_equal(op.getInputs(), operandPlaces))
    arguments.push_back({&place, elementOf(value), false});
  for (auto [value, place] : llvm::zip_equal(op.getResults(), resultPlaces))
    arguments.push_back({&place, elementOf(value), true});
  launch(op.getLoc(), kernel.getValue(), arguments, {});
  return success();
}

/// Which kernels can add into their result, and the descriptor field that asks for it.
static std::optional<unsigned> accumulateField(StringRef kernel) {
  if (kernel == "contraction_f32")
    return 17;
  if (kernel == "embedding_grad_f32")
    return 4;
  return std::nullopt;
}

EntryLowering::KernelPlaces EntryLowering::kernelPlaces(KernelOpInterface op) {
  KernelPlaces places;
  for (Value operand : op->getOperands())
    places.operands.push_back(placeOf(operand));
  if (isa<EinsumOp, EmbeddingGradOp>(op.getOperation()))
    if (std::optional<Place> target = accumulatePlace(op->getResult(0))) {
      places.adds = true;
      places.results.push_back(*target);
      return places;
    }
  if (auto gradient = dyn_cast<SoftmaxCrossEntropyGradOp>(op.getOperation()))
    if (std::optional<Place> logits = logitsPlace(gradient)) {
      places.results.push_back(*logits);
      return places;
    }
  for (Value result : op->getResults())
    places.results.push_back(resultPlace(result));
  return places;
}

/// The call for these places; where the kernel cannot take their strides, first dense results, then dense operands too,
/// in the order of dims that suits the kernel.
/// A dense result still belongs where a concat or variable wanted it: that op's own lowering copies.
FailureOr<KernelCall> EntryLowering::describe(KernelOpInterface op, KernelPlaces &places) {
  auto viewsOf = [](ArrayRef<Place> list) {
    return llvm::map_to_vector<6>(list, [](const Place &place) { return place.view; });
  };
  FailureOr<KernelCall> call = op.describeKernel(viewsOf(places.operands), viewsOf(places.results));
  if (succeeded(call))
    return call;
  if (places.adds)
    cancelAccumulate(op->getResult(0));
  places.adds = false;
  places.results.clear();
  for (Value result : op->getResults())
    places.results.push_back(freshPlace(result));
  call = op.describeKernel(viewsOf(places.operands), viewsOf(places.results));
  if (succeeded(call))
    return call;
  SmallVector<SmallVector<int64_t>> orders = op.getDenseOrders();
  orders.resize(op->getNumOperands() + op->getNumResults());
  for (auto [operand, place, order] : llvm::zip(op->getOperands(), places.operands, orders))
    if (!place.view.isDense() || !order.empty())
      place = makeDense(op->getLoc(), cast<RankedTensorType>(operand.getType()), place, order);
  places.results.clear();
  for (auto [result, order] : llvm::zip(op->getResults(), ArrayRef(orders).drop_front(op->getNumOperands())))
    places.results.push_back(freshPlace(result, order));
  return op.describeKernel(viewsOf(places.operands), viewsOf(places.results));
}

LogicalResult EntryLowering::lowerKernel(KernelOpInterface op) {
  KernelPlaces used = kernelPlaces(op);
  FailureOr<KernelCall> call = describe(op, used);
  if (failed(call))
    return op->emitError() << "no kernel takes '" << op->getName() << "' with these types";
  SmallVector<Attribute> descriptor;
  for (const auto &field : call->descriptor)
    descriptor.push_back(std::holds_alternative<int64_t>(field)
                             ? Attribute(builder.getI64IntegerAttr(std::get<int64_t>(field)))
                             : Attribute(builder.getF64FloatAttr(std::get<double>(field))));
  if (used.adds)
    descriptor[*accumulateField(call->kernel)] = builder.getI64IntegerAttr(1);
  SmallVector<Argument> arguments;
  for (const KernelArgument &argument : call->arguments) {
    if (argument.kind == KernelArgument::Null)
      arguments.push_back({nullptr, {}, false});
    else if (argument.kind == KernelArgument::Operand)
      arguments.push_back({&used.operands[argument.index], elementOf(op->getOperand(argument.index)), false});
    else
      arguments.push_back({&used.results[argument.index], elementOf(op->getResult(argument.index)), true});
  }
  launch(op->getLoc(), ("ech_" + call->kernel).str(), arguments, descriptor);
  if (auto loss = dyn_cast<SoftmaxCrossEntropyOp>(op.getOperation()))
    markLogits(loss);
  if (!used.adds)
    for (auto [index, result] : enumerate(op->getResults()))
      places[result] = used.results[index];
  return success();
}

void EntryLowering::lowerAccumulate(AccumulateOp op) {
  if (accumulated.contains(op.getValue()))
    return;
  auto type = cast<RankedTensorType>(op.getValue().getType());
  copy(op.getLoc(), type, placeOf(op.getValue()), variablePlace(op.getLoc(), op.getVariable(), type), true);
}

void EntryLowering::lowerAssign(AssignOp op) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  Place target = variablePlace(op.getLoc(), op.getVariable(), type);
  double splat;
  if (matchSplat(op.getValue(), splat) && splat == 0)
    return fillZero(op.getLoc(), type, target);
  Place source = placeOf(op.getValue());
  auto variable = source.buffer.getDefiningOp<exec::VariableOp>();
  if (variable && variable.getVariable() == op.getVariable()) {
    if (source.view.isDense() && source.view.offset == 0)
      return; // written in place
    source = makeDense(op.getLoc(), type, source); // a permutation of itself
  }
  copy(op.getLoc(), type, source, target);
}

/// Notes on the buffer that it holds the logits, for the runtime to read after @evaluate.
void EntryLowering::markLogits(SoftmaxCrossEntropyOp op) {
  const Place &place = places[op.getLogits()];
  auto alloc = place.buffer.getDefiningOp<exec::AllocOp>();
  if (!alloc || place.view.offset != 0 || !place.view.isDense())
    return;
  int64_t classes = place.view.sizes.back(), elements = 1;
  for (int64_t size : place.view.sizes)
    elements *= size;
  alloc->setAttr("logits", builder.getDenseI64ArrayAttr({elements / classes, classes}));
}

/// Model FLOPs: matrix products as executed; attention backward twice its forward. Hardware: what the kernels do, with
/// causal tiles skipped and scores recomputed.
void EntryLowering::countFlops(Operation &op) {
  auto counted = dyn_cast<IterationSpaceOpInterface>(op);
  if (isa<EinsumOp>(op)) {
    double value = counted.getFlops();
    flops.palm += value;
    flops.causal += value;
    flops.hardware += value;
    return;
  }
  auto add = [&](auto attention, double model) {
    double keys = shapeOf(attention.getKey())[1];
    double kept = attention.getCausal() ? (keys + 1) / (2 * keys) : 1.0;
    flops.palm += model;
    flops.causal += model * kept;
    flops.hardware += double(attention.getFlops()) * kept;
  };
  if (auto attention = dyn_cast<AttentionOp>(op))
    add(attention, double(attention.getFlops()));
  else if (auto gradient = dyn_cast<AttentionGradOp>(op))
    add(gradient, double(gradient.getFlops()) * 0.8); // four of its five products
}

} // namespace echelon::lowering

// SPDX-License-Identifier: Apache-2.0
//
// Attention: iteration space, FLOPs, gradient, kernel descriptor.
#include "dialects/graph/builders.h"

using namespace mlir;
using namespace llvm;

#define GET_OP_CLASSES
#include "dialects/graph/attention.cpp.inc"

namespace echelon::graph {

void addAttentionOps(GraphDialect &dialect) {
  dialect.addFamilyOps<
#define GET_OP_LIST
#include "dialects/graph/attention.cpp.inc"
      >();
}

namespace {
/// The sizes of an attention, by name; group = heads / kv_heads.
struct Sizes {
  int64_t batch, queries, keys, kvHeads, group, headDim, valueDim;
};
} // namespace

template <typename Op> static Sizes sizesOf(Op op) {
  Shape q = shapeOf(op.getQuery()), k = shapeOf(op.getKey()), v = shapeOf(op.getValue());
  return {q[0], q[1], k[1], k[2], q[2] / k[2], q[3], v[3]};
}

template <typename Op> static LogicalResult verifyShapes(Op op) {
  Shape q = shapeOf(op.getQuery()), k = shapeOf(op.getKey()), v = shapeOf(op.getValue());
  if (q.size() != 4 || k.size() != 4 || v.size() != 4)
    return op.emitOpError("query, key and value must have rank 4: [batch, position, heads, dim]");
  if (k[2] == 0 || q[2] % k[2] != 0)
    return op.emitOpError("query has ") << q[2] << " heads, not a multiple of the " << k[2] << " key heads";
  if (int64_t window = op.getWindow(); window < 0)
    return op.emitOpError("window ") << window << " is negative";
  if (Value mask = op.getMask()) {
    Shape m = shapeOf(mask);
    if (m.size() != 4 || (m[0] != 1 && m[0] != q[0]) || (m[1] != 1 && m[1] != q[2]) || m[2] != q[1] || m[3] != k[1])
      return op.emitOpError("mask must be [batch or 1, heads or 1, queries, keys]");
  }
  return verifyIterationSpace(op.getOperation());
}

/// The space of one attention op; query positions, keys and head dims stay whole here (context parallelism cuts
/// them by other means), batch and key heads may be split.
static IterationSpace baseSpace(const Sizes &sizes) {
  IterationSpace space;
  space.addName("b", sizes.batch);
  space.addName("g", sizes.kvHeads);
  space.addName("r", sizes.group, true);
  space.addName("q", sizes.queries, true);
  space.addName("k", sizes.keys, true);
  space.addName("d", sizes.headDim, true);
  space.addName("v", sizes.valueDim, true);
  return space;
}

enum SpaceNames : unsigned { B, G, R, Q, K, D, V };

static SpaceTensor maskTensor(Value mask) {
  Shape shape = shapeOf(mask);
  SpaceTensor tensor;
  tensor.push_back(shape[0] == 1 ? SpaceDim{} : SpaceDim{B});
  tensor.push_back(shape[1] == 1 ? SpaceDim{} : SpaceDim{G, R});
  tensor.push_back({Q});
  tensor.push_back({K});
  return tensor;
}

static FailureOr<IterationSpace> bindTo(Operation *op, IterationSpace space) {
  return bindIterationSpace(op, Expected<IterationSpace>(std::move(space)));
}

FailureOr<IterationSpace> AttentionOp::getIterationSpace() {
  IterationSpace space = baseSpace(sizesOf(*this));
  space.operands.push_back({{B}, {Q}, {G, R}, {D}});
  space.operands.push_back({{B}, {K}, {G}, {D}});
  space.operands.push_back({{B}, {K}, {G}, {V}});
  if (getMask())
    space.operands.push_back(maskTensor(getMask()));
  space.results.push_back({{B}, {Q}, {G, R}, {V}});
  space.results.push_back({{B}, {G, R}, {Q}});
  return bindTo(getOperation(), std::move(space));
}

FailureOr<IterationSpace> AttentionGradOp::getIterationSpace() {
  IterationSpace space = baseSpace(sizesOf(*this));
  space.operands.push_back({{B}, {Q}, {G, R}, {D}});
  space.operands.push_back({{B}, {K}, {G}, {D}});
  space.operands.push_back({{B}, {K}, {G}, {V}});
  if (getMask())
    space.operands.push_back(maskTensor(getMask()));
  space.operands.push_back({{B}, {Q}, {G, R}, {V}});
  space.operands.push_back({{B}, {G, R}, {Q}});
  space.operands.push_back({{B}, {Q}, {G, R}, {V}});
  space.results.push_back({{B}, {Q}, {G, R}, {D}});
  space.results.push_back({{B}, {K}, {G}, {D}});
  space.results.push_back({{B}, {K}, {G}, {V}});
  return bindTo(getOperation(), std::move(space));
}

LogicalResult AttentionOp::verify() { return verifyShapes(*this); }
LogicalResult AttentionGradOp::verify() { return verifyShapes(*this); }

/// FLOPs of one q k^T or p v product over the full square.
template <typename Op> static int64_t productFlops(Op op, int64_t depth) {
  Sizes s = sizesOf(op);
  return 2 * s.batch * s.kvHeads * s.group * s.queries * s.keys * depth;
}

int64_t AttentionOp::getFlops() {
  Sizes s = sizesOf(*this);
  return productFlops(*this, s.headDim) + productFlops(*this, s.valueDim);
}

/// Five products: scores again, dv, dp, dq, dk.
int64_t AttentionGradOp::getFlops() {
  Sizes s = sizesOf(*this);
  return 3 * productFlops(*this, s.headDim) + 2 * productFlops(*this, s.valueDim);
}

SmallVector<Value> AttentionOp::buildGradient(OpBuilder &builder, ValueRange gradients) {
  auto gradient = builder.create<AttentionGradOp>(
      getLoc(), TypeRange{getQuery().getType(), getKey().getType(), getValue().getType()}, getQuery(), getKey(),
      getValue(), getMask(), getResult(), getLse(), gradients[0], getScaleAttr(), getCausalAttr(), getWindowAttr());
  SmallVector<Value> results = {gradient.getQueryGradient(), gradient.getKeyGradient(), gradient.getValueGradient()};
  if (getMask())
    results.push_back(Value()); // a trained bias needs its own op: differentiate reports it
  return results;
}

/// Appends batch, position and head strides; the head dim itself must be contiguous.
static bool pushStrides(KernelCall &call, const StridedView &view) {
  if (view.sizes[3] != 1 && view.strides[3] != 1)
    return false;
  for (int dim : {0, 1, 2})
    call.descriptor.push_back(view.strides[dim]);
  return true;
}

template <typename Op> static void pushSizes(KernelCall &call, Op op) {
  Sizes s = sizesOf(op);
  for (int64_t size : {s.batch, s.queries, s.keys, s.kvHeads * s.group, s.kvHeads, s.headDim, s.valueDim})
    call.descriptor.push_back(size);
}

template <typename Op> static void pushMask(KernelCall &call, Op op, const StridedView *mask) {
  for (int dim = 0; dim < 4; ++dim)
    call.descriptor.push_back(mask && mask->sizes[dim] != 1 ? mask->strides[dim] : int64_t(0));
  call.descriptor.push_back(int64_t(op.getCausal()));
  call.descriptor.push_back(int64_t(op.getWindow()));
  call.descriptor.push_back(op.getScale().convertToDouble());
}

FailureOr<KernelCall> AttentionOp::describeKernel(ArrayRef<StridedView> operands, ArrayRef<StridedView> results) {
  if (!elementOf(getResult()).isF32() || !results[1].isDense())
    return failure();
  KernelCall call{"attention_f32", {}, {}};
  pushSizes(call, *this);
  for (const StridedView *view : {&operands[0], &operands[1], &operands[2], &results[0]})
    if (!pushStrides(call, *view))
      return failure();
  call.descriptor.append(12, int64_t(0));
  pushMask(call, *this, getMask() ? &operands[3] : nullptr);
  call.arguments = {{KernelArgument::Operand, 0}, {KernelArgument::Operand, 1}, {KernelArgument::Operand, 2},
                    getMask() ? KernelArgument{KernelArgument::Operand, 3} : KernelArgument{KernelArgument::Null},
                    {KernelArgument::Result, 0}, {KernelArgument::Result, 1}};
  return call;
}

FailureOr<KernelCall> AttentionGradOp::describeKernel(ArrayRef<StridedView> operands,
                                                      ArrayRef<StridedView> results) {
  unsigned rest = getMask() ? 4 : 3;
  if (!elementOf(getQueryGradient()).isF32() || !operands[rest + 1].isDense())
    return failure();
  KernelCall call{"attention_grad_f32", {}, {}};
  pushSizes(call, *this);
  for (const StridedView *view : {&operands[0], &operands[1], &operands[2], &operands[rest], &operands[rest + 2],
                                  &results[0], &results[1], &results[2]})
    if (!pushStrides(call, *view))
      return failure();
  pushMask(call, *this, getMask() ? &operands[3] : nullptr);
  call.arguments = {{KernelArgument::Operand, 0}, {KernelArgument::Operand, 1}, {KernelArgument::Operand, 2},
                    getMask() ? KernelArgument{KernelArgument::Operand, 3} : KernelArgument{KernelArgument::Null},
                    {KernelArgument::Operand, rest}, {KernelArgument::Operand, rest + 1},
                    {KernelArgument::Operand, rest + 2},
                    {KernelArgument::Result, 0}, {KernelArgument::Result, 1}, {KernelArgument::Result, 2}};
  return call;
}

} // namespace echelon::graph

// SPDX-License-Identifier: Apache-2.0
//
// einsum: named contraction. The gradient swaps the result's name list with the operand's.
#include "dialects/graph/builders.h"

using namespace mlir;
using namespace llvm;

#define GET_OP_CLASSES
#include "dialects/graph/contraction.cpp.inc"

namespace echelon::graph {

void addContractionOps(GraphDialect &dialect) {
  dialect.addFamilyOps<
#define GET_OP_LIST
#include "dialects/graph/contraction.cpp.inc"
      >();
}

/// "lhs, rhs -> result" of a spec.
static std::array<StringRef, 3> splitSpec(StringRef spec) {
  auto [operands, result] = spec.split("->");
  auto [lhs, rhs] = operands.split(',');
  return {lhs.trim(), rhs.trim(), result.trim()};
}

/// A scalar result still is one tensor: the parser reads an empty list as none.
static Expected<IterationSpace> parseSpec(StringRef spec) {
  Expected<IterationSpace> space = IterationSpace::parse(spec);
  if (space && space->results.empty())
    space->results.emplace_back();
  return space;
}

FailureOr<IterationSpace> EinsumOp::getIterationSpace() {
  return bindIterationSpace(getOperation(), parseSpec(getSpec()));
}

Operation *EinsumOp::buildLocal(OpBuilder &builder, ValueRange operands, ArrayRef<int64_t> sizes, std::string &why) {
  return cloneLocal(getOperation(), builder, operands, sizes, why);
}

LogicalResult EinsumOp::verify() {
  Expected<IterationSpace> space = parseSpec(getSpec());
  if (!space)
    return emitOpError("spec '") << getSpec() << "': " << toString(space.takeError());
  if (space->operands.size() != 2 || space->results.size() != 1)
    return emitOpError("spec '") << getSpec() << "' must have two operands and one result";
  SmallVector<unsigned> uses(space->names.size(), 0);
  for (const SpaceTensor *tensor : {&space->operands[0], &space->operands[1], &space->results[0]}) {
    SmallVector<bool> here(space->names.size(), false);
    for (const SpaceDim &dim : *tensor) {
      if (dim.size() != 1)
        return emitOpError("spec '") << getSpec() << "' may not group dims";
      if (std::exchange(here[dim[0]], true))
        return emitOpError("name '") << space->names[dim[0]].text << "' stands twice in one tensor";
      ++uses[dim[0]];
    }
  }
  for (auto [index, count] : enumerate(uses))
    if (count < 2)
      return emitOpError("name '") << space->names[index].text << "' stands in one tensor only";
  return verifyIterationSpace(getOperation());
}

SmallVector<Value> EinsumOp::buildGradient(OpBuilder &builder, ValueRange gradients) {
  GraphBuilder g(builder, getLoc());
  auto [lhs, rhs, result] = splitSpec(getSpec());
  Value dLhs = g.einsum((result + ", " + rhs + " -> " + lhs).str(), gradients[0], getRhs());
  Value dRhs = g.einsum((lhs + ", " + result + " -> " + rhs).str(), getLhs(), gradients[0]);
  return {dLhs, dRhs};
}

namespace {
/// Names by the role that GEMM gives them, each in the result's order (k: in lhs order).
struct ContractionRoles {
  SmallVector<unsigned> batch, m, n, k;
};
} // namespace

static int dimOf(const SpaceTensor &tensor, unsigned name) {
  for (auto [index, dim] : enumerate(tensor))
    if (dim[0] == name)
      return index;
  return -1;
}

static ContractionRoles rolesOf(const IterationSpace &space) {
  ContractionRoles roles;
  for (const SpaceDim &dim : space.results[0]) {
    bool left = dimOf(space.operands[0], dim[0]) >= 0, right = dimOf(space.operands[1], dim[0]) >= 0;
    (left && right ? roles.batch : left ? roles.m : roles.n).push_back(dim[0]);
  }
  for (const SpaceDim &dim : space.operands[0])
    if (space.isReduction(dim[0]))
      roles.k.push_back(dim[0]);
  return roles;
}

/// (size, stride) of the names of `tensor` merged into one dim.
static std::optional<std::pair<int64_t, int64_t>> mergeNames(const StridedView &view, const SpaceTensor &tensor,
                                                             ArrayRef<unsigned> names) {
  SmallVector<unsigned> dims;
  for (unsigned name : names)
    dims.push_back(dimOf(tensor, name));
  return view.merge(dims);
}

FailureOr<KernelCall> EinsumOp::describeKernel(ArrayRef<StridedView> operands, ArrayRef<StridedView> results) {
  FailureOr<IterationSpace> space = getIterationSpace();
  if (failed(space) || !elementOf(getResult()).isF32())
    return failure();
  const StridedView &a = operands[0], &b = operands[1], &c = results[0];
  const SpaceTensor &aDims = space->operands[0], &bDims = space->operands[1], &cDims = space->results[0];
  ContractionRoles roles = rolesOf(*space);

  // Up to two batch loops: leading batch names merge where all three tensors allow it.
  struct Loop { int64_t size = 1, a = 0, b = 0, c = 0; };
  SmallVector<Loop> batch;
  for (unsigned name : roles.batch) {
    Loop loop{space->names[name].size, a.strides[dimOf(aDims, name)], b.strides[dimOf(bDims, name)],
              c.strides[dimOf(cDims, name)]};
    if (loop.size == 1)
      continue;
    if (!batch.empty() && batch.back().a == loop.a * loop.size && batch.back().b == loop.b * loop.size &&
        batch.back().c == loop.c * loop.size)
      batch.back() = Loop{batch.back().size * loop.size, loop.a, loop.b, loop.c};
    else
      batch.push_back(loop);
  }
  if (batch.size() > 2)
    return failure();
  batch.resize(2);

  auto aM = mergeNames(a, aDims, roles.m), cM = mergeNames(c, cDims, roles.m);
  auto bN = mergeNames(b, bDims, roles.n), cN = mergeNames(c, cDims, roles.n);
  auto aK = mergeNames(a, aDims, roles.k), bK = mergeNames(b, bDims, roles.k);
  if (!aM || !cM || !bN || !cN || !aK || !bK)
    return failure();
  int64_t n = bN->first, m = aM->first;
  if (!(cN->second == 1 || cM->second == 1 || n == 1 || m == 1))
    return failure();
  // A dim of one element has no stride of its own; give the result the unit stride that the kernel asks for.
  int64_t cmStride = cM->second, cnStride = cN->second;
  if (cmStride != 1 && cnStride != 1)
    (n == 1 ? cnStride : cmStride) = 1;
  KernelCall call{"contraction_f32", {}, {}};
  call.descriptor.assign({batch[0].size, batch[1].size, m, n, aK->first,
                          batch[0].a, batch[1].a, aM->second, aK->second,
                          batch[0].b, batch[1].b, bK->second, bN->second,
                          batch[0].c, batch[1].c, cmStride, cnStride, int64_t(0)});
  call.arguments = {{KernelArgument::Operand, 0}, {KernelArgument::Operand, 1}, {KernelArgument::Null},
                    {KernelArgument::Result, 0}};
  return call;
}

/// lhs: batch, m, k; rhs: batch, k, n; result: batch, m, n. Then each group merges into one dim.
SmallVector<SmallVector<int64_t>> EinsumOp::getDenseOrders() {
  FailureOr<IterationSpace> space = getIterationSpace();
  if (failed(space))
    return {};
  ContractionRoles roles = rolesOf(*space);
  auto order = [](const SpaceTensor &tensor, std::initializer_list<ArrayRef<unsigned>> groups) {
    SmallVector<int64_t> dims;
    for (ArrayRef<unsigned> group : groups)
      for (unsigned name : group)
        dims.push_back(dimOf(tensor, name));
    return dims;
  };
  return {order(space->operands[0], {roles.batch, roles.m, roles.k}),
          order(space->operands[1], {roles.batch, roles.k, roles.n}),
          order(space->results[0], {roles.batch, roles.m, roles.n})};
}

} // namespace echelon::graph

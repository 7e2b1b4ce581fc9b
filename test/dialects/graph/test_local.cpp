// SPDX-License-Identifier: Apache-2.0
//
// Local forms for the tests of the graph families: reads a module and, for each op with `test.local = {b = 2 : i64}`,
// builds the op that one device runs when dim b has 2 elements and the other dims keep theirs. Prints the iteration
// space and the local op on operands %0, %1, .., or why the op cannot be cut.
#include "dialects/graph/graph_dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using echelon::IterationSpace;
using echelon::graph::IterationSpaceOpInterface;

namespace {

constexpr llvm::StringLiteral kAttribute = "test.local";

/// The size of each name of the space under the attribute; fails on a name that the space lacks.
FailureOr<SmallVector<int64_t>> localSizes(Operation *op, const IterationSpace &space, DictionaryAttr wanted) {
  SmallVector<int64_t> sizes;
  for (const IterationSpace::Name &name : space.names)
    sizes.push_back(name.size);
  for (NamedAttribute entry : wanted) {
    const auto *name = llvm::find_if(space.names, [&](const auto &one) { return one.text == entry.getName(); });
    if (name == space.names.end())
      return op->emitError() << "no dim '" << entry.getName().getValue() << "' in '" << space.str() << "'", failure();
    sizes[name - space.names.begin()] = cast<IntegerAttr>(entry.getValue()).getInt();
  }
  return sizes;
}

LogicalResult printLocal(Operation *op, DictionaryAttr wanted) {
  FailureOr<IterationSpace> space = cast<IterationSpaceOpInterface>(op).getIterationSpace();
  if (failed(space))
    return op->emitError() << "has no iteration space";
  FailureOr<SmallVector<int64_t>> sizes = localSizes(op, *space, wanted);
  if (failed(sizes))
    return failure();
  llvm::outs() << "space: " << space->str() << "\n";

  // A module of its own, so that the operands print as %0, %1, ..
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(op->getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(scratch->getBody());
  SmallVector<Value> operands;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    auto type = cast<RankedTensorType>(operand.getType()).clone(space->shapeOf(space->operands[index], *sizes));
    operands.push_back(
        builder.create<UnrealizedConversionCastOp>(op->getLoc(), TypeRange(type), ValueRange()).getResult(0));
  }
  std::string why;
  Operation *local = cast<IterationSpaceOpInterface>(op).buildLocal(builder, operands, *sizes, why);
  if (!local) {
    llvm::outs() << "cannot be cut: " << why << "\n";
    return success();
  }
  local->removeAttr(kAttribute);
  llvm::outs() << "local: ";
  local->print(llvm::outs(), OpPrintingFlags().assumeVerified()); // variables are not in the scratch module
  llvm::outs() << "\n";
  return verify(local, /*verifyRecursively=*/false);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: echelon-test-local FILE.mlir\n";
    return 2;
  }
  DialectRegistry registry;
  registry.insert<echelon::graph::GraphDialect, func::FuncDialect>();
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  WalkResult walk = module->walk([&](Operation *op) {
    auto wanted = op->getAttrOfType<DictionaryAttr>(kAttribute);
    return wanted && failed(printLocal(op, wanted)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return walk.wasInterrupted() ? 1 : 0;
}

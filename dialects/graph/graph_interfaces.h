// SPDX-License-Identifier: Apache-2.0
//
// The three op interfaces of the graph dialect and the default bodies of their methods.
#ifndef ECHELON_DIALECTS_GRAPH_GRAPH_INTERFACES_H
#define ECHELON_DIALECTS_GRAPH_GRAPH_INTERFACES_H

#include "dialects/graph/iteration_space.h"
#include "dialects/graph/strided_view.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"

namespace echelon::graph {

/// On ops that never need a gradient: comparisons, state, backward and update ops.
template <typename ConcreteOp>
class NonDifferentiable : public mlir::OpTrait::TraitBase<ConcreteOp, NonDifferentiable> {};

/// The shape of a ranked tensor value.
Shape shapeOf(mlir::Value value);

/// Parses `text` with "..." of the rank that fits the op's first ranked operand (or result) and binds sizes.
mlir::FailureOr<IterationSpace> bindIterationSpace(mlir::Operation *op, llvm::StringRef text);
/// Binds sizes of a parsed space from the op's types.
mlir::FailureOr<IterationSpace> bindIterationSpace(mlir::Operation *op, llvm::Expected<IterationSpace> space);
/// As bindIterationSpace, with a diagnostic at the op when the types do not fit.
mlir::LogicalResult verifyIterationSpace(mlir::Operation *op);

int64_t countFlops(mlir::Operation *op, int64_t flopsPerPoint);

/// Clones `op` on `operands` with result shapes from `sizes`.
mlir::Operation *cloneLocal(mlir::Operation *op, mlir::OpBuilder &builder, mlir::ValueRange operands,
                            llvm::ArrayRef<int64_t> sizes, std::string &why);

} // namespace echelon::graph

#include "dialects/graph/graph_interfaces.h.inc"

#endif

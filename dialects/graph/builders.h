// SPDX-License-Identifier: Apache-2.0
//
// Short ways to build graph ops; used by gradients, the importer and passes. Types are inferred from operands.
#ifndef ECHELON_DIALECTS_GRAPH_BUILDERS_H
#define ECHELON_DIALECTS_GRAPH_BUILDERS_H

#include "dialects/graph/graph_dialect.h"

namespace echelon::graph {

class GraphBuilder {
public:
  GraphBuilder(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  mlir::Value unary(UnaryKind kind, mlir::Value input);
  mlir::Value binary(BinaryKind kind, mlir::Value lhs, mlir::Value rhs);
  mlir::Value add(mlir::Value a, mlir::Value b) { return binary(BinaryKind::Add, a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return binary(BinaryKind::Sub, a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return binary(BinaryKind::Mul, a, b); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return binary(BinaryKind::Div, a, b); }
  /// lhs op constant splat.
  mlir::Value scale(mlir::Value input, double factor);
  mlir::Value addScalar(mlir::Value input, double term);
  mlir::Value compare(Predicate predicate, mlir::Value lhs, mlir::Value rhs);
  mlir::Value select(mlir::Value condition, mlir::Value onTrue, mlir::Value onFalse);
  mlir::Value convert(mlir::Value input, mlir::Type element);
  /// A tensor of `like`'s type with every element `value`.
  mlir::Value splat(mlir::Type like, double value);
  /// spec as in graph.einsum.
  mlir::Value einsum(llvm::StringRef spec, mlir::Value lhs, mlir::Value rhs);
  mlir::Value reduce(ReduceKind kind, mlir::Value input, llvm::ArrayRef<int64_t> dims);
  mlir::Value reshape(mlir::Value input, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value input, llvm::ArrayRef<int64_t> permutation);
  /// Input dim i becomes dim dims[i] of `shape`.
  mlir::Value broadcast(mlir::Value input, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);
  /// NumPy broadcasting to `shape`: trailing dims align, size-1 dims repeat.
  mlir::Value broadcastTo(mlir::Value input, llvm::ArrayRef<int64_t> shape);
  /// Repeats a reduced tensor along the dims that were reduced.
  mlir::Value unreduce(mlir::Value input, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);
  mlir::Value slice(mlir::Value input, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> offsets,
                    llvm::ArrayRef<int64_t> strides);
  mlir::Value pad(mlir::Value input, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> offsets,
                  llvm::ArrayRef<int64_t> strides);
  mlir::Value concat(mlir::ValueRange inputs, int64_t dim);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// Element type and shape of a tensor value.
mlir::Type elementOf(mlir::Value value);
/// True if `value` is a constant splat; its value as a double in `splat`.
bool matchSplat(mlir::Value value, double &splat);

} // namespace echelon::graph

#endif

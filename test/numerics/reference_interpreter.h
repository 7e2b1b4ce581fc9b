// SPDX-License-Identifier: Apache-2.0
//
// The graph dialect evaluated in double precision, op by op, from the
// definitions in dialects/graph: the yardstick for gradients (by finite
// differences), fusion, and imported models. Nothing is rounded to the element
// type. Simple on purpose; it shares no code with the kernels.
#ifndef ECHELON_TEST_NUMERICS_REFERENCE_INTERPRETER_H
#define ECHELON_TEST_NUMERICS_REFERENCE_INTERPRETER_H

#include "dialects/graph/graph_dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <vector>

namespace echelon::test {

/// Row-major. Integers and booleans are held as doubles too (exact to 2^53).
struct RefTensor {
  Shape shape;
  std::vector<double> values;
};

using RefVariables = std::map<std::string, RefTensor>;

/// Evaluates all ops of `block` up to its terminator; returns the terminator's
/// operands. `step` is what learning_rate and adam_bias see (0-based).
/// graph.assign and graph.accumulate write to `variables`. Fails on an op that
/// is not of the graph dialect, a missing variable, a bad index or label, and
/// an integer division by zero.
llvm::Expected<std::vector<RefTensor>>
interpret(mlir::Block &block, llvm::ArrayRef<RefTensor> arguments,
          RefVariables &variables, int64_t step = 0);

/// One op on given operands: all of its results.
llvm::Expected<std::vector<RefTensor>>
interpretOp(mlir::Operation &op, llvm::ArrayRef<RefTensor> operands,
            RefVariables &variables, int64_t step = 0);

/// The first values of every variable of the module: files (f32, f64, bf16)
/// relative to `folder`; constant rules. Other rules give zeros.
llvm::Expected<RefVariables> firstValues(mlir::ModuleOp module,
                                         llvm::StringRef folder);

using Tensor = RefTensor;

/// A program that runs function by function over one set of variables.
struct Interpreter {
  RefVariables variables; ///< by symbol name
  int64_t step = 0;       ///< of learning_rate and adam_bias, from 0

  /// Runs a function of one block and returns its results; all arithmetic in
  /// double, whatever the element types. Errors: arguments that do not fit the
  /// function's type, and those of `interpret`.
  llvm::Expected<std::vector<Tensor>> run(mlir::func::FuncOp function,
                                          llvm::ArrayRef<Tensor> arguments);
};

} // namespace echelon::test

#endif

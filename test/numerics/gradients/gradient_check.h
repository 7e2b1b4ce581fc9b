// SPDX-License-Identifier: Apache-2.0
//
// Gradients against central differences. A test writes a function @f of graph
// ops; its results, times fixed random weights, are summed to a scalar L. The
// gradients that the ops' buildGradient makes are evaluated by the reference
// interpreter and compared with differences of L, element by element.
#ifndef ECHELON_TEST_NUMERICS_GRADIENTS_GRADIENT_CHECK_H
#define ECHELON_TEST_NUMERICS_GRADIENTS_GRADIENT_CHECK_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "test/numerics/reference_interpreter.h"
#include <functional>
#include <map>
#include <random>

namespace echelon::test {

/// Reproducible values.
class Draw {
public:
  explicit Draw(unsigned seed = 1) : generator(seed) {}
  /// Uniform in [low, high), no magnitude below `hole`.
  Tensor uniform(llvm::ArrayRef<int64_t> shape, double low = -1,
                 double high = 1, double hole = 0);
  /// Multiples of `gap`, all different, in random order, centred at 0.
  Tensor distinct(llvm::ArrayRef<int64_t> shape, double gap = 0.1);

private:
  std::mt19937_64 generator;
};

/// How arguments of @f are made; integers must be given.
struct Inputs {
  double low = -1, high = 1, hole = 0;
  std::map<unsigned, Tensor> given;
};

/// A parsed module and its context; fails the running test on a parse error.
struct Program {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  explicit Program(const std::string &text);
  mlir::func::FuncOp function(llvm::StringRef name);
  /// Runs a function; fails the running test on an error.
  std::vector<Tensor> run(Interpreter &interpreter, llvm::StringRef name,
                          llvm::ArrayRef<Tensor> arguments);
};

/// Gradients of sum(resultGradients . results) for every argument of @f: an
/// argument without a gradient gets zeros. One resultGradient a float result.
/// They are computed twice, as built and after the canonicalizer, and must
/// agree.
std::vector<Tensor> gradientsOf(const std::string &text,
                                llvm::ArrayRef<Tensor> arguments,
                                llvm::ArrayRef<Tensor> resultGradients);

/// The derivative of `loss` for `value`, which `loss` reads: central
/// differences of steps h and h/2, extrapolated. With h = 1e-3 the truncation
/// is h^4/480 |f'''''| = 2e-15 |f'''''|; rounding is a few eps |L| / h, 1e-12
/// |L|.
double difference(double &value, const std::function<double()> &loss);

/// Compares a gradient with differences: |g - d| <= 1e-10 max(1, |g|, |L|),
/// two digits above what `difference` may err by (measured: below 1e-11).
void expectDifferences(const std::string &what, std::vector<double> &values,
                       const std::vector<double> &gradient,
                       const std::function<double()> &loss);

/// The whole check of @f for all its float arguments.
void checkGradient(const std::string &text, const Inputs &inputs = {});

/// "2x3x" of a shape, as in tensor<2x3xf64>.
std::string dims(llvm::ArrayRef<int64_t> shape);
/// "tensor<2x3xf64>".
std::string tensorType(llvm::ArrayRef<int64_t> shape,
                       llvm::StringRef element = "f64");

} // namespace echelon::test

#endif

// SPDX-License-Identifier: Apache-2.0
//
// A function of graph ops, fused, compiled to a shared object through the product's own code generator, and run.
#ifndef ECHELON_TEST_NUMERICS_FUSED_PROGRAM_H
#define ECHELON_TEST_NUMERICS_FUSED_PROGRAM_H

#include "dialects/graph/graph_dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/abi/abi.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace echelon::test {

/// A tensor in memory: `data` holds elements of the type's memory form under `strides`.
struct Memory {
  std::vector<char> data;
  llvm::SmallVector<int64_t> strides;
};

struct ProgramOptions {
  bool accumulate = false; // results of the function are added to what stands in their memory
  bool inPlace = false;    // results take the memory of arguments of their type, in order
  int workers = 1;
  /// Strides of an argument or a result, by number; dense where absent.
  std::map<unsigned, llvm::SmallVector<int64_t>> argumentStrides, resultStrides;
};

class FusedProgram {
public:
  /// `text`: one function @f of graph ops. Fails the running test on any error.
  FusedProgram(const std::string &text, ProgramOptions options = {});
  ~FusedProgram();

  /// The function as written.
  mlir::func::FuncOp source() { return original; }
  size_t groups() const { return kernels.size(); }
  const std::vector<std::string> &undefinedSymbols() const { return undefined; }

  /// Runs on dense argument values and returns dense results. `before`: first values of accumulated results.
  std::vector<std::vector<double>> run(const std::vector<std::vector<double>> &arguments, double before = 0);
  /// Seconds of the fastest of `repeats` calls of group `index` on the memory of the last run.
  double time(size_t index, int repeats);
  /// Bytes that group `index` reads and writes.
  int64_t traffic(size_t index);

private:
  struct Call {
    mlir::Operation *op;
    void *function;
    std::vector<void *> pointers;
  };
  bool compile();
  bool makeKernels();
  void shareMemory();
  bool link(const std::string &object);
  void runOp(mlir::Operation *op);
  Memory &memory(mlir::Value value);
  void call(Call &call);

  mlir::MLIRContext context;
  ProgramOptions options;
  std::string text;
  mlir::OwningOpRef<mlir::ModuleOp> module, code;
  mlir::func::FuncOp original, fused;
  std::vector<Call> kernels;
  std::vector<std::string> undefined;
  llvm::DenseMap<mlir::Value, std::shared_ptr<Memory>> tensors;
  void *library = nullptr;
  ech_launch launch = {};
};

/// Elements of a tensor to and from doubles.
void writeTensor(Memory &memory, mlir::RankedTensorType type, const std::vector<double> &values);
std::vector<double> readTensor(const Memory &memory, mlir::RankedTensorType type);

} // namespace echelon::test

#endif

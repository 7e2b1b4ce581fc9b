// SPDX-License-Identifier: Apache-2.0
//
// The walk from a Model to a module. A value is *static* when it depends on no
// graph input (sizes are constants once symbols are bound) and *dynamic*
// otherwise. Dynamic nodes become graph ops in order. Static nodes are
// evaluated on the host when something asks for their value, except those on
// the way from a parameter to a place that trains it: they become graph ops.
#ifndef ECHELON_COMPILER_ONNX_GRAPH_IMPORTER_H
#define ECHELON_COMPILER_ONNX_GRAPH_IMPORTER_H

#include "compiler/onnx/importer.h"
#include "compiler/onnx/op_call.h"
#include "compiler/onnx/parameters.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace echelon::onnx_import {

/// Sizes of all graph inputs, in order; throws listing what is unbound.
std::vector<Shape> bindShapes(const Model &model, const ImportOptions &options,
                              ImportReport &report);

/// A tensor without the dims along which it does not change.
struct Compressed {
  HostTensor tensor;
  Shape dims; ///< the kept dims, increasing
};
Compressed compress(const HostTensor &tensor);

/// Whether the node looks at that input's type only, as Shape does.
bool readsTypeOnly(const Node &node, size_t input);

/// The type that the graph computes with in place of `type`.
DataType computeType(DataType type);

class GraphImporter {
public:
  GraphImporter(const Model &model, const ImportOptions &options,
                mlir::MLIRContext &context, ImportReport &report);
  mlir::OwningOpRef<mlir::ModuleOp> run();

  // For ImportCall.
  bool isStatic(int value) const { return !dynamic[value]; }
  /// Static and not derived from a parameter.
  bool isConstant(int value) const {
    return isStatic(value) && !values.count(value) &&
           !parameterRoots.count(value);
  }
  TensorInfo infoOf(int value);
  const HostTensor &hostValue(int value, const Node &user);
  /// `to`: the shape that a constant is written in; others keep their own.
  mlir::Value operand(const Node &node, unsigned index, Position position,
                      llvm::ArrayRef<int64_t> to, mlir::OpBuilder &builder,
                      mlir::Location loc);
  mlir::Value materialize(const HostTensor &tensor, llvm::ArrayRef<int64_t> to,
                          mlir::OpBuilder &builder, mlir::Location loc);
  /// A constant in the graph without its repeated dims.
  struct Written {
    mlir::Value value;
    Shape dims;
    size_t rank; ///< with them
  };
  mlir::Value spread(const Written &constant, llvm::ArrayRef<int64_t> shape,
                     mlir::OpBuilder &builder, mlir::Location loc);
  mlir::Value removedBias(const Node &node, int64_t size, DataType type,
                          mlir::OpBuilder &builder, mlir::Location loc);
  void define(int value, mlir::Value result) { values[value] = result; }
  mlir::Location locationOf(const Node &node);
  bool honoursDropout() const { return options.honoursDropout; }

  const Model &model;
  llvm::DenseMap<int, std::vector<mlir::Value>> sequences;
  llvm::DenseMap<mlir::Value, mlir::Value> logSoftmaxInputs;

private:
  void findNeeded();
  void findDynamic();
  void checkOps();
  void importNode(int index);
  void addInputs(mlir::Block &block);
  mlir::Value importOutput(const GraphOutput &output);
  void checkOutput(const GraphOutput &output, mlir::Value value);
  /// A message: `reader` uses a result that its producer did not make.
  std::string missingResult(int value, const std::string &reader) const;
  bool lacksData(int value);
  /// The type of a static value behind views only, without evaluating it: a
  /// transposed weight is large and rarely needed as a constant.
  std::optional<TensorInfo> viewInfo(int value);
  void evaluate(int value, const Node &user);
  void foldNode(int index, const Node &user);
  /// Imports the static nodes between the roots and `value`.
  void importStaticPath(int value, llvm::ArrayRef<RootUse> roots);
  mlir::Value readParameter(const RootUse &use, Position position,
                            const Node &frontier, mlir::OpBuilder &builder,
                            mlir::Location loc);

  const ImportOptions &options;
  ImportReport &report;
  mlir::MLIRContext &context;
  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  OpTable table;
  std::vector<const OpRow *> rowOf; ///< by node
  std::vector<bool> needed;         ///< by node
  std::vector<bool> dynamic;        ///< by value
  std::vector<Shape> inputShapes;
  Parameters parameters;
  llvm::DenseMap<int, mlir::Value> values; ///< dynamic and trained ones
  llvm::DenseMap<int, HostTensor> folded;
  llvm::DenseMap<int, Written> written;      ///< by value
  llvm::DenseMap<int, TensorInfo> viewInfos; ///< by value
  llvm::DenseSet<int> parameterRoots; ///< tensors' values that are parameters
  /// Roles of roots behind static nodes, by (tensor's value, reader).
  std::map<std::pair<int, int>, std::string> rootRoles;
  llvm::DenseMap<int, mlir::Value> reads; ///< by parameter
  int64_t foldedBytes = 0;
};

} // namespace echelon::onnx_import

#endif

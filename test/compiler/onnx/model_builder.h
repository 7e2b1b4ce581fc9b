// SPDX-License-Identifier: Apache-2.0
//
// Small ONNX models for tests, written to a temporary folder and imported.
#ifndef ECHELON_TEST_COMPILER_ONNX_MODEL_BUILDER_H
#define ECHELON_TEST_COMPILER_ONNX_MODEL_BUILDER_H

#include "compiler/onnx/importer.h"
#include "dialects/graph/graph_dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "test/numerics/reference_interpreter.h"
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

namespace echelon::test {

using Strings = std::vector<std::string>;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

class ModelBuilder {
public:
  explicit ModelBuilder(int64_t opset = 17, int64_t irVersion = 8);

  /// A float input; a dim of -1 is a symbol `<name>_<dim>`.
  void input(const std::string &name, const Ints &dims,
             int type = onnx::TensorProto::FLOAT);
  void output(const std::string &name);
  void initializer(const std::string &name, const Ints &dims,
                   const Floats &values);
  void integers(const std::string &name, const Ints &dims, const Ints &values);
  onnx::NodeProto &node(const std::string &type, const Strings &inputs,
                        const Strings &outputs, const std::string &name = "");
  /// Node metadata as the dynamo exporter writes it (field 9).
  static void metadata(onnx::NodeProto &node, const std::string &key,
                       const std::string &value);
  static void set(onnx::NodeProto &node, const std::string &name,
                  int64_t value);
  static void set(onnx::NodeProto &node, const std::string &name,
                  const Ints &values);
  static void set(onnx::NodeProto &node, const std::string &name,
                  const std::string &value);

  onnx::ModelProto model;
  onnx::GraphProto &graph;
};

/// The result of one import: a module, or a message.
class Imported {
public:
  explicit Imported(const onnx::ModelProto &model,
                    const ImportOptions &options = {});
  explicit Imported(const std::string &path, const ImportOptions &options = {});
  ~Imported();

  bool good() const { return bool(module); }
  /// Names of the parameters, in order.
  Strings parameters();
  graph::VariableOp parameter(const std::string &name);
  int count(const std::string &op);
  /// Runs `forward` in double precision on the given values of its arguments.
  std::vector<RefTensor> run(const std::vector<std::vector<double>> &arguments);
  bool decided(const std::string &part) const;

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ImportReport report;
  std::string error;
  std::string folder; ///< of the written model, removed at the end

private:
  void import(const std::string &path, const ImportOptions &options);
};

/// A fresh temporary folder.
std::string temporaryFolder();
void writeText(const std::string &path, const std::string &bytes);

} // namespace echelon::test

#endif

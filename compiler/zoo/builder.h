// SPDX-License-Identifier: Apache-2.0
//
// Building an ONNX graph node by node under readable, unique names: scopes
// (`h.0/attn`) prefix node names, constants are shared by value, parameters are
// declared with the rule of their first values.
#ifndef ECHELON_COMPILER_ZOO_BUILDER_H
#define ECHELON_COMPILER_ZOO_BUILDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <onnx/onnx_pb.h>
#include <string>
#include <vector>

namespace echelon::zoo {

/// A parameter and its first values: constant `mean` where `std` is 0, else
/// normal.
struct Parameter {
  std::string name;
  std::vector<int64_t> shape;
  double mean = 0;
  double std = 0;

  int64_t elements() const;
};

/// The name of a value in the graph.
using Value = std::string;

class GraphBuilder {
public:
  explicit GraphBuilder(onnx::GraphProto &graph) : graph(graph) {}

  /// Sets the prefix of the following nodes' names.
  void enter(std::string newScope) { scope = std::move(newScope); }

  /// Declares a parameter; the returned value is its name.
  Value parameter(std::string name, std::vector<int64_t> shape, double mean,
                  double std);

  /// Adds a node with one result. Its name is `<scope>/<type>`, with `_1`,
  /// `_2`, ... when that is taken.
  Value node(const char *type, llvm::ArrayRef<Value> inputs);
  /// The same with `count` results.
  std::vector<Value> nodes(const char *type, llvm::ArrayRef<Value> inputs,
                           int count);

  /// Attributes of the node added last.
  void attribute(const char *name, int64_t value);
  void attribute(const char *name, float value);
  void attribute(const char *name, llvm::ArrayRef<int64_t> values);

  /// Constants, one Constant node for each distinct value.
  Value scalar(float value);
  Value boolean(bool value);
  Value integer(int64_t value);
  Value integers(llvm::ArrayRef<int64_t> values);
  /// A float table under its own name (row-major).
  Value table(const char *name, llvm::ArrayRef<int64_t> shape,
              llvm::ArrayRef<float> values);

  Value transpose(const Value &input, llvm::ArrayRef<int64_t> permutation);
  Value reshape(const Value &input, llvm::ArrayRef<int64_t> shape);

  /// Renames the result of the node added last.
  void nameResult(const char *name);

  const std::vector<Parameter> &parameters() const { return declared; }

private:
  onnx::NodeProto &lastNode();
  Value constant(const std::string &name, const onnx::TensorProto &tensor);

  onnx::GraphProto &graph;
  std::string scope;
  std::map<std::string, int> uses;        ///< of a node name
  std::map<std::string, Value> constants; ///< by node name
  std::vector<Parameter> declared;
};

} // namespace echelon::zoo

#endif

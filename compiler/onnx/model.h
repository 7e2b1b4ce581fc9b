// SPDX-License-Identifier: Apache-2.0
//
// An ONNX model after loading: functions inlined, values numbered, nodes in
// topological order, Constant nodes turned into tensors. Sizes may be symbols.
#ifndef ECHELON_COMPILER_ONNX_MODEL_H
#define ECHELON_COMPILER_ONNX_MODEL_H

#include "compiler/onnx/host_tensor.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"
#include <deque>
#include <map>
#include <memory>
#include <onnx/onnx_pb.h>
#include <optional>

namespace echelon::onnx_import {

/// Where the bytes of a tensor are. Path "" is the model file.
struct DataPlace {
  std::string path;
  uint64_t offset = 0;
  uint64_t length = 0;
};

/// First values by rule (`echelon:init` external data).
struct InitRule {
  enum class Kind { Constant, Normal, Uniform } kind = Kind::Constant;
  double a = 0, b = 0; ///< as #graph.init
};

/// An initializer or the value of a Constant node.
struct Tensor {
  std::string name;
  bool isInitializer = true;
  int node = -1;     ///< file index of the Constant node
  HostTensor values; ///< data is null if there is only a rule
  std::optional<DataPlace> place;
  std::optional<InitRule> rule;
};

struct Node {
  const onnx::NodeProto *proto = nullptr;
  std::string name; ///< never empty
  std::string op;
  std::string domain;  ///< "" for ai.onnx
  int64_t version = 0; ///< opset of its domain in force
  int fileIndex = 0;   ///< of the node, or of the call it was inlined from
  std::vector<int> inputs, outputs; ///< value numbers, -1: absent
  std::map<std::string, std::string> metadata;
};

struct ModelValue {
  std::string name;
  int producer = -1; ///< node
  int output = 0;    ///< which result of it
  int tensor = -1;
  int input = -1;
};

struct GraphInput {
  struct Dim {
    int64_t size = -1; ///< -1: symbol
    std::string symbol;
  };
  std::string name;
  int value = -1;
  DataType type = DataType::F32;
  std::vector<Dim> dims;
};

struct GraphOutput {
  std::string name;
  int value = -1;
  std::optional<std::vector<GraphInput::Dim>> dims;
};

struct Model {
  std::string path, fileName, folder;
  std::string producer;
  int64_t irVersion = 0;
  int64_t opset = 0;
  std::shared_ptr<llvm::MemoryBuffer> file;
  std::shared_ptr<onnx::ModelProto> proto;
  std::deque<onnx::NodeProto> inlined; ///< nodes made by inlining
  std::vector<Node> nodes;
  std::vector<ModelValue> values;
  std::vector<Tensor> tensors;
  std::vector<GraphInput> inputs;
  std::vector<GraphOutput> outputs;
  std::vector<std::string> notes; ///< for the report

  /// `node "x" (model.onnx, node 7)`.
  std::string describe(const Node &node) const;
};

/// Reads, checks and orders a model; throws ImportFailure.
Model loadModel(llvm::StringRef path);

/// One node of the flat graph before its values are numbered.
struct FlatNode {
  const onnx::NodeProto *proto;
  int fileIndex;
  std::string name;
  int64_t version;
  std::string domain;
};

/// Replaces calls of model functions by their bodies: values and node names get
/// the call's name as prefix, attribute references the call's attributes.
/// Nodes that had to be changed live in `model.inlined`.
std::vector<FlatNode> inlineFunctions(Model &model);

/// Fills `tensor.values` and `place` from the proto. `payload` is where its
/// bytes lie in the model file, if known.
class TensorReader {
public:
  explicit TensorReader(const Model &model) : model(model) {}
  Tensor read(const onnx::TensorProto &proto, const DataPlace *payload,
              const llvm::Twine &where);

private:
  void readExternal(const onnx::TensorProto &proto, Tensor &tensor,
                    const std::string &where);
  std::shared_ptr<llvm::MemoryBuffer> open(llvm::StringRef location,
                                           const std::string &where);

  const Model &model;
  llvm::StringMap<std::shared_ptr<llvm::MemoryBuffer>> files;
};

/// Stable topological order of the nodes; a cycle is an error that names its
/// nodes.
void sortNodes(Model &model);

} // namespace echelon::onnx_import

#endif

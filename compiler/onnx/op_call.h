// SPDX-License-Identifier: Apache-2.0
//
// What an op's import and fold functions see of their node: attributes,
// constant inputs, values, results. Functions throw ImportFailure by fail().
#ifndef ECHELON_COMPILER_ONNX_OP_CALL_H
#define ECHELON_COMPILER_ONNX_OP_CALL_H

#include "compiler/onnx/model.h"
#include "dialects/graph/builders.h"
#include <optional>

namespace echelon::onnx_import {

/// A tensor's type: all that Shape, Size and CastLike read.
struct TensorInfo {
  DataType type;
  Shape shape;
};

class OpCall {
public:
  OpCall(const Model &model, const Node &node) : model(model), node(node) {}
  virtual ~OpCall() = default;

  bool has(unsigned index) const {
    return index < node.inputs.size() && node.inputs[index] >= 0;
  }
  bool wants(unsigned output) const {
    return output < node.outputs.size() && node.outputs[output] >= 0;
  }
  /// Throws `<node>: <message>`.
  [[noreturn]] void fail(const llvm::Twine &message) const;
  /// Throws if input `index` is absent.
  void require(unsigned index) const;

  int64_t intAttr(llvm::StringRef name, int64_t whenAbsent) const;
  double floatAttr(llvm::StringRef name, double whenAbsent) const;
  std::string textAttr(llvm::StringRef name, llvm::StringRef whenAbsent) const;
  std::optional<Shape> intsAttr(llvm::StringRef name) const;
  const onnx::TensorProto *tensorAttr(llvm::StringRef name) const;

  /// Type of an input, constant or not.
  virtual TensorInfo info(unsigned index) = 0;
  /// Value of an input that must be a constant.
  virtual const HostTensor &constant(unsigned index) = 0;
  virtual bool isConstant(unsigned index) = 0;
  /// A constant input's elements.
  Shape ints(unsigned index);
  /// Integers given by input `index` or, in older opsets, by an attribute.
  std::optional<Shape> intsAt(unsigned index, llvm::StringRef attribute);

  /// `axis` counted from the front; throws when outside the rank.
  int64_t axis(int64_t axis, int64_t rank) const;
  Shape axes(llvm::ArrayRef<int64_t> axes, int64_t rank) const;

  const Model &model;
  const Node &node;

private:
  const onnx::AttributeProto *find(llvm::StringRef name) const;
};

/// Evaluating a node on the host.
class FoldCall : public OpCall {
public:
  FoldCall(const Model &model, const Node &node,
           std::vector<const HostTensor *> inputs,
           std::vector<TensorInfo> infos)
      : OpCall(model, node), inputs(std::move(inputs)), infos(std::move(infos)),
        results(node.outputs.size()) {}

  TensorInfo info(unsigned index) override {
    require(index);
    return infos[index];
  }
  const HostTensor &constant(unsigned index) override {
    require(index);
    if (!inputs[index])
      fail("input " + llvm::Twine(index) + " must be a constant");
    return *inputs[index];
  }
  bool isConstant(unsigned) override { return true; }
  void set(unsigned output, HostTensor value) {
    if (output < results.size())
      results[output] = std::move(value);
  }

  std::vector<const HostTensor *> inputs; ///< null: only its type is known
  std::vector<TensorInfo> infos;
  std::vector<std::optional<HostTensor>> results;
};

class GraphImporter;

/// What a constant operand is at that place of an op.
enum class Position {
  Other,     ///< never a parameter by itself
  Weight,    ///< operand of a contraction
  Bias,      ///< bias input of Gemm or Conv
  Norm,      ///< scale or shift of a normalization op
  Embedding, ///< table of a gather
  Add,       ///< term of a sum: bias, position embedding, or mask
  Mul,       ///< factor: norm scale, or a table such as rotary's
  Concat     ///< class token
};

/// Building graph ops for a node.
class ImportCall : public OpCall {
public:
  ImportCall(GraphImporter &importer, const Node &node,
             mlir::OpBuilder &builder, mlir::Location loc);

  TensorInfo info(unsigned index) override;
  const HostTensor &constant(unsigned index) override;
  bool isConstant(unsigned index) override;
  Shape shape(unsigned index) { return info(index).shape; }
  DataType type(unsigned index) { return info(index).type; }

  /// The input as a value: a parameter's read, a constant op, a result. A
  /// constant that stands at a parameter's position becomes a parameter.
  mlir::Value value(unsigned index, Position position = Position::Other);
  /// The same, broadcast to `shape` as NumPy does.
  mlir::Value value(unsigned index, llvm::ArrayRef<int64_t> shape,
                    Position position = Position::Other);
  /// A host tensor as a value.
  mlir::Value materialize(const HostTensor &tensor);
  /// If the input is a constant with all elements equal: that element.
  std::optional<double> splat(unsigned index);
  /// A parameter of zeros in place of a bias that the exporter removed, or
  /// null.
  mlir::Value removedBias(int64_t size);

  void set(unsigned output, mlir::Value value);
  /// A result that is a list of tensors.
  void setSequence(unsigned output, std::vector<mlir::Value> values);
  const std::vector<mlir::Value> &sequence(unsigned index);

  /// Throws unless these inputs (those that are present) are floats of one
  /// type.
  void requireFloats(std::initializer_list<unsigned> inputs);
  /// Marks `value` as log_softmax(logits) over the last dim.
  void noteLogSoftmax(mlir::Value value, mlir::Value logits);
  mlir::Value logitsOf(mlir::Value logSoftmax);
  /// The spec's `dropout`.
  bool honoursDropout() const;

  GraphImporter &importer;
  graph::GraphBuilder g;
};

/// NumPy's common shape; throws naming `where`.
Shape commonShape(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b,
                  const OpCall &call);

using ImportFunction = void (*)(ImportCall &);
using FoldFunction = void (*)(FoldCall &);

/// One row: how an op is imported and folded from a version on, up to the next
/// row of the same op.
struct OpRow {
  const char *op;
  int64_t sinceVersion;
  ImportFunction import; ///< null: only on constants
  FoldFunction fold;     ///< null: never on constants alone
};

/// All rows, sorted by op and version.
class OpTable {
public:
  OpTable();
  const OpRow *find(const Node &node) const;
  /// Whether any version of the op is known.
  bool knows(llvm::StringRef op) const;

private:
  std::vector<OpRow> rows;
};

llvm::ArrayRef<OpRow> contractionRows();
llvm::ArrayRef<OpRow> elementwiseRows();
llvm::ArrayRef<OpRow> reductionRows();
llvm::ArrayRef<OpRow> normalizationRows();
llvm::ArrayRef<OpRow> attentionRows();
llvm::ArrayRef<OpRow> indexingRows();
llvm::ArrayRef<OpRow> shapeRows();
llvm::ArrayRef<OpRow> lossRows();
llvm::ArrayRef<OpRow> constantRows();

/// The graph dialect's element type for an ONNX type. float16 computes in f32,
/// small integers in i32.
mlir::Type elementType(mlir::Builder &builder, DataType type);

} // namespace echelon::onnx_import

#endif

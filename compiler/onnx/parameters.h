// SPDX-License-Identifier: Apache-2.0
//
// Which constants train, and which of them are one: exporters merge equal
// parameters, store tied ones twice (one transposed), delete zero biases, fold
// views. Every decision is a line of the import report.
#ifndef ECHELON_COMPILER_ONNX_PARAMETERS_H
#define ECHELON_COMPILER_ONNX_PARAMETERS_H

#include "compiler/onnx/importer.h"
#include "compiler/onnx/metadata.h"
#include "compiler/onnx/op_call.h"
#include "llvm/ADT/StringSet.h"

namespace echelon::onnx_import {

/// A place that reads a tensor directly.
struct RootUse {
  int value = -1; ///< the tensor's value
  int node = -1;  ///< the reader
  unsigned input = 0;
  int identity = -1; ///< output of the Identity it is read through
};

struct Parameter {
  std::string name;
  DataType type = DataType::F32;
  Shape shape;
  std::optional<DataPlace> place;
  std::optional<InitRule> rule;
  std::string role; ///< norm, bias, embedding, weight
  bool trainable = true;
  int value = -1; ///< the tensor that it was read from, -1: a removed bias
  bool isNamedByMetadata = false;
};

/// A parameter and how this use sees it.
struct ParameterUse {
  int parameter = -1;
  bool isTransposed = false;
  /// Copies along dim 0 that the exporter folded in; 0: none.
  int64_t copies = 0;
};

class Parameters {
public:
  Parameters(const Model &model, const ImportOptions &options,
             ImportReport &report);

  /// Reads of tensors from which the static `value`, seen by input `input` of
  /// `node`, is made by differentiable ops.
  std::vector<RootUse> traceRoots(int value, int node, unsigned input) const;

  /// Whether a static operand made of `roots` trains at that position of a
  /// dynamic node. `info` is its type, `host` gives its elements or null if
  /// they are not stored.
  bool isTrained(Position position, llvm::ArrayRef<RootUse> roots,
                 const TensorInfo &info,
                 llvm::function_ref<const HostTensor *()> host) const;

  /// The parameter that a read of a tensor means. `batch`: the batch size, for
  /// constants that were expanded over it.
  ParameterUse resolve(const RootUse &use, Position position,
                       const std::string &role, int64_t batch);
  /// The zero bias that the exporter removed from `node`, -1: none.
  int removedBias(const Node &node, int64_t size, DataType type);

  /// Applies the globs and fills the report; throws on names and globs that
  /// match nothing.
  void finish();

  std::vector<Parameter> all;

private:
  int add(Parameter parameter);
  std::string uniqueName(const std::string &wanted);
  std::string nameFor(const RootUse &use, const FxOperand &fx,
                      bool isSplit) const;
  /// The parameter under `key`; extends the key when its tensor differs.
  std::optional<ParameterUse> findKnown(std::string &key, const RootUse &use);
  /// A parameter under another key that this is one with.
  std::optional<ParameterUse> findEqual(const RootUse &use,
                                        const std::string &name, bool isNamed,
                                        bool isSplit);
  int create(const RootUse &use, const std::string &name,
             const std::string &role, int64_t copies);
  void explain(const RootUse &use, const Parameter &parameter, bool isSplit);
  ParameterUse matchTensor(int parameter, const Tensor &tensor) const;
  std::optional<ParameterUse> findTied(const Tensor &tensor) const;
  std::optional<ParameterUse> findSpecTie(const std::string &name,
                                          const Tensor &tensor);
  bool splitsUses(const RootUse &use) const;
  bool mayTie(const std::string &a, const std::string &b) const;
  int64_t foldedCopies(const Tensor &tensor, Position position,
                       int64_t batch) const;
  const Tensor &tensorOf(const RootUse &use) const {
    return model.tensors[model.values[use.value].tensor];
  }
  void decide(const llvm::Twine &line) {
    report.decisions.push_back(line.str());
  }

  const Model &model;
  const ImportOptions &options;
  ImportReport &report;
  std::vector<int> readers;         ///< by value: how many node inputs read it
  std::vector<std::string> fxNames; ///< by value: a placeholder, or ""
  std::map<std::string, int> byKey;
  llvm::StringSet<> names;       ///< of parameters
  llvm::StringSet<> wantedNames; ///< also those that were tied to another
};

/// Whether a name was made by an exporter, not by a person: `val_12`,
/// `onnx::MatMul_7`, `/h/Constant_output_0`.
bool isGeneratedName(llvm::StringRef name);

} // namespace echelon::onnx_import

#endif

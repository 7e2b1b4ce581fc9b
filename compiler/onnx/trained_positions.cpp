// SPDX-License-Identifier: Apache-2.0
//
// Which static operands train: by the exporter's metadata where there is some,
// else by the place they stand at, their shape, and, against masks, their
// values.
#include "compiler/onnx/parameters.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace llvm;

namespace echelon::onnx_import {

/// Inputs of a static node through which a gradient would flow: a bit mask,
/// ~0u for all.
static unsigned differentiableInputs(StringRef op) {
  return StringSwitch<unsigned>(op)
      .Cases("Identity", "Cast", "CastLike", "Transpose", "Reshape", "Squeeze",
             "Unsqueeze", "Expand", "Flatten", 1u)
      .Cases("Slice", "Split", "SplitToSequence", "SequenceAt", "Tile", "Pad",
             "Gather", "GatherND", "GatherElements", 1u)
      .Cases("Neg", "Exp", "Log", "Sqrt", "Reciprocal", "Sigmoid", "Tanh",
             "Softplus", "Relu", "Softmax", 1u)
      .Cases("ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2",
             "ReduceSumSquare", "Dropout", "Pow", 1u)
      .Cases("Concat", "Add", "Sub", "Mul", "Div", "Sum", "MatMul", "Gemm",
             "Einsum", ~0u)
      .Case("Where", 6u)
      .Default(0);
}

/// A buffer that modules register under these names.
static bool isBufferName(StringRef name) {
  std::string lower = name.lower();
  return any_of(
      ArrayRef<StringRef>{"inv_freq", "cos_cached", "sin_cached", "rotary_emb",
                          "running_mean", "running_var", "masked_bias",
                          "causal_mask", "alibi"},
      [&](StringRef part) { return StringRef(lower).contains(part); });
}

std::vector<RootUse> Parameters::traceRoots(int value, int node,
                                            unsigned input) const {
  std::vector<RootUse> roots;
  std::vector<RootUse> todo{{value, node, input, -1}};
  std::vector<bool> seen(model.nodes.size(), false);
  while (!todo.empty()) {
    RootUse use = todo.back();
    todo.pop_back();
    const ModelValue &current = model.values[use.value];
    if (current.tensor >= 0) {
      const Tensor &tensor = model.tensors[current.tensor];
      if (isFloat(tensor.values.type) && tensor.values.size() > 1)
        roots.push_back(use);
      continue;
    }
    if (current.producer < 0 || seen[current.producer])
      continue;
    seen[current.producer] = true;
    const Node &producer = model.nodes[current.producer];
    unsigned mask = differentiableInputs(producer.op);
    for (auto [index, operand] : enumerate(producer.inputs))
      if (operand >= 0 && (mask == ~0u || (index < 31 && mask >> index & 1)))
        todo.push_back({operand, current.producer, unsigned(index),
                        producer.op == "Identity" ? use.value : -1});
  }
  return roots;
}

static int64_t dimsAboveOne(ArrayRef<int64_t> shape) {
  return count_if(shape, [](int64_t size) { return size != 1; });
}

/// Nothing but 0 and large negative numbers: additive attention masks, from
/// -1e4 (old BERT) to -inf.
static bool isMask(const HostTensor &tensor) {
  bool hidesSome = false;
  for (int64_t i = 0, count = tensor.size(); i < count; ++i) {
    double value = tensor.real(i);
    if (value != 0 && !(value <= -1e4))
      return false;
    hidesSome |= value != 0;
  }
  return hidesSome;
}

/// Metadata's word about a use, over all roots.
static FxOperand::Kind metadataSays(const Model &model,
                                    ArrayRef<RootUse> roots) {
  bool isBuffer = false;
  for (const RootUse &root : roots) {
    FxOperand fx = fxOperand(model.nodes[root.node], root.input,
                             model.values[root.value].name);
    if (fx.kind == FxOperand::Kind::Parameter)
      return fx.kind;
    isBuffer |= fx.kind != FxOperand::Kind::Unknown;
  }
  return isBuffer ? FxOperand::Kind::Buffer : FxOperand::Kind::Unknown;
}

bool Parameters::isTrained(Position position, ArrayRef<RootUse> roots,
                           const TensorInfo &info,
                           function_ref<const HostTensor *()> host) const {
  if (!isFloat(info.type) || roots.empty())
    return false;
  FxOperand::Kind said = metadataSays(model, roots);
  if (said != FxOperand::Kind::Unknown)
    return said == FxOperand::Kind::Parameter;
  auto nameOfRoot = [&](const RootUse &root) -> StringRef {
    return model.values[root.value].name;
  };
  if (all_of(roots, [&](const RootUse &root) {
        return isBufferName(nameOfRoot(root));
      }))
    return false;
  bool isModuleName = any_of(roots, [&](const RootUse &root) {
    return tensorOf(root).isInitializer && nameOfRoot(root).contains('.');
  });
  bool isVector = dimsAboveOne(info.shape) == 1;
  switch (position) {
  case Position::Other:
    return false;
  case Position::Weight:
  case Position::Bias:
  case Position::Norm:
  case Position::Embedding:
    return true;
  case Position::Mul:
    return isVector;
  case Position::Concat:
  case Position::Add: {
    if (isVector && position == Position::Add)
      return true;
    if (elementsOf(info.shape) <= 1)
      return false;
    const HostTensor *values = host();
    if (!values)
      return true;
    if (isMask(*values))
      return false;
    // Equal elements: a position table at its start has a module's name, a mask
    // that hides nothing has not.
    return isModuleName || !values->allEqual();
  }
  }
  return false;
}

} // namespace echelon::onnx_import

// SPDX-License-Identifier: Apache-2.0
//
// Identity of parameters: from a tensor and a place that reads it to the
// variable that trains.
#include "compiler/onnx/parameters.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"
#include <cstring>

using namespace llvm;

namespace echelon::onnx_import {

bool isGeneratedName(StringRef name) {
  StringRef rest = name;
  return name.starts_with("onnx::") || name.starts_with("/") ||
         (rest.consume_front("val_") && all_of(rest, isDigit)) ||
         all_of(name, isDigit) || name.ends_with("_output_0");
}

Parameters::Parameters(const Model &model, const ImportOptions &options,
                       ImportReport &report)
    : model(model), options(options), report(report),
      readers(model.values.size(), 0), fxNames(model.values.size()) {
  for (const Node &node : model.nodes)
    for (auto [index, value] : enumerate(node.inputs)) {
      if (value < 0)
        continue;
      ++readers[value];
      if (model.values[value].tensor < 0 || !fxNames[value].empty())
        continue;
      FxOperand fx = fxOperand(node, index, model.values[value].name);
      if (fx.kind == FxOperand::Kind::Parameter)
        fxNames[value] = fx.placeholder;
    }
}

std::string Parameters::uniqueName(const std::string &wanted) {
  std::string name = wanted;
  for (int suffix = 1; !names.insert(name).second; ++suffix)
    name = wanted + "." + std::to_string(suffix);
  return name;
}

int Parameters::add(Parameter parameter) {
  parameter.name = uniqueName(parameter.name);
  all.push_back(std::move(parameter));
  return int(all.size()) - 1;
}

static bool isTransposeOf(const HostTensor &a, const HostTensor &b) {
  int64_t rows = a.shape[0], columns = a.shape[1], width = bytesOf(a.type);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (std::memcmp(a.data + (i * columns + j) * width,
                      b.data + (j * rows + i) * width, width))
        return false;
  return true;
}

/// How `tensor` shows the parameter: the same, its transpose, or (parameter -1)
/// neither.
ParameterUse Parameters::matchTensor(int parameter,
                                     const Tensor &tensor) const {
  const Parameter &known = all[parameter];
  if (known.value < 0)
    return {};
  const Tensor &other = model.tensors[model.values[known.value].tensor];
  const HostTensor &a = tensor.values, &b = other.values;
  if (&tensor == &other)
    return {parameter, false, 0};
  if (a.type != b.type || !a.data || !b.data || known.shape != b.shape)
    return {};
  if (a.shape == b.shape && !std::memcmp(a.data, b.data, a.bytes()))
    return {parameter, false, 0};
  bool isReversed = a.shape.size() == 2 && b.shape.size() == 2 &&
                    a.shape[0] == b.shape[1] && a.shape[1] == b.shape[0];
  if (isReversed && isTransposeOf(a, b))
    return {parameter, true, 0};
  return {};
}

bool Parameters::mayTie(const std::string &a, const std::string &b) const {
  return none_of(options.split, [&](const std::vector<std::string> &group) {
    return is_contained(group, a) && is_contained(group, b);
  });
}

/// Rule (c): a 2-D weight stored twice, directly or transposed.
std::optional<ParameterUse> Parameters::findTied(const Tensor &tensor) const {
  const HostTensor &values = tensor.values;
  if (values.shape.size() != 2 || !values.data || values.allEqual())
    return std::nullopt;
  for (size_t index = 0; index < all.size(); ++index) {
    if (all[index].shape.size() != 2 || all[index].isNamedByMetadata ||
        !mayTie(all[index].name, tensor.name))
      continue;
    ParameterUse match = matchTensor(int(index), tensor);
    if (match.parameter >= 0)
      return match;
  }
  return std::nullopt;
}

/// Rule (b): without metadata, several uses of a 1-D tensor were several
/// parameters if nothing tells its elements apart.
bool Parameters::splitsUses(const RootUse &use) const {
  const Tensor &tensor = tensorOf(use);
  if (any_of(options.split, [&](const std::vector<std::string> &group) {
        return group.size() == 1 && group[0] == tensor.name;
      }))
    return true;
  return readers[use.value] > 1 && fxNames[use.value].empty() &&
         tensor.values.shape.size() == 1 && tensor.values.data &&
         tensor.values.allEqual();
}

std::string Parameters::nameFor(const RootUse &use, const FxOperand &fx,
                                bool isSplit) const {
  const std::string &own = tensorOf(use).name;
  const Node &node = model.nodes[use.node];
  if (fx.kind == FxOperand::Kind::Parameter) {
    if (!isGeneratedName(own) && mangle(fx.placeholder) == "p_" + mangle(own))
      return own;
    std::string name = unmangle(node, fx.placeholder);
    return name.empty() ? fx.placeholder.substr(2) : name;
  }
  if (isSplit && use.identity >= 0)
    return model.values[use.identity].name;
  if (isSplit && names.contains(own))
    return own + "@" + node.name;
  if (isGeneratedName(own) && use.identity >= 0)
    return model.values[use.identity].name;
  return own;
}

std::optional<ParameterUse> Parameters::findSpecTie(const std::string &name,
                                                    const Tensor &tensor) {
  for (const std::vector<std::string> &group : options.tie) {
    if (!is_contained(group, name))
      continue;
    for (size_t index = 0; index < all.size(); ++index) {
      if (!is_contained(group, all[index].name))
        continue;
      const Shape &a = all[index].shape, &b = tensor.values.shape;
      bool isSame = a == b;
      bool isReversed = a.size() == 2 && Shape(reverse(a)) == b;
      if (!isSame && !isReversed)
        fail("parameters.tie joins '" + all[index].name + "' of shape " +
             textOf(a) + " and '" + name + "' of shape " + textOf(b));
      decide("'" + name + "' is tied to '" + all[index].name +
             "' by parameters.tie");
      return ParameterUse{int(index), !isSame, 0};
    }
  }
  return std::nullopt;
}

/// Rule (e): a constant that repeats one slice along the batch is that slice.
int64_t Parameters::foldedCopies(const Tensor &tensor, Position position,
                                 int64_t batch) const {
  const HostTensor &values = tensor.values;
  if ((position != Position::Add && position != Position::Concat) ||
      values.shape.size() < 2 || values.shape[0] != batch || batch < 2 ||
      !values.data)
    return 0;
  int64_t slice = values.bytes() / batch;
  return std::memcmp(values.data, values.data + slice, values.bytes() - slice)
             ? 0
             : batch;
}

std::optional<ParameterUse> Parameters::findKnown(std::string &key,
                                                  const RootUse &use) {
  auto known = byKey.find(key);
  if (known == byKey.end())
    return std::nullopt;
  const Tensor &tensor = tensorOf(use);
  const std::string &name = all[known->second].name;
  std::string where =
      "'" + tensor.name + "' at " + model.describe(model.nodes[use.node]);
  ParameterUse match = matchTensor(known->second, tensor);
  if (match.parameter >= 0) {
    if (match.isTransposed)
      decide(where + " is the transpose of '" + name + "'");
    return match;
  }
  key += "#" + std::to_string(use.value);
  if (auto again = byKey.find(key); again != byKey.end())
    return ParameterUse{again->second, false, 0};
  decide(where + " is named like '" + name +
         "' but differs from it: the exporter folded something into it; it "
         "trains apart (export with optimize=False to train the source's "
         "parameters)");
  return std::nullopt;
}

std::optional<ParameterUse> Parameters::findEqual(const RootUse &use,
                                                  const std::string &name,
                                                  bool isNamed, bool isSplit) {
  const Tensor &tensor = tensorOf(use);
  // A use without metadata of a tensor that has some elsewhere.
  if (!isNamed && !fxNames[use.value].empty())
    if (auto known = byKey.find("fx:" + fxNames[use.value]);
        known != byKey.end())
      return ParameterUse{known->second, false, 0};
  if (std::optional<ParameterUse> tied = findSpecTie(name, tensor))
    return tied;
  if (isNamed || isSplit)
    return std::nullopt;
  std::optional<ParameterUse> tied = findTied(tensor);
  if (tied)
    decide("'" + tensor.name + "' equals '" + all[tied->parameter].name +
           (tied->isTransposed ? "' transposed" : "'") +
           ": one parameter (parameters.split keeps them apart)");
  return tied;
}

void Parameters::explain(const RootUse &use, const Parameter &parameter,
                         bool isSplit) {
  const Tensor &tensor = tensorOf(use);
  const Node &node = model.nodes[use.node];
  std::string where = "'" + tensor.name + "' at " + model.describe(node);
  if (parameter.isNamedByMetadata && parameter.name != tensor.name)
    decide(where + " is parameter '" + parameter.name +
           "' by the exporter's metadata");
  else if (isSplit)
    decide(where + " has " + Twine(readers[use.value]) +
           " uses and equal elements: here it is parameter '" + parameter.name +
           "' (parameters.tie joins them)");
  else if (!parameter.isNamedByMetadata && !parseFxCall(node).target.empty() &&
           fxNames[use.value].empty())
    decide(where +
           " has no parameter's name in the exporter's metadata: it was "
           "folded from one and trains as it is (export with optimize=False to "
           "train the source's parameters)");
}

int Parameters::create(const RootUse &use, const std::string &name,
                       const std::string &role, int64_t copies) {
  const Tensor &tensor = tensorOf(use);
  if (!tensor.place && !tensor.rule)
    fail("parameter '" + tensor.name + "' at " +
         model.describe(model.nodes[use.node]) +
         " is not stored in one piece in the file; save the model again with "
         "raw or external data");
  Parameter parameter;
  parameter.name = name;
  parameter.type = tensor.values.type;
  parameter.shape = tensor.values.shape;
  parameter.place = tensor.place;
  parameter.rule = tensor.rule;
  parameter.role = role;
  parameter.value = use.value;
  if (copies) {
    parameter.shape[0] = 1;
    parameter.place->length /= uint64_t(copies);
    decide("'" + tensor.name + "' repeats one slice " + Twine(copies) +
           " times along the batch: the slice is the parameter");
  }
  return add(std::move(parameter));
}

ParameterUse Parameters::resolve(const RootUse &use, Position position,
                                 const std::string &role, int64_t batch) {
  const Tensor &tensor = tensorOf(use);
  FxOperand fx = fxOperand(model.nodes[use.node], use.input, tensor.name);
  bool isNamed = fx.kind == FxOperand::Kind::Parameter;
  bool isSplit = !isNamed && splitsUses(use);
  std::string key =
      isNamed ? "fx:" + fx.placeholder : "tensor:" + std::to_string(use.value);
  if (isSplit)
    key += "@" + std::to_string(use.node);
  int64_t copies = foldedCopies(tensor, position, batch);
  std::optional<ParameterUse> found = findKnown(key, use);
  if (!found) {
    std::string name = nameFor(use, fx, isSplit);
    wantedNames.insert(name);
    found = findEqual(use, name, isNamed, isSplit);
    if (found)
      return *found;
    found = ParameterUse{create(use, name, role, copies), false, 0};
    Parameter &parameter = all[found->parameter];
    parameter.isNamedByMetadata = isNamed;
    byKey[key] = found->parameter;
    explain(use, parameter, isSplit);
  }
  found->copies = copies;
  return *found;
}

int Parameters::removedBias(const Node &node, int64_t size, DataType type) {
  std::string placeholder = fxBias(node);
  if (placeholder.empty())
    return -1;
  auto [known, isNew] = byKey.try_emplace("fx:" + placeholder, -1);
  if (!isNew)
    return known->second;
  Parameter parameter;
  parameter.name = unmangle(node, placeholder);
  if (parameter.name.empty())
    parameter.name = placeholder.substr(2);
  parameter.type = type;
  parameter.shape = {size};
  parameter.rule = InitRule{InitRule::Kind::Constant, 0, 0};
  parameter.role = "bias";
  parameter.isNamedByMetadata = true;
  wantedNames.insert(parameter.name);
  known->second = add(std::move(parameter));
  decide("'" + all[known->second].name + "' was removed from " +
         model.describe(node) +
         " by the exporter because it was zero; it is a parameter of zeros "
         "again");
  return known->second;
}

static std::vector<GlobPattern> compile(const std::vector<std::string> &globs,
                                        StringRef key) {
  std::vector<GlobPattern> patterns;
  for (const std::string &glob : globs) {
    Expected<GlobPattern> pattern = GlobPattern::create(glob);
    if (!pattern)
      fail(key + " has the malformed glob '" + glob +
           "': " + toString(pattern.takeError()));
    patterns.push_back(std::move(*pattern));
  }
  return patterns;
}

void Parameters::finish() {
  for (const auto *groups : {&options.tie, &options.split})
    for (const std::vector<std::string> &group : *groups)
      for (const std::string &name : group) {
        bool isTensor = any_of(model.tensors, [&](const Tensor &tensor) {
          return tensor.name == name;
        });
        if (!isTensor && !wantedNames.contains(name))
          fail(Twine("parameters.") +
               (groups == &options.tie ? "tie" : "split") + " names '" + name +
               "', which is no parameter of '" + model.fileName + "'");
      }
  struct {
    const std::vector<std::string> *globs;
    const char *key;
    bool trainable;
  } rules[] = {{&options.trainable, "parameters.trainable", true},
               {&options.frozen, "parameters.frozen", false}};
  for (Parameter &parameter : all)
    parameter.trainable = options.trainable.empty();
  for (auto &rule : rules) {
    std::vector<GlobPattern> patterns = compile(*rule.globs, rule.key);
    for (auto [index, pattern] : enumerate(patterns)) {
      bool matched = false;
      for (Parameter &parameter : all)
        if (pattern.match(parameter.name)) {
          parameter.trainable = rule.trainable;
          matched = true;
        }
      if (!matched)
        fail(Twine(rule.key) + " has '" + (*rule.globs)[index] +
             "', which matches no parameter of '" + model.fileName + "'");
    }
  }
  for (const Parameter &parameter : all)
    report.parameters.push_back(
        parameter.name + " " + textOf(parameter.shape) + " " +
        nameOf(parameter.type) + ", " + parameter.role + ", " +
        (parameter.trainable ? "trainable" : "frozen") +
        (parameter.place ? "" : ", first value by rule"));
}

} // namespace echelon::onnx_import

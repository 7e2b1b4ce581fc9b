// SPDX-License-Identifier: Apache-2.0
//
// Sizes of the graph inputs: a named dim takes its size from the spec, else
// from the batches' shapes, else, as dim 0, from batch.micro. A name may be a
// sum or product of names and numbers (`past + sequence`).
#include "compiler/onnx/graph_importer.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace echelon::onnx_import {

namespace {

struct Binding {
  int64_t size;
  std::string origin;
};

class Binder {
public:
  Binder(const Model &model, const ImportOptions &options)
      : model(model), options(options) {}
  std::vector<Shape> run(ImportReport &report);

private:
  const std::vector<int64_t> *givenShape(const GraphInput &input) const;
  void bind(const std::string &symbol, int64_t size, const std::string &origin);
  void bindFromInput(const GraphInput &input);
  std::optional<int64_t> evaluate(StringRef expression) const;
  std::optional<int64_t> sizeOf(const GraphInput &input, size_t dim) const;

  const Model &model;
  const ImportOptions &options;
  std::map<std::string, Binding> bound;
};

} // namespace

const std::vector<int64_t> *Binder::givenShape(const GraphInput &input) const {
  auto at = options.inputShapes.find(input.name);
  if (at == options.inputShapes.end())
    return nullptr;
  if (at->second.size() != input.dims.size())
    fail("input '" + input.name + "' has rank " + Twine(input.dims.size()) +
         ", but the batches give it shape " + textOf(at->second));
  return &at->second;
}

void Binder::bind(const std::string &symbol, int64_t size,
                  const std::string &origin) {
  if (size < 1)
    fail("symbol '" + symbol + "' is bound to " + Twine(size) + " by " +
         origin + "; it must be at least 1");
  auto [at, isNew] = bound.try_emplace(symbol, Binding{size, origin});
  if (!isNew && at->second.size != size)
    fail("symbol '" + symbol + "' is " + Twine(at->second.size) + " by " +
         at->second.origin + ", but " + Twine(size) + " by " + origin);
}

/// Terms joined by + and -, factors by *; nothing for what it cannot read.
std::optional<int64_t> Binder::evaluate(StringRef expression) const {
  int64_t sum = 0;
  int sign = 1;
  StringRef rest = expression.trim();
  while (!rest.empty()) {
    size_t end = rest.find_first_of("+-");
    SmallVector<StringRef> factors;
    rest.take_front(end).split(factors, '*');
    int64_t product = sign;
    for (StringRef factor : factors) {
      factor = factor.trim();
      int64_t value;
      if (factor.getAsInteger(10, value)) {
        auto at = bound.find(factor.str());
        if (at == bound.end())
          return std::nullopt;
        value = at->second.size;
      }
      if (MulOverflow(product, value, product))
        return std::nullopt;
    }
    if (AddOverflow(sum, product, sum))
      return std::nullopt;
    if (end == StringRef::npos)
      return sum > 0 ? std::optional<int64_t>(sum) : std::nullopt;
    sign = rest[end] == '-' ? -1 : 1;
    rest = rest.drop_front(end + 1).trim();
  }
  return std::nullopt;
}

void Binder::bindFromInput(const GraphInput &input) {
  const std::vector<int64_t> *given = givenShape(input);
  for (auto [index, dim] : enumerate(input.dims)) {
    std::string origin = "dim " + std::to_string(index) + " of input '" +
                         input.name + "' in the batches";
    if (dim.size >= 0) {
      // A baked batch may differ: it is rewritten later.
      if (given && index > 0 && (*given)[index] != dim.size)
        fail("dim " + Twine(index) + " of input '" + input.name + "' is " +
             Twine(dim.size) + " in the model, but " + Twine((*given)[index]) +
             " in the batches; export with a dynamic dim or change the data");
      continue;
    }
    if (dim.symbol.empty() || options.symbols.count(dim.symbol) || !given)
      continue;
    bind(dim.symbol, (*given)[index], origin);
  }
}

std::optional<int64_t> Binder::sizeOf(const GraphInput &input,
                                      size_t dim) const {
  const GraphInput::Dim &declared = input.dims[dim];
  if (declared.size >= 0)
    return declared.size;
  if (!declared.symbol.empty())
    return evaluate(declared.symbol);
  if (const std::vector<int64_t> *given = givenShape(input))
    return (*given)[dim];
  return dim == 0 ? options.micro : std::nullopt;
}

std::vector<Shape> Binder::run(ImportReport &report) {
  for (const auto &[symbol, size] : options.symbols) {
    bool isKnown =
        any_of(model.inputs, [&, &name = symbol](const GraphInput &input) {
          return any_of(input.dims, [&](const GraphInput::Dim &dim) {
            return StringRef(dim.symbol).contains(name);
          });
        });
    if (!isKnown)
      fail("symbols has '" + symbol + "', which is no dim of an input of '" +
           model.fileName + "'");
    bind(symbol, size, "symbols");
  }
  for (const GraphInput &input : model.inputs)
    bindFromInput(input);
  if (options.micro)
    for (const GraphInput &input : model.inputs)
      if (!input.dims.empty() && !input.dims[0].symbol.empty() &&
          !evaluate(input.dims[0].symbol))
        bind(input.dims[0].symbol, *options.micro, "batch.micro");
  std::vector<Shape> shapes;
  std::string unbound;
  for (const GraphInput &input : model.inputs) {
    Shape &shape = shapes.emplace_back();
    for (size_t dim = 0; dim < input.dims.size(); ++dim) {
      std::optional<int64_t> size = sizeOf(input, dim);
      if (!size)
        unbound += "\n  '" + input.dims[dim].symbol + "': dim " +
                   std::to_string(dim) + " of input '" + input.name + "'";
      shape.push_back(size.value_or(1));
      if (shape.back() < 1)
        fail("dim " + Twine(dim) + " of input '" + input.name + "' has size " +
             Twine(shape.back()) + "; it must be at least 1");
    }
    elementsOf(shape); // not absurd
  }
  if (!unbound.empty())
    fail("sizes of these dims are not known; give them in `symbols` of the "
         "spec, or batches, or batch.micro for dim 0:" +
         unbound);
  for (const auto &[symbol, binding] : bound)
    report.symbols.push_back(symbol + " = " + std::to_string(binding.size) +
                             " (" + binding.origin + ")");
  return shapes;
}

std::vector<Shape> bindShapes(const Model &model, const ImportOptions &options,
                              ImportReport &report) {
  std::vector<Shape> shapes = Binder(model, options).run(report);
  for (auto [input, shape] : zip_equal(model.inputs, shapes))
    if (!input.dims.empty() && input.dims[0].size >= 0 && options.micro &&
        *options.micro != input.dims[0].size)
      report.decisions.push_back(
          "input '" + input.name + "' has batch " +
          std::to_string(input.dims[0].size) + " baked in; micro-batches of " +
          std::to_string(*options.micro) + " need it rewritten");
  return shapes;
}

} // namespace echelon::onnx_import

// SPDX-License-Identifier: Apache-2.0
//
// The walk: which nodes matter, which values are static, node after node into
// the function.
#include "compiler/onnx/graph_importer.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;
using mlir::Value;

namespace echelon::onnx_import {

GraphImporter::GraphImporter(const Model &model, const ImportOptions &options,
                             mlir::MLIRContext &context, ImportReport &report)
    : model(model), options(options), report(report), context(context),
      builder(&context), needed(model.nodes.size(), false),
      dynamic(model.values.size(), false), parameters(model, options, report) {
  context.loadDialect<graph::GraphDialect, mlir::func::FuncDialect>();
  for (const Node &node : model.nodes)
    rowOf.push_back(table.find(node));
}

mlir::Location GraphImporter::locationOf(const Node &node) {
  auto file = mlir::FileLineColLoc::get(&context, model.fileName,
                                        unsigned(node.fileIndex), 0);
  mlir::Location loc =
      mlir::NameLoc::get(mlir::StringAttr::get(&context, node.name), file);
  std::string line = pythonLine(node);
  if (line.empty())
    return loc;
  return mlir::FusedLoc::get(&context, {loc},
                             mlir::StringAttr::get(&context, line));
}

void GraphImporter::findNeeded() {
  std::vector<int> todo;
  auto visit = [&](int value) {
    int producer = value < 0 ? -1 : model.values[value].producer;
    if (producer >= 0 && !needed[producer]) {
      needed[producer] = true;
      todo.push_back(producer);
    }
  };
  for (const GraphOutput &output : model.outputs)
    visit(output.value);
  while (!todo.empty()) {
    int node = todo.back();
    todo.pop_back();
    for (int value : model.nodes[node].inputs)
      visit(value);
  }
}

/// Inputs whose type alone matters: a bit mask.
static unsigned typeOnlyInputs(StringRef op) {
  if (op == "Shape" || op == "Size" || op == "EyeLike")
    return 1;
  return op == "CastLike" ? 2 : 0;
}

bool readsTypeOnly(const Node &node, size_t input) {
  return node.domain.empty() && input < 31 &&
         (typeOnlyInputs(node.op) >> input & 1);
}

void GraphImporter::findDynamic() {
  for (const GraphInput &input : model.inputs)
    dynamic[input.value] = true;
  for (const Node &node : model.nodes) {
    bool isDynamic = false;
    for (auto [index, value] : enumerate(node.inputs))
      isDynamic |= value >= 0 && dynamic[value] && !readsTypeOnly(node, index);
    for (int value : node.outputs)
      if (value >= 0)
        dynamic[value] = isDynamic;
  }
}

void GraphImporter::checkOps() {
  constexpr size_t kMaxListed = 20;
  std::vector<std::string> problems;
  StringSet<> seen;
  for (auto [index, node] : enumerate(model.nodes)) {
    if (!needed[index])
      continue;
    const OpRow *row = rowOf[index];
    bool isDynamic = any_of(
        node.outputs, [&](int value) { return value >= 0 && dynamic[value]; });
    if (row && (row->import || !isDynamic))
      continue;
    std::string op =
        node.domain.empty() ? node.op : node.domain + "." + node.op;
    if (!seen.insert(op).second)
      continue;
    std::string problem = "op " + op + " ";
    if (row)
      problem += "on data that depends on the inputs is not supported";
    else if (node.domain.empty() && table.knows(node.op))
      problem += "is not supported at opset " + std::to_string(node.version);
    else
      problem += "is not supported";
    problems.push_back(problem + ": " + model.describe(node));
  }
  if (problems.empty())
    return;
  std::string message = "model '" + model.path + "' has unsupported ops:";
  for (const std::string &problem :
       ArrayRef<std::string>(problems).take_front(kMaxListed))
    message += "\n  " + problem;
  if (problems.size() > kMaxListed)
    message +=
        "\n  and " + std::to_string(problems.size() - kMaxListed) + " more ops";
  fail(message);
}

void GraphImporter::addInputs(mlir::Block &block) {
  for (auto [index, input] : enumerate(model.inputs)) {
    auto type = mlir::RankedTensorType::get(inputShapes[index],
                                            elementType(builder, input.type));
    values[input.value] = block.addArgument(
        type, mlir::FileLineColLoc::get(&context, model.fileName, 0, 0));
    report.inputs.push_back(input.name + " " + textOf(inputShapes[index]) +
                            " " + nameOf(input.type));
  }
}

void GraphImporter::importNode(int index) {
  const Node &node = model.nodes[index];
  const OpRow *row = rowOf[index];
  if (!row || !row->import)
    fail(model.describe(node) + ": " + node.op +
         " cannot stand between a parameter and its use");
  ImportCall call(*this, node, builder, locationOf(node));
  row->import(call);
}

void GraphImporter::checkOutput(const GraphOutput &output, Value value) {
  if (!output.dims)
    return;
  Shape shape = graph::shapeOf(value);
  bool fits = output.dims->size() == shape.size();
  std::string declared;
  for (auto [index, dim] : enumerate(*output.dims)) {
    fits &= index < shape.size() && (dim.size < 0 || dim.size == shape[index]);
    declared += (index ? ", " : "") +
                (dim.size < 0 ? dim.symbol : std::to_string(dim.size));
  }
  if (!fits)
    fail("output '" + output.name + "' is declared as [" + declared +
         "], but the graph computes " + textOf(shape));
}

Value GraphImporter::importOutput(const GraphOutput &output) {
  auto known = values.find(output.value);
  if (known == values.end() && dynamic[output.value])
    fail(missingResult(output.value, "the graph's output"));
  Value value = known != values.end()
                    ? known->second
                    : materialize(hostValue(output.value, Node()), {}, builder,
                                  builder.getUnknownLoc());
  checkOutput(output, value);
  return value;
}

static mlir::Attribute firstValue(const Parameter &parameter,
                                  const Model &model, mlir::Builder &builder) {
  mlir::MLIRContext *context = builder.getContext();
  if (parameter.place) {
    mlir::Type element = parameter.type == DataType::F16
                             ? builder.getF16Type()
                             : elementType(builder, parameter.type);
    const std::string &path = parameter.place->path;
    return graph::FileAttr::get(context, path.empty() ? model.fileName : path,
                                parameter.place->offset,
                                parameter.place->length, element);
  }
  graph::InitKind kind = parameter.rule->kind == InitRule::Kind::Constant
                             ? graph::InitKind::Constant
                         : parameter.rule->kind == InitRule::Kind::Normal
                             ? graph::InitKind::Normal
                             : graph::InitKind::Uniform;
  return graph::InitAttr::get(context, kind,
                              builder.getF64FloatAttr(parameter.rule->a),
                              builder.getF64FloatAttr(parameter.rule->b));
}

static void declareParameters(const Parameters &parameters, const Model &model,
                              mlir::OpBuilder &builder) {
  for (const Parameter &parameter : parameters.all) {
    auto type = mlir::RankedTensorType::get(
        parameter.shape, elementType(builder, parameter.type));
    builder.create<graph::VariableOp>(
        mlir::NameLoc::get(builder.getStringAttr(parameter.name)),
        builder.getStringAttr(parameter.name),
        graph::VariableClassAttr::get(builder.getContext(),
                                      graph::VariableClass::Parameter),
        mlir::TypeAttr::get(type), firstValue(parameter, model, builder),
        builder.getBoolAttr(parameter.trainable), mlir::FlatSymbolRefAttr(),
        builder.getStringAttr(parameter.role));
  }
}

mlir::OwningOpRef<mlir::ModuleOp> GraphImporter::run() {
  report.model.push_back(model.fileName + ": " + model.producer + ", IR " +
                         std::to_string(model.irVersion) + ", opset " +
                         std::to_string(model.opset) + ", " +
                         std::to_string(model.nodes.size()) + " nodes");
  report.model.insert(report.model.end(), model.notes.begin(),
                      model.notes.end());
  findNeeded();
  findDynamic();
  checkOps();
  inputShapes = bindShapes(model, options, report);
  auto fileLoc = mlir::FileLineColLoc::get(&context, model.fileName, 0, 0);
  module = mlir::ModuleOp::create(fileLoc);
  mlir::Block block;
  addInputs(block);
  builder.setInsertionPointToStart(&block);
  for (auto [index, node] : enumerate(model.nodes)) {
    bool isDynamic = any_of(
        node.outputs, [&](int value) { return value >= 0 && dynamic[value]; });
    if (needed[index] && isDynamic)
      importNode(int(index));
  }
  SmallVector<Value> results;
  SmallVector<mlir::Type> resultTypes;
  for (const GraphOutput &output : model.outputs) {
    results.push_back(importOutput(output));
    resultTypes.push_back(results.back().getType());
  }
  builder.create<mlir::func::ReturnOp>(fileLoc, results);
  parameters.finish();

  builder.setInsertionPointToEnd(module->getBody());
  declareParameters(parameters, model, builder);
  auto function = builder.create<mlir::func::FuncOp>(
      fileLoc, "forward",
      builder.getFunctionType(mlir::TypeRange(block.getArgumentTypes()),
                              resultTypes));
  mlir::Block *body = function.addEntryBlock();
  for (auto [from, to] : zip_equal(block.getArguments(), body->getArguments()))
    from.replaceAllUsesWith(to);
  body->getOperations().splice(body->end(), block.getOperations());
  for (auto [index, input] : enumerate(model.inputs))
    function.setArgAttr(unsigned(index), "graph.name",
                        builder.getStringAttr(input.name));
  for (auto [index, output] : enumerate(model.outputs))
    function.setResultAttr(unsigned(index), "graph.name",
                           builder.getStringAttr(output.name));
  (*module)->setAttr("graph.model", builder.getStringAttr(model.fileName));
  int64_t batch =
      inputShapes.empty() || inputShapes[0].empty() ? 1 : inputShapes[0][0];
  (*module)->setAttr("graph.batch", builder.getI64IntegerAttr(batch));
  return std::move(module);
}

} // namespace echelon::onnx_import

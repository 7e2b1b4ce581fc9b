// SPDX-License-Identifier: Apache-2.0
//
// Building, writing and importing test models.
#include "test/compiler/onnx/model_builder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <fstream>

namespace echelon::test {

ModelBuilder::ModelBuilder(int64_t opset, int64_t irVersion)
    : graph(*model.mutable_graph()) {
  model.set_ir_version(irVersion);
  model.set_producer_name("test");
  model.add_opset_import()->set_version(opset);
  graph.set_name("g");
}

void ModelBuilder::input(const std::string &name, const Ints &dims, int type) {
  onnx::ValueInfoProto &value = *graph.add_input();
  value.set_name(name);
  onnx::TypeProto::Tensor &tensor =
      *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape();
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    auto &added = *tensor.mutable_shape()->add_dim();
    if (dims[dim] >= 0)
      added.set_dim_value(dims[dim]);
    else
      added.set_dim_param(name + "_" + std::to_string(dim));
  }
}

void ModelBuilder::output(const std::string &name) {
  graph.add_output()->set_name(name);
}

void ModelBuilder::initializer(const std::string &name, const Ints &dims,
                               const Floats &values) {
  onnx::TensorProto &tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (int64_t size : dims)
    tensor.add_dims(size);
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
}

void ModelBuilder::integers(const std::string &name, const Ints &dims,
                            const Ints &values) {
  onnx::TensorProto &tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  for (int64_t size : dims)
    tensor.add_dims(size);
  for (int64_t value : values)
    tensor.add_int64_data(value);
}

onnx::NodeProto &ModelBuilder::node(const std::string &type,
                                    const Strings &inputs,
                                    const Strings &outputs,
                                    const std::string &name) {
  onnx::NodeProto &node = *graph.add_node();
  node.set_op_type(type);
  node.set_name(name.empty() ? outputs[0] + "_node" : name);
  for (const std::string &input : inputs)
    node.add_input(input);
  for (const std::string &output : outputs)
    node.add_output(output);
  return node;
}

void ModelBuilder::metadata(onnx::NodeProto &node, const std::string &key,
                            const std::string &value) {
  onnx::StringStringEntryProto entry;
  entry.set_key(key);
  entry.set_value(value);
  node.GetReflection()->MutableUnknownFields(&node)->AddLengthDelimited(
      9, entry.SerializeAsString());
}

static onnx::AttributeProto &add(onnx::NodeProto &node, const std::string &name,
                                 onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

void ModelBuilder::set(onnx::NodeProto &node, const std::string &name,
                       int64_t value) {
  add(node, name, onnx::AttributeProto::INT).set_i(value);
}
void ModelBuilder::set(onnx::NodeProto &node, const std::string &name,
                       const Ints &values) {
  onnx::AttributeProto &attribute = add(node, name, onnx::AttributeProto::INTS);
  for (int64_t value : values)
    attribute.add_ints(value);
}
void ModelBuilder::set(onnx::NodeProto &node, const std::string &name,
                       const std::string &value) {
  add(node, name, onnx::AttributeProto::STRING).set_s(value);
}

std::string temporaryFolder() {
  llvm::SmallString<128> path;
  if (llvm::sys::fs::createUniqueDirectory("echelon-onnx-test", path))
    ADD_FAILURE() << "no temporary folder";
  return path.str().str();
}

void writeText(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

Imported::Imported(const onnx::ModelProto &model, const ImportOptions &options)
    : folder(temporaryFolder()) {
  std::string path = folder + "/model.onnx";
  writeText(path, model.SerializeAsString());
  import(path, options);
}

Imported::Imported(const std::string &path, const ImportOptions &options) {
  import(path, options);
}

Imported::~Imported() {
  if (!folder.empty())
    llvm::sys::fs::remove_directories(folder);
}

void Imported::import(const std::string &path, const ImportOptions &options) {
  auto result = importModel(path, options, context, report);
  if (result)
    module = std::move(*result);
  else
    error = llvm::toString(result.takeError());
}

Strings Imported::parameters() {
  Strings names;
  for (auto op : module->getBody()->getOps<graph::VariableOp>())
    names.push_back(op.getSymName().str());
  return names;
}

graph::VariableOp Imported::parameter(const std::string &name) {
  return module->lookupSymbol<graph::VariableOp>(name);
}

int Imported::count(const std::string &op) {
  int found = 0;
  module->walk([&](mlir::Operation *each) {
    found += each->getName().getStringRef() == op;
  });
  return found;
}

std::vector<RefTensor>
Imported::run(const std::vector<std::vector<double>> &arguments) {
  auto function = module->lookupSymbol<mlir::func::FuncOp>("forward");
  auto variables = firstValues(*module, folder);
  if (!variables) {
    ADD_FAILURE() << llvm::toString(variables.takeError());
    return {};
  }
  std::vector<RefTensor> values;
  for (auto [argument, given] :
       llvm::zip_equal(function.getArguments(), arguments))
    values.push_back(
        {Shape(
             mlir::cast<mlir::RankedTensorType>(argument.getType()).getShape()),
         given});
  auto results = interpret(function.front(), values, *variables);
  if (!results) {
    ADD_FAILURE() << llvm::toString(results.takeError());
    return {};
  }
  return *results;
}

bool Imported::decided(const std::string &part) const {
  return llvm::any_of(report.decisions, [&](const std::string &line) {
    return llvm::StringRef(line).contains(part);
  });
}

} // namespace echelon::test

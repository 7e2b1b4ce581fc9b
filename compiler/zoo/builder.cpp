// SPDX-License-Identifier: Apache-2.0
//
// Nodes, shared constants and parameter declarations of zoo models.
#include "compiler/zoo/builder.h"
#include <cstdio>

namespace echelon::zoo {

int64_t Parameter::elements() const {
  int64_t product = 1;
  for (int64_t size : shape)
    product *= size;
  return product;
}

Value GraphBuilder::parameter(std::string name, std::vector<int64_t> shape,
                              double mean, double std) {
  declared.push_back({name, std::move(shape), mean, std});
  return name;
}

std::vector<Value>
GraphBuilder::nodes(const char *type, llvm::ArrayRef<Value> inputs, int count) {
  onnx::NodeProto &node = *graph.add_node();
  std::string name = scope + "/" + type;
  int before = uses[name]++;
  if (before > 0)
    name += "_" + std::to_string(before);
  node.set_name(name);
  node.set_op_type(type);
  for (const Value &input : inputs)
    node.add_input(input);
  std::vector<Value> results;
  for (int i = 0; i < count; ++i) {
    results.push_back(name + "_output_" + std::to_string(i));
    node.add_output(results.back());
  }
  return results;
}

Value GraphBuilder::node(const char *type, llvm::ArrayRef<Value> inputs) {
  return nodes(type, inputs, 1).front();
}

onnx::NodeProto &GraphBuilder::lastNode() {
  return *graph.mutable_node(graph.node_size() - 1);
}

void GraphBuilder::attribute(const char *name, int64_t value) {
  onnx::AttributeProto &attribute = *lastNode().add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

void GraphBuilder::attribute(const char *name, float value) {
  onnx::AttributeProto &attribute = *lastNode().add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
}

void GraphBuilder::attribute(const char *name, llvm::ArrayRef<int64_t> values) {
  onnx::AttributeProto &attribute = *lastNode().add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (int64_t value : values)
    attribute.add_ints(value);
}

Value GraphBuilder::constant(const std::string &name,
                             const onnx::TensorProto &tensor) {
  auto [at, isNew] = constants.try_emplace(name, name + "_output_0");
  if (!isNew)
    return at->second;
  onnx::NodeProto &node = *graph.add_node();
  node.set_name(name);
  node.set_op_type("Constant");
  node.add_output(at->second);
  onnx::AttributeProto &value = *node.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  *value.mutable_t() = tensor;
  return at->second;
}

Value GraphBuilder::scalar(float value) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.set_raw_data(&value, sizeof value);
  char name[48];
  std::snprintf(name, sizeof name, "constants/%.9g",
                static_cast<double>(value));
  return constant(name, tensor);
}

Value GraphBuilder::boolean(bool value) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::BOOL);
  tensor.set_raw_data(&value, sizeof value);
  return constant(value ? "constants/true" : "constants/false", tensor);
}

Value GraphBuilder::integer(int64_t value) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.set_raw_data(&value, sizeof value);
  return constant("constants/int_" + std::to_string(value), tensor);
}

Value GraphBuilder::integers(llvm::ArrayRef<int64_t> values) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  tensor.set_raw_data(values.data(), values.size() * sizeof(int64_t));
  std::string name = "constants/ints";
  for (int64_t value : values)
    name += "_" + std::to_string(value);
  return constant(name, tensor);
}

Value GraphBuilder::table(const char *name, llvm::ArrayRef<int64_t> shape,
                          llvm::ArrayRef<float> values) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (int64_t size : shape)
    tensor.add_dims(size);
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  return constant(name, tensor);
}

Value GraphBuilder::transpose(const Value &input,
                              llvm::ArrayRef<int64_t> permutation) {
  Value result = node("Transpose", {input});
  attribute("perm", permutation);
  return result;
}

Value GraphBuilder::reshape(const Value &input, llvm::ArrayRef<int64_t> shape) {
  Value target = integers(shape);
  return node("Reshape", {input, target});
}

void GraphBuilder::nameResult(const char *name) {
  lastNode().set_output(0, name);
}

} // namespace echelon::zoo

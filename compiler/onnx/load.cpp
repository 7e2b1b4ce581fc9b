// SPDX-License-Identifier: Apache-2.0
//
// From a file to a Model: parse within limits, inline, number the values, turn
// Constant nodes into tensors, and check what every later step relies on.
#include "compiler/onnx/model.h"
#include "compiler/onnx/wire.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>
#include <tuple>

using namespace llvm;

namespace echelon::onnx_import {

static constexpr int64_t kMinIr = 3, kMaxIr = 14, kMinOpset = 7, kMaxOpset = 25;
static constexpr uint64_t kMaxFileBytes = (uint64_t(1) << 31) - 1;

std::string Model::describe(const Node &node) const {
  return "node \"" + node.name + "\" (" + fileName + ", node " +
         std::to_string(node.fileIndex) + ")";
}

static void parse(Model &model) {
  auto buffer = MemoryBuffer::getFile(model.path, /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false);
  if (!buffer)
    fail("cannot read model '" + model.path +
         "': " + buffer.getError().message());
  model.file = std::move(*buffer);
  uint64_t bytes = model.file->getBufferSize();
  if (bytes > kMaxFileBytes)
    fail("model '" + model.path + "' has " + Twine(bytes) +
         " bytes; a protobuf file ends at 2147483647: save its weights as "
         "external data");
  if (bytes == 0)
    fail("model '" + model.path + "' is empty");
  ArrayRef<uint8_t> file(
      reinterpret_cast<const uint8_t *>(model.file->getBufferStart()), bytes);
  std::optional<std::string> light = withoutPayloads(file);
  if (light)
    file = ArrayRef(reinterpret_cast<const uint8_t *>(light->data()),
                    light->size());
  google::protobuf::LogSilencer silence; // it would write to stderr
  google::protobuf::io::CodedInputStream input(file.data(), int(file.size()));
  input.SetTotalBytesLimit(INT_MAX);
  input.SetRecursionLimit(64);
  model.proto = std::make_shared<onnx::ModelProto>();
  if (!model.proto->ParseFromCodedStream(&input) ||
      !input.ConsumedEntireMessage())
    fail("model '" + model.path +
         "' is not a complete ONNX file: parsing stopped at byte " +
         Twine(input.CurrentPosition()) + " of " + Twine(file.size()) +
         "; export or copy it again");
}

static void checkVersions(Model &model) {
  const onnx::ModelProto &proto = *model.proto;
  model.irVersion = proto.ir_version();
  model.producer = proto.producer_name() + " " + proto.producer_version();
  if (!proto.has_graph() || proto.graph().output_size() == 0)
    fail("model '" + model.path + "' has no graph with outputs");
  if (model.irVersion < kMinIr || model.irVersion > kMaxIr)
    fail("model '" + model.path + "' has IR version " + Twine(model.irVersion) +
         "; supported are " + Twine(kMinIr) + " to " + Twine(kMaxIr));
  bool hasOpset = false;
  auto check = [&](const auto &imports, const Twine &where) {
    for (const onnx::OperatorSetIdProto &opset : imports) {
      if (!opset.domain().empty() && opset.domain() != "ai.onnx")
        continue;
      if (opset.version() < kMinOpset || opset.version() > kMaxOpset)
        fail(where + " uses opset " + Twine(opset.version()) +
             "; supported are " + Twine(kMinOpset) + " to " + Twine(kMaxOpset) +
             ": export with one of these");
      hasOpset = true;
      model.opset = opset.version();
    }
  };
  for (const onnx::FunctionProto &function : proto.functions())
    check(function.opset_import(), "function '" + function.name() + "'");
  check(proto.opset_import(), "model '" + model.path + "'");
  if (!hasOpset)
    fail("model '" + model.path + "' names no opset");
}

namespace {

/// Numbers values and fills the model's tables.
class Linker {
public:
  explicit Linker(Model &model)
      : model(model), reader(model),
        payloads(indexPayloads(ArrayRef(
            reinterpret_cast<const uint8_t *>(model.file->getBufferStart()),
            model.file->getBufferSize()))) {}
  void run();

private:
  int valueOf(const std::string &name);
  int define(const std::string &name, const Twine &what);
  void addInitializers();
  void addInputs();
  void addOutputs();
  void addNode(const FlatNode &flat);
  bool addConstant(const FlatNode &flat);
  Tensor readConstant(const FlatNode &flat, const onnx::AttributeProto &value,
                      int position);
  void addTensor(Tensor tensor, const std::string &name, const Twine &what);
  std::optional<DataPlace> place(WireSpan span) {
    if (!span.length)
      return std::nullopt;
    return DataPlace{"", span.offset, span.length};
  }

  Model &model;
  TensorReader reader;
  WireIndex payloads;
  StringMap<int> numbers;
};

} // namespace

int Linker::valueOf(const std::string &name) {
  if (name.empty())
    return -1;
  auto [at, isNew] = numbers.try_emplace(name, int(model.values.size()));
  if (isNew) {
    model.values.emplace_back();
    model.values.back().name = name;
  }
  return at->second;
}

int Linker::define(const std::string &name, const Twine &what) {
  int number = valueOf(name);
  if (number < 0)
    return -1;
  const ModelValue &value = model.values[number];
  if (value.producer >= 0 || value.tensor >= 0 || value.input >= 0)
    fail(what + " defines value '" + name +
         "', which is defined already; names must be unique");
  return number;
}

void Linker::addTensor(Tensor tensor, const std::string &name,
                       const Twine &what) {
  int number = define(name, what);
  if (number < 0)
    return;
  tensor.name = name;
  model.values[number].tensor = int(model.tensors.size());
  model.tensors.push_back(std::move(tensor));
}

void Linker::addInitializers() {
  const onnx::GraphProto &graph = model.proto->graph();
  if (graph.sparse_initializer_size())
    fail("model '" + model.path +
         "' has sparse initializers, which are not "
         "supported; convert them to dense ones");
  bool known = int(payloads.initializers.size()) == graph.initializer_size();
  for (int i = 0; i < graph.initializer_size(); ++i) {
    const onnx::TensorProto &proto = graph.initializer(i);
    std::optional<DataPlace> payload =
        known ? place(payloads.initializers[i]) : std::nullopt;
    std::string what = "initializer '" + proto.name() + "'";
    addTensor(reader.read(proto, payload ? &*payload : nullptr, what),
              proto.name(), what);
  }
}

static std::vector<GraphInput::Dim> dimsOf(const onnx::TensorShapeProto &shape,
                                           const Twine &where) {
  std::vector<GraphInput::Dim> dims;
  for (const onnx::TensorShapeProto::Dimension &dim : shape.dim()) {
    GraphInput::Dim &added = dims.emplace_back();
    if (dim.has_dim_value() && dim.dim_value() < 0)
      fail(where + " has a dim of size " + Twine(dim.dim_value()));
    if (dim.has_dim_value())
      added.size = dim.dim_value();
    else
      added.symbol = dim.dim_param();
  }
  return dims;
}

void Linker::addInputs() {
  for (const onnx::ValueInfoProto &proto : model.proto->graph().input()) {
    // Up to IR 3 every initializer is listed as an input; later, one that is
    // listed has a default, which training takes.
    int number = valueOf(proto.name());
    if (number < 0)
      fail("a graph input has no name");
    if (model.values[number].tensor >= 0)
      continue;
    std::string where = "input '" + proto.name() + "'";
    define(proto.name(), where);
    if (!proto.type().has_tensor_type() ||
        !proto.type().tensor_type().has_shape())
      fail(where + " is not a tensor of known rank");
    GraphInput &input = model.inputs.emplace_back();
    input.name = proto.name();
    input.value = number;
    input.type = dataTypeOf(proto.type().tensor_type().elem_type(), where);
    input.dims = dimsOf(proto.type().tensor_type().shape(), where);
    model.values[number].input = int(model.inputs.size()) - 1;
  }
}

void Linker::addOutputs() {
  for (const onnx::ValueInfoProto &proto : model.proto->graph().output()) {
    GraphOutput &output = model.outputs.emplace_back();
    output.name = proto.name();
    output.value = valueOf(proto.name());
    if (output.value < 0)
      fail("a graph output has no name");
    if (proto.type().has_tensor_type() &&
        proto.type().tensor_type().has_shape())
      output.dims = dimsOf(proto.type().tensor_type().shape(),
                           "output '" + proto.name() + "'");
  }
}

Tensor Linker::readConstant(const FlatNode &flat,
                            const onnx::AttributeProto &value, int position) {
  std::string where = "the value of node \"" + flat.name + "\"";
  if (value.name() == "value") {
    bool isMain = flat.proto == &model.proto->graph().node(flat.fileIndex);
    auto span = payloads.attributes.find({flat.fileIndex, position});
    std::optional<DataPlace> payload =
        isMain && span != payloads.attributes.end() ? place(span->second)
                                                    : std::nullopt;
    return reader.read(value.t(), payload ? &*payload : nullptr, where);
  }
  Tensor tensor;
  if (value.name() == "value_int")
    tensor.values = HostTensor::fromIntegers(DataType::I64, {}, {value.i()});
  else if (value.name() == "value_float")
    tensor.values = HostTensor::fromReals(DataType::F32, {}, {value.f()});
  else if (value.name() == "value_ints")
    tensor.values = HostTensor::fromIntegers(
        DataType::I64, {value.ints_size()},
        std::vector<int64_t>(value.ints().begin(), value.ints().end()));
  else if (value.name() == "value_floats")
    tensor.values = HostTensor::fromReals(
        DataType::F32, {value.floats_size()},
        std::vector<double>(value.floats().begin(), value.floats().end()));
  else
    fail(where + " is given by '" + value.name() + "', which is not supported");
  return tensor;
}

bool Linker::addConstant(const FlatNode &flat) {
  if (flat.proto->op_type() != "Constant" || !flat.domain.empty())
    return false;
  if (flat.proto->attribute_size() != 1 || flat.proto->output_size() != 1)
    fail("node \"" + flat.name + "\": Constant needs one value and one output");
  Tensor tensor = readConstant(flat, flat.proto->attribute(0), 0);
  tensor.isInitializer = false;
  tensor.node = flat.fileIndex;
  addTensor(std::move(tensor), flat.proto->output(0),
            "node \"" + flat.name + "\"");
  return true;
}

void Linker::addNode(const FlatNode &flat) {
  Node &node = model.nodes.emplace_back();
  node.proto = flat.proto;
  node.name = flat.name;
  node.op = flat.proto->op_type();
  node.domain = flat.domain;
  node.version = flat.version;
  node.fileIndex = flat.fileIndex;
  node.metadata = readMetadata(*flat.proto);
  for (const std::string &input : flat.proto->input())
    node.inputs.push_back(valueOf(input));
  for (const auto &[index, output] : enumerate(flat.proto->output())) {
    int number = define(output, model.describe(node));
    node.outputs.push_back(number);
    if (number >= 0) {
      model.values[number].producer = int(model.nodes.size()) - 1;
      model.values[number].output = int(index);
    }
  }
}

void Linker::run() {
  addInitializers();
  addInputs();
  for (const FlatNode &flat : inlineFunctions(model))
    if (!addConstant(flat))
      addNode(flat);
  addOutputs();
  auto isUndefined = [&](int number) {
    if (number < 0)
      return false;
    const ModelValue &value = model.values[number];
    return value.producer < 0 && value.tensor < 0 && value.input < 0;
  };
  for (const Node &node : model.nodes)
    for (int number : node.inputs)
      if (isUndefined(number))
        fail(model.describe(node) + " reads value '" +
             model.values[number].name +
             "', which no node, input or initializer defines");
  for (const GraphOutput &output : model.outputs)
    if (isUndefined(output.value))
      fail("output '" + output.name +
           "' is not defined by any node, input or initializer");
}

/// Slices of external files may be shared whole, but not in part.
static void checkOverlaps(const Model &model) {
  std::vector<const Tensor *> external;
  for (const Tensor &tensor : model.tensors)
    if (tensor.place && !tensor.place->path.empty() && tensor.place->length)
      external.push_back(&tensor);
  auto key = [](const Tensor *tensor) {
    return std::make_tuple(StringRef(tensor->place->path),
                           tensor->place->offset, tensor->place->length);
  };
  llvm::sort(external,
             [&](const Tensor *a, const Tensor *b) { return key(a) < key(b); });
  for (size_t i = 1; i < external.size(); ++i) {
    const DataPlace &before = *external[i - 1]->place;
    const DataPlace &after = *external[i]->place;
    bool isShared =
        before.offset == after.offset && before.length == after.length;
    if (before.path == after.path && !isShared &&
        after.offset < before.offset + before.length)
      fail("external data of '" + external[i - 1]->name + "' and '" +
           external[i]->name + "' overlap in '" + after.path + "' at byte " +
           Twine(after.offset));
  }
}

void sortNodes(Model &model) {
  size_t count = model.nodes.size();
  std::vector<int> waiting(count, 0);
  std::vector<std::vector<int>> users(count);
  for (auto [index, node] : enumerate(model.nodes))
    for (int value : node.inputs)
      if (value >= 0 && model.values[value].producer >= 0) {
        ++waiting[index];
        users[model.values[value].producer].push_back(int(index));
      }
  // The lowest ready index first keeps a sorted file as it is.
  std::vector<int> ready, order;
  for (size_t index = count; index-- > 0;)
    if (!waiting[index])
      ready.push_back(int(index));
  std::make_heap(ready.begin(), ready.end(), std::greater<>());
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), std::greater<>());
    int index = ready.back();
    ready.pop_back();
    order.push_back(index);
    for (int user : users[index])
      if (!--waiting[user]) {
        ready.push_back(user);
        std::push_heap(ready.begin(), ready.end(), std::greater<>());
      }
  }
  if (order.size() != count) {
    for (auto [index, node] : enumerate(model.nodes))
      if (waiting[index])
        fail(model.describe(node) + " stands on a cycle of " +
             Twine(count - order.size()) +
             " nodes that wait for each other's results");
  }
  if (is_sorted(order))
    return;
  model.notes.push_back("nodes were not in topological order; sorted");
  std::vector<Node> sorted;
  std::vector<int> place(count);
  for (int index : order) {
    place[index] = int(sorted.size());
    sorted.push_back(std::move(model.nodes[index]));
  }
  model.nodes = std::move(sorted);
  for (ModelValue &value : model.values)
    if (value.producer >= 0)
      value.producer = place[value.producer];
}

Model loadModel(StringRef path) {
  Model model;
  model.path = path.str();
  model.fileName = sys::path::filename(path).str();
  model.folder = sys::path::parent_path(path).str();
  if (sys::fs::is_directory(path))
    fail("model '" + path + "' is a folder; name the .onnx file in it");
  parse(model);
  checkVersions(model);
  Linker(model).run();
  checkOverlaps(model);
  sortNodes(model);
  return model;
}

} // namespace echelon::onnx_import

// SPDX-License-Identifier: Apache-2.0
//
// `echelon-fuzz-import COUNT SEED MODEL...`: imports COUNT mutations of the
// given models and prints how many imported and how many were refused. A crash,
// or a message that names nothing, is the failure. Half of the mutations change
// bytes, half change the parsed model (sizes, attributes, types, wiring), which
// reaches deeper. Meant for a build with the address sanitizer. With
// `--keep DIR` each mutation is written there before it is imported.
#include "compiler/onnx/importer.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <google/protobuf/stubs/logging.h>
#include <map>
#include <onnx/onnx_pb.h>
#include <random>

using namespace llvm;

namespace {

class Mutator {
public:
  explicit Mutator(uint64_t seed) : random(seed) {}
  std::string mutate(const std::string &original);

private:
  size_t below(size_t bound) { return bound ? random() % bound : 0; }
  int64_t oddNumber() {
    static const int64_t numbers[] = {0,  1,  -1,        2,         3,
                                      64, -2, INT64_MAX, INT64_MIN, 1 << 30,
                                      7,  12, 4,         100000};
    return numbers[below(std::size(numbers))];
  }
  void mutateBytes(std::string &bytes);
  void mutateModel(onnx::ModelProto &model);
  void mutateNode(onnx::GraphProto &graph, onnx::NodeProto &node);
  void mutateTensor(onnx::TensorProto &tensor);
  void mutateValue(onnx::ValueInfoProto &value);
  std::string someValue(const onnx::GraphProto &graph);

  std::mt19937_64 random;
};

} // namespace

void Mutator::mutateBytes(std::string &bytes) {
  for (size_t count = 1 + below(8); count-- > 0 && !bytes.empty();) {
    size_t at = below(bytes.size());
    switch (below(6)) {
    case 0:
      bytes[at] = char(random());
      break;
    case 1:
      bytes[at] ^= char(1 << below(8));
      break;
    case 2:
      bytes.resize(at);
      break;
    case 3:
      bytes.erase(at, 1 + below(16));
      break;
    case 4:
      bytes.insert(at, 1 + below(16), char(random()));
      break;
    default: {
      size_t from = below(bytes.size());
      bytes.insert(at, bytes.substr(from, below(200)));
    }
    }
  }
}

std::string Mutator::someValue(const onnx::GraphProto &graph) {
  if (below(4) == 0 && graph.initializer_size())
    return graph.initializer(int(below(graph.initializer_size()))).name();
  if (!graph.node_size())
    return "";
  const onnx::NodeProto &node = graph.node(int(below(graph.node_size())));
  return node.output_size() ? node.output(int(below(node.output_size()))) : "";
}

void Mutator::mutateNode(onnx::GraphProto &graph, onnx::NodeProto &node) {
  switch (below(8)) {
  case 0:
    if (node.input_size())
      *node.mutable_input(int(below(node.input_size()))) = someValue(graph);
    break;
  case 1:
    if (node.input_size())
      node.mutable_input()->RemoveLast();
    break;
  case 2:
    node.add_input(someValue(graph));
    break;
  case 3:
    node.set_op_type(graph.node(int(below(graph.node_size()))).op_type());
    break;
  case 4:
    if (node.output_size())
      *node.mutable_output(int(below(node.output_size()))) = someValue(graph);
    break;
  case 5:
    node.clear_attribute();
    break;
  case 6:
    node.clear_output();
    break;
  default:
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_t() && below(2))
        mutateTensor(*attribute.mutable_t());
      else if (attribute.ints_size())
        attribute.set_ints(int(below(attribute.ints_size())), oddNumber());
      else
        attribute.set_i(oddNumber());
    }
  }
}

void Mutator::mutateTensor(onnx::TensorProto &tensor) {
  switch (below(6)) {
  case 0:
    if (tensor.dims_size())
      tensor.set_dims(int(below(tensor.dims_size())), oddNumber());
    break;
  case 1:
    tensor.add_dims(oddNumber());
    break;
  case 2:
    tensor.set_data_type(int(below(24)));
    break;
  case 3:
    tensor.clear_dims();
    break;
  case 4: {
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    onnx::StringStringEntryProto &entry = *tensor.add_external_data();
    entry.set_key("location");
    static const char *places[] = {"../x", "/etc/passwd", "echelon:init", "",
                                   "."};
    entry.set_value(places[below(5)]);
    break;
  }
  default: {
    // Sizes, axes and indices live in small int64 tensors.
    std::string &raw = *tensor.mutable_raw_data();
    if (tensor.data_type() == onnx::TensorProto::INT64 && raw.size() >= 8) {
      int64_t value = oddNumber();
      std::memcpy(&raw[8 * below(raw.size() / 8)], &value, 8);
    } else if (!raw.empty()) {
      raw[below(raw.size())] ^= char(random());
    }
  }
  }
}

void Mutator::mutateValue(onnx::ValueInfoProto &value) {
  onnx::TypeProto::Tensor &type = *value.mutable_type()->mutable_tensor_type();
  auto &dims = *type.mutable_shape()->mutable_dim();
  if (dims.size() && below(2))
    dims.Mutable(int(below(dims.size())))->set_dim_value(oddNumber());
  else if (below(2))
    type.set_elem_type(int(below(20)));
  else
    type.mutable_shape()->add_dim()->set_dim_value(oddNumber());
}

void Mutator::mutateModel(onnx::ModelProto &model) {
  onnx::GraphProto &graph = *model.mutable_graph();
  for (size_t count = 1 + below(3); count-- > 0;) {
    size_t kind = below(12);
    if (kind < 5 && graph.node_size())
      mutateNode(graph, *graph.mutable_node(int(below(graph.node_size()))));
    else if (kind < 8 && graph.initializer_size())
      mutateTensor(
          *graph.mutable_initializer(int(below(graph.initializer_size()))));
    else if (kind == 8 && graph.input_size())
      mutateValue(*graph.mutable_input(int(below(graph.input_size()))));
    else if (kind == 9 && graph.node_size() > 1)
      graph.mutable_node()->SwapElements(int(below(graph.node_size())),
                                         int(below(graph.node_size())));
    else if (kind == 10 && graph.node_size() > 1)
      graph.mutable_node()->DeleteSubrange(int(below(graph.node_size())), 1);
    else if (model.opset_import_size())
      model.mutable_opset_import(0)->set_version(int64_t(below(30)));
  }
}

std::string Mutator::mutate(const std::string &original) {
  std::string bytes = original;
  onnx::ModelProto model;
  google::protobuf::LogSilencer silence;
  if (below(2) && model.ParseFromString(original)) {
    mutateModel(model);
    bytes = model.SerializeAsString();
  } else {
    mutateBytes(bytes);
  }
  return bytes;
}

static bool writeFile(StringRef path, StringRef bytes) {
  std::error_code error;
  raw_fd_ostream stream(path, error);
  stream << bytes;
  return !error;
}

namespace {
struct Tally {
  size_t imported = 0, refused = 0, improper = 0;
  double slowest = 0; ///< seconds
};
} // namespace

static void importOne(const std::string &file, uint64_t index, Tally &tally) {
  echelon::ImportOptions options;
  options.micro = 4;
  options.inputShapes = {{"input_ids", {4, 12}}, {"attention_mask", {4, 12}}};
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  echelon::ImportReport report;
  auto start = std::chrono::steady_clock::now();
  auto module = echelon::importModel(file, options, context, report);
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  tally.slowest = std::max(tally.slowest, seconds.count());
  if (module) {
    ++tally.imported;
    return;
  }
  ++tally.refused;
  std::string message = toString(module.takeError());
  // An op that MLIR's verifier refuses is the importer's fault, not the
  // model's.
  if (message.size() < 10 ||
      StringRef(message).starts_with("imported op does not")) {
    ++tally.improper;
    outs() << "mutation " << index << ": " << message << "\n";
  }
}

int main(int argc, char **argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  SmallString<128> folder;
  bool isKept = arguments.size() > 2 && arguments[0] == "--keep";
  if (isKept) {
    folder = arguments[1];
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  } else if (sys::fs::createUniqueDirectory("echelon-fuzz", folder)) {
    return 1;
  }
  uint64_t count, seed;
  if (arguments.size() < 3 || StringRef(arguments[0]).getAsInteger(10, count) ||
      StringRef(arguments[1]).getAsInteger(10, seed)) {
    errs() << "usage: echelon-fuzz-import [--keep DIR] COUNT SEED MODEL...\n";
    return 2;
  }
  std::vector<std::string> originals;
  for (size_t i = 2; i < arguments.size(); ++i) {
    auto buffer = MemoryBuffer::getFile(arguments[i]);
    if (!buffer) {
      errs() << "cannot read '" << arguments[i] << "'\n";
      return 1;
    }
    originals.push_back((*buffer)->getBuffer().str());
  }
  Mutator mutator(seed);
  Tally tally;
  for (uint64_t i = 0; i < count; ++i) {
    std::string file =
        (folder + "/mutant" + (isKept ? Twine(i) : Twine("")) + ".onnx").str();
    if (!writeFile(file, mutator.mutate(originals[i % originals.size()])))
      return 1;
    importOne(file, i, tally);
  }
  outs() << tally.imported << " imported, " << tally.refused << " refused, "
         << tally.improper << " without a proper message, slowest "
         << int64_t(tally.slowest * 1000) << " ms\n";
  if (!isKept)
    sys::fs::remove_directories(folder);
  return tally.improper ? 1 : 0;
}

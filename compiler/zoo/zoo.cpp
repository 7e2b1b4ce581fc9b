// SPDX-License-Identifier: Apache-2.0
//
// Checking the options, building the model and writing its files.
#include "compiler/zoo/zoo.h"
#include "compiler/zoo/builder.h"
#include "compiler/zoo/families.h"
#include "compiler/zoo/weights.h"
#include "compiler/spec/output_file.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

namespace echelon {

using namespace zoo;

namespace {

constexpr int64_t kIrVersion = 8;
constexpr int64_t kOpset = 17;
// Offsets in the data file; a cache line, so that mapped weights are aligned.
constexpr uint64_t kDataAlignment = 64;
constexpr int64_t kMaxTableBytes = int64_t(256) << 20;
constexpr size_t kChunkElements = size_t(1) << 16;

struct Bound {
  const char *flag;
  int64_t value, low, high;
};

std::string checkBound(const Bound &bound) {
  if (bound.value >= bound.low && bound.value <= bound.high)
    return "";
  return std::string(bound.flag) + " is " + std::to_string(bound.value) +
         ", but must be in [" + std::to_string(bound.low) + ", " +
         std::to_string(bound.high) + "]";
}

std::vector<std::string> checkOptions(const ZooOptions &o) {
  std::vector<std::string> faults;
  // The limits keep every product of sizes within 63 bits.
  for (const Bound &bound : {Bound{"--layers", o.layers, 1, 1 << 16},
                             Bound{"--hidden", o.hidden, 1, 1 << 20},
                             Bound{"--heads", o.heads, 1, 1 << 16},
                             Bound{"--kv-heads", o.kvHeads, 1, 1 << 16},
                             Bound{"--ffn", o.ffn, 1, 1 << 22},
                             Bound{"--vocab", o.vocab, 1, 1 << 24},
                             Bound{"--seq", o.seq, 1, 1 << 24}})
    if (std::string fault = checkBound(bound); !fault.empty())
      faults.push_back(fault);
  if (!(o.dropout >= 0 && o.dropout < 1))
    faults.push_back("--dropout must be in [0, 1)");
  if (!faults.empty())
    return faults;
  if (o.hidden % o.heads != 0)
    faults.push_back("--hidden " + std::to_string(o.hidden) +
                     " is not a multiple of --heads " +
                     std::to_string(o.heads));
  if (o.heads % o.kvHeads != 0)
    faults.push_back("--heads " + std::to_string(o.heads) +
                     " is not a multiple of --kv-heads " +
                     std::to_string(o.kvHeads));
  bool isLlama = o.family == ZooOptions::Family::Llama;
  if (!isLlama && o.kvHeads != o.heads)
    faults.push_back("--kv-heads " + std::to_string(o.kvHeads) +
                     " differs from --heads " + std::to_string(o.heads) +
                     ", which only llama knows");
  if (isLlama && (o.hidden / o.heads) % 2 != 0)
    faults.push_back("--hidden / --heads is " +
                     std::to_string(o.hidden / o.heads) +
                     ", but rotary embeddings need an even head dim");
  // Both tables, f32, stay in the model file itself.
  int64_t tableBytes = o.seq * (o.hidden / o.heads) * 8;
  if (isLlama && tableBytes > kMaxTableBytes)
    faults.push_back("--seq " + std::to_string(o.seq) + " gives " +
                     std::to_string(tableBytes >> 20) +
                     " MiB of rotary tables, but at most " +
                     std::to_string(kMaxTableBytes >> 20) +
                     " MiB fit into the model file");
  return faults;
}

void addSizes(onnx::ValueInfoProto &value, const char *name, int32_t type,
              llvm::ArrayRef<std::pair<const char *, int64_t>> dims) {
  value.set_name(name);
  auto &tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  for (const auto &[symbol, size] : dims) {
    auto &dim = *tensor.mutable_shape()->add_dim();
    if (symbol)
      dim.set_dim_param(symbol);
    else
      dim.set_dim_value(size);
  }
}

std::vector<Parameter> buildGraph(onnx::GraphProto &graph,
                                  const ZooOptions &options) {
  bool isGpt = options.family == ZooOptions::Family::Gpt;
  graph.set_name(isGpt ? "gpt" : "llama");
  const char *seqSymbol = options.symbolicSeq ? "seq" : nullptr;
  addSizes(*graph.add_input(), "input_ids", onnx::TensorProto::INT64,
           {{"batch", 0}, {seqSymbol, options.seq}});
  addSizes(*graph.add_output(), "logits", onnx::TensorProto::FLOAT,
           {{"batch", 0}, {seqSymbol, options.seq}, {nullptr, options.vocab}});
  GraphBuilder builder(graph);
  (isGpt ? buildGpt : buildLlama)(builder, options);
  return builder.parameters();
}

/// Calls `take` with consecutive pieces of the parameter's values.
void makeValues(const Parameter &parameter, int64_t seed,
                llvm::function_ref<void(llvm::ArrayRef<float>)> take) {
  int64_t count = parameter.elements();
  std::vector<float> chunk(
      std::min<size_t>(kChunkElements, static_cast<size_t>(count)),
      static_cast<float>(parameter.mean));
  for (int64_t first = 0; first < count;
       first += static_cast<int64_t>(chunk.size())) {
    size_t size =
        std::min<size_t>(chunk.size(), static_cast<size_t>(count - first));
    llvm::MutableArrayRef<float> piece(chunk.data(), size);
    if (parameter.std != 0)
      fillNormal(seed, parameter.name, first, parameter.mean, parameter.std,
                 piece);
    take(piece);
  }
}

void addExternal(onnx::TensorProto &tensor, const char *key,
                 std::string value) {
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto &entry = *tensor.add_external_data();
  entry.set_key(key);
  entry.set_value(std::move(value));
}

void declareRule(onnx::TensorProto &tensor, const Parameter &parameter) {
  addExternal(tensor, "location", "echelon:init");
  if (parameter.std == 0) {
    addExternal(tensor, "kind", parameter.mean == 0 ? "zeros" : "ones");
    return;
  }
  addExternal(tensor, "kind", "normal");
  // Enough digits to read back as the same double.
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", parameter.std);
  addExternal(tensor, "std", text);
}

/// Adds the parameters as initializers in one of three ways; the result is the
/// size of the data file.
int64_t addInitializers(onnx::GraphProto &graph,
                        const std::vector<Parameter> &parameters,
                        const ZooOptions &options, bool isExternal,
                        llvm::StringRef dataName) {
  uint64_t offset = 0;
  for (const Parameter &parameter : parameters) {
    onnx::TensorProto &tensor = *graph.add_initializer();
    tensor.set_name(parameter.name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    for (int64_t size : parameter.shape)
      tensor.add_dims(size);
    uint64_t bytes =
        static_cast<uint64_t>(parameter.elements()) * sizeof(float);
    if (!options.withWeights) {
      declareRule(tensor, parameter);
    } else if (isExternal) {
      offset = llvm::alignTo(offset, kDataAlignment);
      addExternal(tensor, "location", dataName.str());
      addExternal(tensor, "offset", std::to_string(offset));
      addExternal(tensor, "length", std::to_string(bytes));
      offset += bytes;
    } else {
      std::string &raw = *tensor.mutable_raw_data();
      raw.reserve(bytes);
      makeValues(parameter, options.seed, [&](llvm::ArrayRef<float> values) {
        raw.append(reinterpret_cast<const char *>(values.data()),
                   values.size() * sizeof(float));
      });
    }
  }
  return static_cast<int64_t>(offset);
}

llvm::Error writeData(llvm::StringRef path,
                      const std::vector<Parameter> &parameters, int64_t seed) {
  return writeWholeFile(path, [&](llvm::raw_ostream &out) {
    for (const Parameter &parameter : parameters) {
      uint64_t aligned = llvm::alignTo(out.tell(), kDataAlignment);
      out.write_zeros(static_cast<unsigned>(aligned - out.tell()));
      makeValues(parameter, seed, [&](llvm::ArrayRef<float> values) {
        out.write(reinterpret_cast<const char *>(values.data()),
                  values.size() * sizeof(float));
      });
    }
    return llvm::Error::success();
  });
}

/// Lets protobuf write to an LLVM stream, which keeps its own errors.
class StreamAdapter : public google::protobuf::io::CopyingOutputStream {
public:
  explicit StreamAdapter(llvm::raw_ostream &out) : out(out) {}
  bool Write(const void *buffer, int size) override {
    out.write(static_cast<const char *>(buffer), static_cast<size_t>(size));
    return true;
  }

private:
  llvm::raw_ostream &out;
};

llvm::Error serialize(const onnx::ModelProto &model, llvm::raw_ostream &out) {
  StreamAdapter adapter(out);
  google::protobuf::io::CopyingOutputStreamAdaptor stream(&adapter);
  if (!model.SerializeToZeroCopyStream(&stream) || !stream.Flush())
    return llvm::createStringError(
        llvm::inconvertibleErrorCode(),
        "the model exceeds what one ONNX file can hold (2 GiB)");
  return llvm::Error::success();
}

llvm::Expected<ZooSummary> buildAndWrite(const ZooOptions &options,
                                         llvm::StringRef path,
                                         int64_t inlineLimitBytes) {
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("echelon");
  onnx::OperatorSetIdProto &opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(kOpset);

  onnx::GraphProto &graph = *model.mutable_graph();
  std::vector<Parameter> parameters = buildGraph(graph, options);
  ZooSummary summary;
  summary.tensors = static_cast<int64_t>(parameters.size());
  summary.nodes = graph.node_size();
  for (const Parameter &parameter : parameters)
    summary.parameters += parameter.elements();

  bool isExternal =
      options.withWeights &&
      summary.parameters * int64_t(sizeof(float)) > inlineLimitBytes;
  std::string dataPath = (path + ".data").str();
  summary.dataBytes = addInitializers(graph, parameters, options, isExternal,
                                      llvm::sys::path::filename(dataPath));
  // The data file takes its name before the model that points at it does.
  llvm::Error error =
      writeWholeFile(path, [&](llvm::raw_ostream &out) -> llvm::Error {
        if (llvm::Error failed = serialize(model, out))
          return failed;
        summary.fileBytes = static_cast<int64_t>(out.tell());
        if (!isExternal)
          return llvm::Error::success();
        return writeData(dataPath, parameters, options.seed);
      });
  if (error)
    return llvm::Expected<ZooSummary>(std::move(error));
  return summary;
}

} // namespace

llvm::Expected<ZooOptions> resolveZooOptions(const ZooOptions &options) {
  ZooOptions resolved = options;
  if (resolved.kvHeads == 0)
    resolved.kvHeads = resolved.heads;
  if (resolved.ffn == 0 && resolved.hidden > 0 && resolved.hidden <= 1 << 20)
    resolved.ffn = resolved.family == ZooOptions::Family::Gpt
                       ? 4 * resolved.hidden
                       : static_cast<int64_t>(llvm::alignTo(
                             llvm::divideCeil(8 * resolved.hidden, 3), 64));
  std::vector<std::string> faults = checkOptions(resolved);
  if (faults.empty())
    return resolved;
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 llvm::join(faults, "\n"));
}

int64_t countZooParameters(const ZooOptions &o) {
  int64_t table = o.vocab * o.hidden;
  int64_t count = o.tie ? table : 2 * table;
  if (o.family == ZooOptions::Family::Gpt) {
    int64_t attention = 4 * o.hidden * o.hidden + 4 * o.hidden;
    int64_t mlp = 2 * o.hidden * o.ffn + o.ffn + o.hidden;
    int64_t norms = 4 * o.hidden;
    return count + o.seq * o.hidden + o.layers * (attention + mlp + norms) +
           2 * o.hidden;
  }
  int64_t kvWidth = o.hidden / o.heads * o.kvHeads;
  int64_t attention = 2 * o.hidden * o.hidden + 2 * o.hidden * kvWidth;
  int64_t mlp = 3 * o.hidden * o.ffn;
  return count + o.layers * (attention + mlp + 2 * o.hidden) + o.hidden;
}

llvm::Expected<ZooSummary> writeZooModel(const ZooOptions &options,
                                         llvm::StringRef path,
                                         int64_t inlineLimitBytes) {
  llvm::Expected<ZooOptions> resolved = resolveZooOptions(options);
  if (!resolved)
    return resolved.takeError();
  try {
    return buildAndWrite(*resolved, path, inlineLimitBytes);
  } catch (const std::exception &e) { // protobuf and bad_alloc
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   std::string("cannot build the model: ") +
                                       e.what());
  }
}

} // namespace echelon

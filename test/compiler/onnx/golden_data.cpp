// SPDX-License-Identifier: Apache-2.0
//
// safetensors: 8 bytes of header length, a JSON header, the data.
#include "test/compiler/onnx/golden_data.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

using namespace llvm;

namespace echelon::test {

static std::string pathIn(StringRef folder, StringRef name) {
  SmallString<256> path(folder);
  sys::path::append(path, name);
  return path.str().str();
}

template <typename T>
static std::vector<double> readAs(const char *data, size_t bytes) {
  std::vector<double> values(bytes / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, data + i * sizeof(T), sizeof(T));
    values[i] = double(value);
  }
  return values;
}

Expected<std::map<std::string, RefTensor>> readSafetensors(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path, false, false);
  if (!buffer || (*buffer)->getBufferSize() < 8)
    return createStringError("cannot read '" + path + "'");
  const char *start = (*buffer)->getBufferStart();
  uint64_t length;
  std::memcpy(&length, start, 8);
  auto header = nlohmann::json::parse(start + 8, start + 8 + length, nullptr,
                                      /*allow_exceptions=*/false);
  if (header.is_discarded())
    return createStringError("'" + path + "' has no JSON header");
  std::map<std::string, RefTensor> tensors;
  for (auto &[name, entry] : header.items()) {
    if (name == "__metadata__")
      continue;
    uint64_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
    const char *data = start + 8 + length + begin;
    size_t bytes = end - begin;
    std::string type = entry["dtype"];
    RefTensor tensor;
    for (int64_t size : entry["shape"])
      tensor.shape.push_back(size);
    tensor.values = type == "F32"   ? readAs<float>(data, bytes)
                    : type == "F64" ? readAs<double>(data, bytes)
                    : type == "I64" ? readAs<int64_t>(data, bytes)
                    : type == "I32" ? readAs<int32_t>(data, bytes)
                                    : readAs<uint8_t>(data, bytes);
    tensors[name] = std::move(tensor);
  }
  return tensors;
}

static Expected<std::vector<RefTensor>> batchZero(mlir::func::FuncOp function,
                                                  StringRef folder) {
  auto batches = readSafetensors(pathIn(folder, "batches.safetensors"));
  if (!batches)
    return batches.takeError();
  std::vector<RefTensor> arguments;
  for (unsigned index = 0; index < function.getNumArguments(); ++index) {
    auto name =
        function.getArgAttrOfType<mlir::StringAttr>(index, "graph.name");
    auto at = batches->find("0." + name.str());
    if (at == batches->end())
      return createStringError("batches have no input '" + name.str() + "'");
    arguments.push_back(at->second);
  }
  return arguments;
}

static Expected<RefTensor> expectedOutput(StringRef output, StringRef folder) {
  if (output != "loss") {
    auto logits = readSafetensors(pathIn(folder, "logits.safetensors"));
    if (!logits)
      return logits.takeError();
    return logits->begin()->second;
  }
  auto text = MemoryBuffer::getFile(pathIn(folder, "golden.json"));
  if (!text)
    return createStringError("cannot read golden.json of '" + folder + "'");
  auto golden =
      nlohmann::json::parse((*text)->getBuffer().str(), nullptr, false);
  return RefTensor{{}, {golden["steps"][0]["loss"].get<double>()}};
}

Expected<GoldenDifference> compareWithGolden(mlir::ModuleOp module,
                                             StringRef folder) {
  auto function = module.lookupSymbol<mlir::func::FuncOp>("forward");
  auto variables = firstValues(module, folder);
  if (!variables)
    return variables.takeError();
  auto arguments = batchZero(function, folder);
  if (!arguments)
    return arguments.takeError();
  auto results = interpret(function.front(), *arguments, *variables);
  if (!results)
    return results.takeError();
  GoldenDifference difference;
  difference.output =
      function.getResultAttrOfType<mlir::StringAttr>(0, "graph.name").str();
  auto expected = expectedOutput(difference.output, folder);
  if (!expected)
    return expected.takeError();
  const RefTensor &computed = results->front();
  if (computed.shape != expected->shape)
    return createStringError("output has another shape than the golden one");
  for (size_t i = 0; i < computed.values.size(); ++i) {
    double distance = std::fabs(computed.values[i] - expected->values[i]);
    if (!(distance <= difference.largest))
      difference.largest = distance;
    difference.golden =
        std::max(difference.golden, std::fabs(expected->values[i]));
  }
  return difference;
}

} // namespace echelon::test

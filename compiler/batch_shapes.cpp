// SPDX-License-Identifier: Apache-2.0
//
// Shapes from a safetensors header (8 bytes of length, then JSON).
#include "compiler/batch_shapes.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace echelon {

constexpr uint64_t kMostHeaderBytes = 100'000'000; // the limit that the format's own reader has

static Error batchError(StringRef path, const Twine &message) {
  return createStringError(inconvertibleErrorCode(), "'" + path + "': " + message);
}

static Expected<json::Value> readHeader(StringRef path) {
  auto start = MemoryBuffer::getFileSlice(path, 8, 0);
  if (!start)
    return batchError(path, "cannot read the batches: " + start.getError().message());
  if ((*start)->getBufferSize() < 8)
    return batchError(path, "is too short for a safetensors file");
  uint64_t length = support::endian::read64le((*start)->getBufferStart());
  if (length < 2 || length > kMostHeaderBytes)
    return batchError(path, "is not a safetensors file: its header would have " + Twine(length) + " bytes");
  auto text = MemoryBuffer::getFileSlice(path, length, 8);
  if (!text || (*text)->getBufferSize() != length)
    return batchError(path, "ends inside its header");
  Expected<json::Value> header = json::parse((*text)->getBuffer());
  if (!header)
    return batchError(path, "has a broken header: " + toString(header.takeError()));
  return header;
}

Expected<BatchShapes> readBatchShapes(StringRef path, int64_t micro, int64_t accumulate) {
  Expected<json::Value> header = readHeader(path);
  if (!header)
    return header.takeError();
  const json::Object *tensors = header->getAsObject();
  BatchShapes result;
  int64_t rows = -1;
  std::string first;
  if (!tensors)
    return batchError(path, "has a header that is no JSON object");
  for (const auto &[key, value] : *tensors) {
    StringRef name = key;
    if (!name.consume_front("0."))
      continue;
    const json::Object *entry = value.getAsObject();
    const json::Array *shape = entry ? entry->getArray("shape") : nullptr;
    if (!shape || shape->empty())
      return batchError(path, "tensor '0." + name + "' has no rows");
    std::vector<int64_t> sizes;
    for (const json::Value &size : *shape)
      sizes.push_back(size.getAsInteger().value_or(-1));
    if (*std::min_element(sizes.begin(), sizes.end()) < 1)
      return batchError(path, "tensor '0." + name + "' has an empty or unreadable shape");
    if (rows >= 0 && sizes[0] != rows)
      return batchError(path, "'0." + first + "' has " + Twine(rows) + " rows, '0." + name + "' has " +
                                  Twine(sizes[0]));
    rows = sizes[0];
    first = name.str();
    result.inputs[name.str()] = std::move(sizes);
  }
  if (rows < 0)
    return batchError(path, "has no tensor of step 0; tensors are named <step>.<input>, such as '0.input_ids'");
  if (micro == 0 && rows % accumulate != 0)
    return batchError(path, "has " + Twine(rows) + " rows a step, not a multiple of batch.accumulate " +
                                Twine(accumulate));
  result.micro = micro ? micro : rows / accumulate;
  if (rows % result.micro != 0)
    return batchError(path, "has " + Twine(rows) + " rows a step, not a multiple of batch.micro " +
                                Twine(result.micro));
  if (accumulate > 1 && result.micro * accumulate != rows)
    return batchError(path, "has " + Twine(rows) + " rows a step; batch.micro " + Twine(result.micro) +
                                " x batch.accumulate " + Twine(accumulate) + " makes " +
                                Twine(result.micro * accumulate));
  result.accumulate = rows / result.micro;
  for (auto &[name, sizes] : result.inputs)
    sizes[0] = result.micro;
  return result;
}

} // namespace echelon

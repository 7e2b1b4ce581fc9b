// SPDX-License-Identifier: Apache-2.0
//
// The writer of safetensors files.
#include "runtime/io/safetensors.h"

#include "runtime/base/json_writer.h"

#include <algorithm>
#include <cstring>

namespace echelon::runtime {

namespace {

// write() of a huge range returns short anyway (2 GiB on Linux); blocks of this
// size keep the hash in cache with the copy into the page cache.
constexpr uint64_t kBlock = uint64_t{1} << 20;

} // namespace

const char *safetensorsName(int dtype) {
  switch (dtype) {
  case ECH_F32:
    return "F32";
  case ECH_BF16:
    return "BF16";
  case ECH_F64:
    return "F64";
  case ECH_I32:
    return "I32";
  case ECH_I64:
    return "I64";
  default:
    return "BOOL";
  }
}

void SafetensorsWriter::add(std::string_view name, int dtype,
                            const int64_t *shape, int64_t rank,
                            const void *data, uint64_t bytes) {
  entries.push_back({std::string(name), dtype,
                     std::vector<int64_t>(shape, shape + rank), data, bytes});
}

void SafetensorsWriter::finish() {
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    uint64_t widthA = safetensorsElementBytes(safetensorsName(a.dtype));
    uint64_t widthB = safetensorsElementBytes(safetensorsName(b.dtype));
    return widthA != widthB ? widthA > widthB : a.name < b.name;
  });
  std::string text;
  JsonWriter json(text);
  json.beginObject();
  // PyTorch-side readers ask for this key before they accept a file.
  json.key("__metadata__");
  json.beginObject();
  json.key("format");
  json.text("pt");
  json.endObject();
  uint64_t offset = 0;
  for (const Entry &entry : entries) {
    json.key(entry.name);
    json.beginObject();
    json.key("dtype");
    json.text(safetensorsName(entry.dtype));
    json.key("shape");
    json.beginArray();
    for (int64_t dim : entry.shape)
      json.integer(dim);
    json.endArray();
    json.key("data_offsets");
    json.beginArray();
    json.unsignedInteger(offset);
    json.unsignedInteger(offset += entry.bytes);
    json.endArray();
    json.endObject();
  }
  json.endObject();
  text.resize((text.size() + 8 + 63) / 64 * 64 - 8, ' ');
  uint64_t length = text.size();
  header.assign(reinterpret_cast<const char *>(&length), 8);
  header += text;
}

Status SafetensorsWriter::write(const char *path, Written &written) const {
  FileWriter file;
  Xxh64 hash;
  ECH_RETURN_IF_FAILED(file.open(path));
  ECH_RETURN_IF_FAILED(file.write(header.data(), header.size()));
  hash.update(header.data(), header.size());
  written.bytes = header.size();
  for (const Entry &entry : entries) {
    const char *data = static_cast<const char *>(entry.data);
    for (uint64_t done = 0; done < entry.bytes; done += kBlock) {
      uint64_t size = std::min(kBlock, entry.bytes - done);
      hash.update(data + done, size);
      ECH_RETURN_IF_FAILED(file.write(data + done, size));
    }
    written.bytes += entry.bytes;
  }
  written.hash = hash.digest();
  return file.syncAndClose();
}

} // namespace echelon::runtime

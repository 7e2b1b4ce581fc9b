// SPDX-License-Identifier: Apache-2.0
//
// The reader of safetensors files. Every number in the header is an attacker's
// until checked.
#include "runtime/io/safetensors.h"

#include "runtime/base/json_reader.h"

#include <algorithm>
#include <cstring>

namespace echelon::runtime {

namespace {

// The format's own limit on the header (safetensors/src/tensor.rs:
// MAX_HEADER_SIZE).
constexpr uint64_t kMaximumHeader = 100'000'000;
constexpr size_t kMaximumRank = 16;

struct Dtype {
  const char *name;
  uint64_t bytes;
};

constexpr Dtype kDtypes[] = {
    {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
    {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
    {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8},
};

Status tensorFailure(const std::string &path, const std::string &name,
                     const char *reason) {
  return failure(ECH_EXIT_INPUT, "'%s': tensor '%s' %s", path.c_str(),
                 name.c_str(), reason);
}

// Fills shape and bytes of `view` from a header entry.
const char *readShape(const JsonValue &entry, TensorView &view) {
  const JsonValue *dtype = entry.find("dtype");
  const JsonValue *shape = entry.find("shape");
  if (!dtype || dtype->kind != JsonKind::Text)
    return "has no dtype";
  if (!shape || shape->kind != JsonKind::Array ||
      shape->items.size() > kMaximumRank)
    return "has no shape of at most 16 dims";
  view.dtype = dtype->text;
  view.bytes = safetensorsElementBytes(view.dtype);
  if (view.bytes == 0)
    return "has an unknown dtype";
  for (const JsonValue &dim : shape->items) {
    if (!dim.isUnsigned || dim.unsignedNumber > INT64_MAX)
      return "has a dim that is no whole number";
    if (__builtin_mul_overflow(view.bytes, dim.unsignedNumber, &view.bytes))
      return "has a shape that overflows 64 bits";
    view.shape.push_back(static_cast<int64_t>(dim.unsignedNumber));
  }
  return nullptr;
}

const char *readEntry(const JsonValue &entry, const uint8_t *data,
                      uint64_t dataBytes, TensorView &view) {
  if (entry.kind != JsonKind::Object || entry.keys.size() != 3)
    return "is not an object of dtype, shape and data_offsets";
  if (const char *reason = readShape(entry, view))
    return reason;
  const JsonValue *offsets = entry.find("data_offsets");
  if (!offsets || offsets->items.size() != 2 || !offsets->items[0].isUnsigned ||
      !offsets->items[1].isUnsigned)
    return "has no pair of data_offsets";
  uint64_t begin = offsets->items[0].unsignedNumber;
  uint64_t end = offsets->items[1].unsignedNumber;
  if (begin > end || end > dataBytes)
    return "has data_offsets outside of the file";
  if (end - begin != view.bytes)
    return "has data_offsets that differ from its shape times its dtype";
  view.data = data + begin;
  return nullptr;
}

// The data must be covered exactly: neither gaps that hide bytes nor overlaps.
Status checkCoverage(const std::string &path, const uint8_t *data,
                     uint64_t dataBytes, const std::vector<TensorView> &views) {
  std::vector<const TensorView *> order;
  for (const TensorView &view : views)
    order.push_back(&view);
  std::sort(
      order.begin(), order.end(), [](const TensorView *a, const TensorView *b) {
        return a->data != b->data ? a->data < b->data : a->bytes < b->bytes;
      });
  const uint8_t *end = data;
  for (const TensorView *view : order) {
    if (view->data != end)
      return tensorFailure(path, view->name,
                           view->data < end ? "overlaps another"
                                            : "follows a gap in the data");
    end = view->data + view->bytes;
  }
  if (end != data + dataBytes)
    return failure(ECH_EXIT_INPUT,
                   "'%s': %llu bytes of data belong to no tensor", path.c_str(),
                   static_cast<unsigned long long>(data + dataBytes - end));
  return {};
}

} // namespace

uint64_t safetensorsElementBytes(std::string_view dtype) {
  for (const Dtype &known : kDtypes)
    if (dtype == known.name)
      return known.bytes;
  return 0;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  Result<MappedFile> mapping = MappedFile::open(path);
  if (!mapping.isOk())
    return mapping.status();
  SafetensorsFile file;
  file.mapped = std::move(mapping.value());
  uint64_t size = file.mapped.size(), headerBytes = 0;
  if (size < 8)
    return failure(ECH_EXIT_INPUT,
                   "'%s' has %llu bytes, too few for a safetensors file",
                   path.c_str(), static_cast<unsigned long long>(size));
  memcpy(&headerBytes, file.mapped.data(), 8);
  if (headerBytes > kMaximumHeader || headerBytes > size - 8)
    return failure(ECH_EXIT_INPUT,
                   "'%s': header of %llu bytes does not fit in a file of %llu: "
                   "truncated, or not a safetensors file",
                   path.c_str(), static_cast<unsigned long long>(headerBytes),
                   static_cast<unsigned long long>(size));
  std::string_view text(reinterpret_cast<const char *>(file.mapped.data()) + 8,
                        headerBytes);
  Result<JsonValue> header = parseJson(text, {4, size_t{1} << 21});
  if (!header.isOk() || header.value().kind != JsonKind::Object)
    return failure(
        ECH_EXIT_INPUT, "'%s': bad safetensors header: %s", path.c_str(),
        header.isOk() ? "not an object" : header.status().message.c_str());
  const uint8_t *data = file.mapped.data() + 8 + headerBytes;
  uint64_t dataBytes = size - 8 - headerBytes;
  const JsonValue &object = header.value();
  for (size_t i = 0; i < object.keys.size(); ++i) {
    if (object.keys[i] == "__metadata__")
      continue;
    TensorView view;
    view.name = object.keys[i];
    if (const char *reason = readEntry(object.items[i], data, dataBytes, view))
      return tensorFailure(path, view.name, reason);
    file.views.push_back(std::move(view));
  }
  ECH_RETURN_IF_FAILED(checkCoverage(path, data, dataBytes, file.views));
  return file;
}

const TensorView *SafetensorsFile::find(std::string_view name) const {
  auto found =
      std::lower_bound(views.begin(), views.end(), name,
                       [](const TensorView &view, std::string_view key) {
                         return view.name < key;
                       });
  return found != views.end() && found->name == name ? &*found : nullptr;
}

} // namespace echelon::runtime

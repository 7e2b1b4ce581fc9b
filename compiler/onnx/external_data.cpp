// SPDX-License-Identifier: Apache-2.0
//
// Tensor values: inline in the model file, typed fields, or external data. The
// external file must lie beneath the model's folder and hold all of the slice.
#include "compiler/onnx/model.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace echelon::onnx_import {

std::shared_ptr<MemoryBuffer> TensorReader::open(StringRef location,
                                                 const std::string &where) {
  std::shared_ptr<MemoryBuffer> &file = files[location];
  if (file)
    return file;
  if (location.empty() || location.contains('\0') ||
      sys::path::is_absolute(location) ||
      is_contained(SmallVector<StringRef>(sys::path::begin(location),
                                          sys::path::end(location)),
                   ".."))
    fail(where + ": external data location '" + location +
         "' must be a relative path without '..'");
  SmallString<256> path(model.folder), real, realFolder;
  sys::path::append(path, location);
  StringRef folder = model.folder.empty() ? "." : StringRef(model.folder);
  if (std::error_code error = sys::fs::real_path(path, real))
    fail(where + ": external data file '" + path + "': " + error.message() +
         "; copy it next to the model");
  if (std::error_code error = sys::fs::real_path(folder, realFolder))
    fail(where + ": folder '" + folder + "': " + error.message());
  StringRef inside(real);
  if (!inside.consume_front(realFolder) ||
      !(inside.starts_with("/") || inside.empty() || realFolder == "/"))
    fail(where + ": external data file '" + path +
         "' is a link that leaves the model's folder");
  if (!sys::fs::is_regular_file(real))
    fail(where + ": external data '" + path + "' is not a regular file");
  auto buffer = MemoryBuffer::getFile(real, /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false);
  if (!buffer)
    fail(where + ": external data file '" + path +
         "': " + buffer.getError().message());
  file = std::move(*buffer);
  return file;
}

namespace {
using Entries = std::map<std::string, std::string>;
}

static uint64_t numberAt(const Entries &entries, StringRef key,
                         uint64_t whenAbsent, const std::string &where) {
  auto at = entries.find(key.str());
  uint64_t value = whenAbsent;
  if (at != entries.end() && StringRef(at->second).getAsInteger(10, value))
    fail(where + ": external data " + key + " '" + at->second +
         "' is not a number of bytes");
  return value;
}

static double realAt(const Entries &entries, StringRef key,
                     const std::string &where) {
  auto at = entries.find(key.str());
  double value = 0;
  if (at != entries.end() && StringRef(at->second).getAsDouble(value))
    fail(where + ": init rule has " + key + " '" + at->second +
         "', which is not a number");
  return value;
}

static InitRule readRule(const Entries &entries, const std::string &where) {
  auto at = entries.find("kind");
  StringRef kind = at == entries.end() ? "" : StringRef(at->second);
  if (kind == "zeros")
    return {InitRule::Kind::Constant, 0, 0};
  if (kind == "ones")
    return {InitRule::Kind::Constant, 1, 0};
  if (kind == "constant")
    return {InitRule::Kind::Constant, realAt(entries, "value", where), 0};
  if (kind == "normal")
    return {InitRule::Kind::Normal, realAt(entries, "mean", where),
            realAt(entries, "std", where)};
  if (kind == "uniform")
    return {InitRule::Kind::Uniform, realAt(entries, "low", where),
            realAt(entries, "high", where)};
  fail(where + ": init rule has kind '" + kind +
       "'; known: zeros, ones, constant, normal, uniform");
}

void TensorReader::readExternal(const onnx::TensorProto &proto, Tensor &tensor,
                                const std::string &where) {
  Entries entries;
  for (const onnx::StringStringEntryProto &entry : proto.external_data())
    entries[entry.key()] = entry.value();
  const std::string &location = entries["location"];
  if (location == "echelon:init") {
    tensor.rule = readRule(entries, where);
    return;
  }
  std::shared_ptr<MemoryBuffer> file = open(location, where);
  uint64_t need = uint64_t(tensor.values.bytes());
  uint64_t offset = numberAt(entries, "offset", 0, where);
  uint64_t length = numberAt(entries, "length", need, where);
  uint64_t have = file->getBufferSize();
  if (length != need)
    fail(where + " needs " + Twine(need) + " bytes by its shape " +
         textOf(tensor.values.shape) + " of " + nameOf(tensor.values.type) +
         ", but its external data has length " + Twine(length));
  if (offset > have || need > have - offset)
    fail(where + ": external data at offset " + Twine(offset) + ", length " +
         Twine(need) + ", ends beyond '" + location + "', which has " +
         Twine(have) + " bytes");
  tensor.values.data =
      reinterpret_cast<const uint8_t *>(file->getBufferStart()) + offset;
  tensor.values.owner = file;
  tensor.place = DataPlace{location, offset, length};
}

/// The bytes that the tensor's shape asks for; a shape that no tensor can have is told with its owner.
static uint64_t neededBytes(const HostTensor &tensor, const std::string &where) {
  try {
    return uint64_t(tensor.bytes());
  } catch (const ImportFailure &failure) {
    fail(where + ": " + failure.what());
  }
}

/// Values kept in a typed field other than a packed float array.
static HostTensor readTyped(const onnx::TensorProto &proto, DataType type,
                            const Shape &shape, const std::string &where) {
  std::vector<int64_t> integers;
  std::vector<double> reals;
  switch (type) {
  case DataType::F32:
    reals.assign(proto.float_data().begin(), proto.float_data().end());
    break;
  case DataType::F64:
    reals.assign(proto.double_data().begin(), proto.double_data().end());
    break;
  case DataType::I64:
    integers.assign(proto.int64_data().begin(), proto.int64_data().end());
    break;
  case DataType::U32:
  case DataType::U64:
    integers.assign(proto.uint64_data().begin(), proto.uint64_data().end());
    break;
  default:
    integers.assign(proto.int32_data().begin(), proto.int32_data().end());
  }
  int64_t have =
      isFloat(type) && bytesOf(type) != 2 ? reals.size() : integers.size();
  if (have != elementsOf(shape))
    fail(where + " of shape " + textOf(shape) + " needs " +
         Twine(elementsOf(shape)) + " values, but has " + Twine(have));
  if (type == DataType::F16 || type == DataType::BF16) {
    HostTensor bits = HostTensor::fromIntegers(DataType::U16, shape, integers);
    bits.type = type; // int32_data holds their bits
    return bits;
  }
  return isFloat(type) ? HostTensor::fromReals(type, shape, reals)
                       : HostTensor::fromIntegers(type, shape, integers);
}

Tensor TensorReader::read(const onnx::TensorProto &proto,
                          const DataPlace *payload, const Twine &place) {
  std::string where = place.str();
  Tensor tensor;
  tensor.name = proto.name();
  tensor.values.type = dataTypeOf(proto.data_type(), where);
  tensor.values.shape.assign(proto.dims().begin(), proto.dims().end());
  uint64_t need = neededBytes(tensor.values, where);
  if (proto.has_segment())
    fail(where + " is stored in segments, which are not supported");
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    readExternal(proto, tensor, where);
    return tensor;
  }
  bool isRaw = proto.has_raw_data();
  // Large payloads were left out of the proto.
  uint64_t have = payload ? payload->length : proto.raw_data().size();
  if (isRaw && have != need)
    fail(where + " of shape " + textOf(tensor.values.shape) + " of " +
         nameOf(tensor.values.type) + " needs " + Twine(need) +
         " bytes, but has " + Twine(have));
  bool isPacked = proto.float_data_size() > 0 || proto.double_data_size() > 0;
  if (payload && payload->length == need && (isRaw || isPacked)) {
    tensor.place = *payload;
    tensor.values.data =
        reinterpret_cast<const uint8_t *>(model.file->getBufferStart()) +
        payload->offset;
    tensor.values.owner = model.file;
  } else if (isRaw) {
    tensor.values.data =
        reinterpret_cast<const uint8_t *>(proto.raw_data().data());
    tensor.values.owner = model.proto;
  } else {
    tensor.values =
        readTyped(proto, tensor.values.type, tensor.values.shape, where);
  }
  return tensor;
}

} // namespace echelon::onnx_import

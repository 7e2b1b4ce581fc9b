// SPDX-License-Identifier: Apache-2.0
//
// Reading and writing elements of every type that ONNX graphs compute with.
#include "compiler/onnx/host_tensor.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <cstring>

using namespace llvm;

namespace echelon::onnx_import {

/// More elements than any tensor that fits a machine: a product above it is a
/// broken or hostile shape.
static constexpr int64_t kMaxElements = int64_t(1) << 40;
/// The largest folded tensor: far above any mask, far below a machine's memory.
static constexpr int64_t kMaxFoldedBytes = int64_t(256) << 20;

void fail(const Twine &message) { throw ImportFailure(message.str()); }

DataType dataTypeOf(int onnxType, const Twine &where) {
  switch (onnxType) {
  case 1:
  case 2:
  case 3:
  case 4:
  case 5:
  case 6:
  case 7:
  case 9:
  case 10:
  case 11:
  case 12:
  case 13:
  case 16:
    return DataType(onnxType);
  default:
    fail(where + " has ONNX element type " + Twine(onnxType) +
         "; supported are bool, the integers of 8 to 64 bits, float16, "
         "bfloat16, float and double");
  }
}

const char *nameOf(DataType type) {
  switch (type) {
  case DataType::F32:
    return "float";
  case DataType::U8:
    return "uint8";
  case DataType::I8:
    return "int8";
  case DataType::U16:
    return "uint16";
  case DataType::I16:
    return "int16";
  case DataType::I32:
    return "int32";
  case DataType::I64:
    return "int64";
  case DataType::Bool:
    return "bool";
  case DataType::F16:
    return "float16";
  case DataType::F64:
    return "double";
  case DataType::U32:
    return "uint32";
  case DataType::U64:
    return "uint64";
  case DataType::BF16:
    return "bfloat16";
  }
  return "unknown";
}

int64_t bytesOf(DataType type) {
  switch (type) {
  case DataType::U8:
  case DataType::I8:
  case DataType::Bool:
    return 1;
  case DataType::U16:
  case DataType::I16:
  case DataType::F16:
  case DataType::BF16:
    return 2;
  case DataType::F32:
  case DataType::I32:
  case DataType::U32:
    return 4;
  default:
    return 8;
  }
}

bool isFloat(DataType type) {
  return type == DataType::F32 || type == DataType::F64 ||
         type == DataType::F16 || type == DataType::BF16;
}

std::string textOf(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [index, size] : enumerate(shape))
    text += (index ? ", " : "") + itostr(size);
  return text + "]";
}

int64_t elementsOf(ArrayRef<int64_t> shape) {
  int64_t product = 1;
  bool empty = is_contained(shape, 0);
  for (int64_t size : shape) {
    if (size < 0)
      fail("shape " + textOf(shape) + " has a negative size");
    if (empty)
      continue;
    if (size > kMaxElements / product)
      fail("shape " + textOf(shape) + " has more than 2^40 elements");
    product *= size;
  }
  return empty ? 0 : product;
}

Shape stridesOf(ArrayRef<int64_t> shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= shape[dim];
  }
  return strides;
}

template <typename T> static T load(const uint8_t *data, int64_t index) {
  T value; // raw data is not aligned in the file
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T> static void store(uint8_t *data, int64_t index, T value) {
  std::memcpy(data + index * sizeof(T), &value, sizeof(T));
}

static const fltSemantics &semanticsOf(DataType type) {
  return type == DataType::F16 ? APFloat::IEEEhalf() : APFloat::BFloat();
}

static double halfToReal(DataType type, uint16_t bits) {
  APFloat value(semanticsOf(type), APInt(16, bits));
  return value.convertToDouble();
}

static uint16_t realToHalf(DataType type, double real) {
  APFloat value(real);
  bool inexact;
  value.convert(semanticsOf(type), APFloat::rmNearestTiesToEven, &inexact);
  return uint16_t(value.bitcastToAPInt().getZExtValue());
}

double HostTensor::real(int64_t index) const {
  switch (type) {
  case DataType::F32:
    return load<float>(data, index);
  case DataType::F64:
    return load<double>(data, index);
  case DataType::F16:
  case DataType::BF16:
    return halfToReal(type, load<uint16_t>(data, index));
  case DataType::U64:
    return double(load<uint64_t>(data, index));
  default:
    return double(integer(index));
  }
}

int64_t HostTensor::integer(int64_t index) const {
  switch (type) {
  case DataType::U8:
    return load<uint8_t>(data, index);
  case DataType::Bool:
    return load<uint8_t>(data, index) != 0;
  case DataType::I8:
    return load<int8_t>(data, index);
  case DataType::U16:
    return load<uint16_t>(data, index);
  case DataType::I16:
    return load<int16_t>(data, index);
  case DataType::U32:
    return load<uint32_t>(data, index);
  case DataType::I32:
    return load<int32_t>(data, index);
  case DataType::I64:
  case DataType::U64:
    return load<int64_t>(data, index);
  default: {
    // Out of range and NaN are undefined in ONNX; saturate.
    double value = real(index);
    if (std::isnan(value))
      return 0;
    if (value >= 9223372036854775807.0)
      return INT64_MAX;
    return value <= -9223372036854775808.0 ? INT64_MIN : int64_t(value);
  }
  }
}

void requireFoldable(int64_t count) {
  if (count > kMaxFoldedBytes / 8)
    fail("a constant of " + Twine(count) +
         " elements is too large to compute with; at most " +
         Twine(kMaxFoldedBytes / 8) + " elements are folded");
}

std::vector<double> HostTensor::reals() const {
  requireFoldable(size());
  std::vector<double> values(size());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = real(i);
  return values;
}

std::vector<int64_t> HostTensor::integers() const {
  requireFoldable(size());
  std::vector<int64_t> values(size());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = integer(i);
  return values;
}

bool HostTensor::allEqual() const {
  int64_t width = bytesOf(type), count = bytes();
  return count <= width || !std::memcmp(data, data + width, count - width);
}

HostTensor HostTensor::allocate(DataType type, Shape shape, uint8_t *&bytes) {
  HostTensor tensor;
  tensor.type = type;
  tensor.shape = std::move(shape);
  int64_t count = tensor.bytes();
  if (count > kMaxFoldedBytes)
    fail("the constant of shape " + textOf(tensor.shape) + " would take " +
         Twine(count >> 20) + " MiB, more than the " +
         Twine(kMaxFoldedBytes >> 20) + " MiB that constant folding may use");
  // Never null, even when empty: null means "no values stored".
  auto storage =
      std::make_shared<std::vector<uint8_t>>(std::max<int64_t>(count, 1));
  bytes = storage->data();
  tensor.data = bytes;
  tensor.owner = std::move(storage);
  return tensor;
}

HostTensor HostTensor::fromReals(DataType type, Shape shape,
                                 ArrayRef<double> values) {
  if (!isFloat(type)) {
    std::vector<int64_t> integers(values.size());
    for (auto [index, value] : enumerate(values))
      integers[index] = type == DataType::Bool ? value != 0 : int64_t(value);
    return fromIntegers(type, std::move(shape), integers);
  }
  uint8_t *bytes;
  HostTensor tensor = allocate(type, std::move(shape), bytes);
  for (auto [index, value] : enumerate(values)) {
    if (type == DataType::F32)
      store<float>(bytes, index, float(value));
    else if (type == DataType::F64)
      store<double>(bytes, index, value);
    else
      store<uint16_t>(bytes, index, realToHalf(type, value));
  }
  return tensor;
}

HostTensor HostTensor::fromIntegers(DataType type, Shape shape,
                                    ArrayRef<int64_t> values) {
  if (isFloat(type)) {
    std::vector<double> reals(values.begin(), values.end());
    return fromReals(type, std::move(shape), reals);
  }
  uint8_t *bytes;
  HostTensor tensor = allocate(type, std::move(shape), bytes);
  int64_t width = bytesOf(type);
  for (auto [index, value] : enumerate(values)) {
    if (type == DataType::Bool)
      bytes[index] = value != 0;
    else // little-endian: the low bytes are the value modulo its range
      std::memcpy(bytes + index * width, &value, width);
  }
  return tensor;
}

} // namespace echelon::onnx_import

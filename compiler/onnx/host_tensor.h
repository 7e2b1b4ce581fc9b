// SPDX-License-Identifier: Apache-2.0
//
// Tensors whose values the importer knows: initializers (borrowed from the
// mapped file) and the results of folding (owned). Elements are stored as ONNX
// stores raw data: little-endian, row-major, booleans as one byte.
#ifndef ECHELON_COMPILER_ONNX_HOST_TENSOR_H
#define ECHELON_COMPILER_ONNX_HOST_TENSOR_H

#include "dialects/graph/iteration_space.h"
#include "llvm/ADT/Twine.h"
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace echelon::onnx_import {

/// What is wrong with the user's model, in one message. Thrown inside this
/// folder only; importModel turns it into an llvm::Error.
struct ImportFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] void fail(const llvm::Twine &message);

/// Element types, by the numbers of onnx.TensorProto.DataType.
enum class DataType : int {
  F32 = 1,
  U8 = 2,
  I8 = 3,
  U16 = 4,
  I16 = 5,
  I32 = 6,
  I64 = 7,
  Bool = 9,
  F16 = 10,
  F64 = 11,
  U32 = 12,
  U64 = 13,
  BF16 = 16
};

/// The type of that ONNX number; throws for strings, complex, FP8, FP4 and
/// sub-byte integers, naming `where`.
DataType dataTypeOf(int onnxType, const llvm::Twine &where);
const char *nameOf(DataType type);
int64_t bytesOf(DataType type);
bool isFloat(DataType type);

/// "[2, 3]".
std::string textOf(llvm::ArrayRef<int64_t> shape);

/// Number of elements; throws on a negative size or a product above 2^40.
int64_t elementsOf(llvm::ArrayRef<int64_t> shape);

struct HostTensor {
  DataType type = DataType::F32;
  Shape shape;
  const uint8_t *data = nullptr;
  std::shared_ptr<const void> owner; ///< keeps `data` alive

  int64_t size() const { return elementsOf(shape); }
  int64_t bytes() const { return size() * bytesOf(type); }
  double real(int64_t index) const;
  int64_t integer(int64_t index) const;
  /// All elements; throw when they would take more than folding may use.
  std::vector<double> reals() const;
  std::vector<int64_t> integers() const;
  /// Whether all elements have the same bytes (true for one or none).
  bool allEqual() const;

  /// Values rounded to `type`, to nearest even.
  static HostTensor fromReals(DataType type, Shape shape,
                              llvm::ArrayRef<double> values);
  /// Values taken modulo the range of `type`; Bool is `value != 0`.
  static HostTensor fromIntegers(DataType type, Shape shape,
                                 llvm::ArrayRef<int64_t> values);
  /// Uninitialised owned storage; `bytes` is where to write.
  static HostTensor allocate(DataType type, Shape shape, uint8_t *&bytes);
};

/// Throws unless tables of `count` 8-byte entries are small enough to fold
/// with.
void requireFoldable(int64_t count);

/// Row-major strides, in elements.
Shape stridesOf(llvm::ArrayRef<int64_t> shape);

} // namespace echelon::onnx_import

#endif

// SPDX-License-Identifier: Apache-2.0
//
// safetensors files: 8 bytes of header length (little endian), a JSON header
// {name: {"dtype", "shape", "data_offsets": [begin, end]}}, then the data.
// Reading maps the file and checks everything before any tensor is handed out;
// writing streams from memory. Format: github.com/huggingface/safetensors,
// README "Format".
#ifndef ECHELON_RUNTIME_IO_SAFETENSORS_H
#define ECHELON_RUNTIME_IO_SAFETENSORS_H

#include "runtime/base/file.h"
#include "runtime/base/hash.h"

#include <string>
#include <string_view>
#include <vector>

namespace echelon::runtime {

/// One tensor of a mapped file; `data` is not aligned to its element type.
struct TensorView {
  std::string name;
  std::string dtype; ///< spelled as in the file: F32, BF16, I64, ...
  std::vector<int64_t> shape;
  const uint8_t *data = nullptr;
  uint64_t bytes = 0;
};

class SafetensorsFile {
public:
  /// Maps and checks `path`: header length and JSON, known dtypes, shape
  /// products without overflow, offsets that cover the data exactly, without
  /// gap or overlap. Errors carry ECH_EXIT_INPUT and name the file and the
  /// tensor.
  static Result<SafetensorsFile> open(const std::string &path);

  /// Sorted by name.
  const std::vector<TensorView> &tensors() const { return views; }
  const TensorView *find(std::string_view name) const;
  const MappedFile &file() const { return mapped; }

private:
  MappedFile mapped;
  std::vector<TensorView> views;
};

/// Bytes of one element of a safetensors dtype, 0 if it is unknown.
uint64_t safetensorsElementBytes(std::string_view dtype);

/// The safetensors spelling of an ech_dtype.
const char *safetensorsName(int dtype);

/// A set of tensors in memory that is written again and again: the header is
/// built once, so that writing allocates nothing.
class SafetensorsWriter {
public:
  /// `data` must be valid whenever write() is called; `shape` has `rank`
  /// values.
  void add(std::string_view name, int dtype, const int64_t *shape, int64_t rank,
           const void *data, uint64_t bytes);
  /// Fixes the order (wide elements first, then by name) and the header, padded
  /// so that the data starts at a multiple of 64.
  void finish();

  struct Written {
    uint64_t bytes = 0;
    uint64_t hash = 0; ///< XXH64 of the whole file
  };
  /// Writes the file to `path`, waits until it is on disk, says what was
  /// written.
  Status write(const char *path, Written &written) const;

private:
  struct Entry {
    std::string name;
    int dtype;
    std::vector<int64_t> shape;
    const void *data;
    uint64_t bytes;
  };
  std::vector<Entry> entries;
  std::string header;
};

} // namespace echelon::runtime

#endif

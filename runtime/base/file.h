// SPDX-License-Identifier: Apache-2.0
//
// Files: read-only mappings for input; plain and atomic writers for output. An
// atomic writer fills a temporary file in the target's folder and renames it
// over the target only after it is on disk, so that a crash or a full disk
// leaves the old file whole.
#ifndef ECHELON_RUNTIME_BASE_FILE_H
#define ECHELON_RUNTIME_BASE_FILE_H

#include "runtime/base/status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace echelon::runtime {

/// A regular file mapped for reading; unmapped on destruction. Movable.
class MappedFile {
public:
  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  /// Maps `path`. Fails with ECH_EXIT_INPUT if it cannot be opened or is no
  /// regular file. An empty file gives size() 0.
  static Result<MappedFile> open(const std::string &path);

  const uint8_t *data() const { return base; }
  uint64_t size() const { return bytes; }
  const std::string &path() const { return name; }
  /// XXH64 over the size and up to 1 MiB from both ends: tells files apart at
  /// start-up without reading them whole.
  uint64_t fingerprint() const;

private:
  const uint8_t *base = nullptr;
  uint64_t bytes = 0;
  std::string name;
};

/// A file being written, by unbuffered calls. Every failure carries
/// ECH_EXIT_DISK. Nothing here allocates but error messages.
class FileWriter {
public:
  FileWriter() = default;
  FileWriter(const FileWriter &) = delete;
  FileWriter &operator=(const FileWriter &) = delete;
  ~FileWriter();

  /// Creates or truncates the file; with `append` it keeps what is there.
  /// `path` must live until the writer ends.
  Status open(const char *path, bool append = false);
  Status write(const void *data, size_t size);
  /// Waits until the data is on disk, then closes.
  Status syncAndClose();
  bool isOpen() const { return descriptor >= 0; }

private:
  int descriptor = -1;
  const char *path = "";
};

/// A file that appears under its name only once it is complete and on disk.
/// Destruction without commit() removes the temporary file.
class AtomicFile {
public:
  AtomicFile() = default;
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;
  ~AtomicFile();

  Status open(const std::string &target);
  Status write(const void *data, size_t size);
  Status commit();

private:
  FileWriter writer;
  std::string target;
  std::string temporary;
};

/// Makes the entries of a folder durable.
Status syncDirectory(const char *path);

/// Creates `path` and the folders above it where missing.
Status createDirectories(const std::string &path);

/// Reads a small text file whole; fails with ECH_EXIT_INPUT if it exceeds
/// `maximumBytes`.
Result<std::string> readTextFile(const std::string &path, size_t maximumBytes);

} // namespace echelon::runtime

#endif

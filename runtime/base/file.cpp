// SPDX-License-Identifier: Apache-2.0
//
// Mapped input, and output that survives crashes.
#include "runtime/base/file.h"

#include "runtime/base/hash.h"
#include "runtime/base/text.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace echelon::runtime {

MappedFile::MappedFile(MappedFile &&other) noexcept {
  *this = std::move(other);
}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(base, other.base);
  std::swap(bytes, other.bytes);
  std::swap(name, other.name);
  return *this;
}

MappedFile::~MappedFile() {
  if (base)
    munmap(const_cast<uint8_t *>(base), bytes);
}

Result<MappedFile> MappedFile::open(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return systemFailure(ECH_EXIT_INPUT, "cannot open", path.c_str(), errno);
  struct stat info;
  if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(descriptor);
    return failure(ECH_EXIT_INPUT, "'%s' is not a regular file", path.c_str());
  }
  MappedFile file;
  file.name = path;
  file.bytes = static_cast<uint64_t>(info.st_size);
  if (file.bytes > 0) {
    void *memory =
        mmap(nullptr, file.bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    int errorNumber = errno;
    if (memory == MAP_FAILED) {
      close(descriptor);
      return systemFailure(ECH_EXIT_INPUT, "cannot map", path.c_str(),
                           errorNumber);
    }
    file.base = static_cast<const uint8_t *>(memory);
  }
  close(descriptor);
  return file;
}

uint64_t MappedFile::fingerprint() const {
  constexpr uint64_t kEnd = uint64_t{1} << 20;
  uint64_t length = bytes < kEnd ? bytes : kEnd;
  Xxh64 hash;
  hash.update(&bytes, sizeof(bytes));
  hash.update(base, length);
  hash.update(base + (bytes - length), length);
  return hash.digest();
}

FileWriter::~FileWriter() {
  if (descriptor >= 0)
    close(descriptor);
}

Status FileWriter::open(const char *file, bool append) {
  path = file;
  descriptor = ::open(
      path, O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC),
      0644);
  if (descriptor < 0)
    return systemFailure(ECH_EXIT_DISK, "cannot create", path, errno);
  return {};
}

Status FileWriter::write(const void *data, size_t size) {
  const char *bytes = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t written = ::write(descriptor, bytes, size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return systemFailure(ECH_EXIT_DISK, "cannot write", path,
                           written < 0 ? errno : ENOSPC);
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return {};
}

Status FileWriter::syncAndClose() {
  int failed = fsync(descriptor) != 0 ? errno : 0;
  // A pipe or terminal has nothing to sync: that is no failure.
  if (failed == EINVAL || failed == EROFS)
    failed = 0;
  if (close(descriptor) != 0 && failed == 0)
    failed = errno;
  descriptor = -1;
  if (failed)
    return systemFailure(ECH_EXIT_DISK, "cannot write", path, failed);
  return {};
}

AtomicFile::~AtomicFile() {
  if (!temporary.empty())
    unlink(temporary.c_str());
}

Status AtomicFile::open(const std::string &path) {
  target = path;
  temporary = formatText("%s.tmp-%d", path.c_str(), getpid());
  Status status = writer.open(temporary.c_str());
  if (!status.isOk())
    temporary.clear();
  return status;
}

Status AtomicFile::write(const void *data, size_t size) {
  return writer.write(data, size);
}

Status AtomicFile::commit() {
  ECH_RETURN_IF_FAILED(writer.syncAndClose());
  if (rename(temporary.c_str(), target.c_str()) != 0)
    return systemFailure(ECH_EXIT_DISK, "cannot replace", target.c_str(),
                         errno);
  temporary.clear();
  return syncDirectory(directoryOf(target).c_str());
}

Status syncDirectory(const char *path) {
  int descriptor = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return systemFailure(ECH_EXIT_DISK, "cannot open folder", path, errno);
  int failed = fsync(descriptor) != 0 ? errno : 0;
  close(descriptor);
  // Some file systems cannot sync folders and say so with EINVAL.
  if (failed && failed != EINVAL)
    return systemFailure(ECH_EXIT_DISK, "cannot sync folder", path, failed);
  return {};
}

Status createDirectories(const std::string &path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string prefix = path.substr(0, end);
    if (mkdir(prefix.c_str(), 0755) != 0 && errno != EEXIST)
      return systemFailure(ECH_EXIT_DISK, "cannot create folder",
                           prefix.c_str(), errno);
    if (end == std::string::npos)
      break;
  }
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return failure(ECH_EXIT_DISK, "'%s' is not a folder", path.c_str());
  return {};
}

Result<std::string> readTextFile(const std::string &path, size_t maximumBytes) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file.isOk())
    return file.status();
  if (file.value().size() > maximumBytes)
    return failure(ECH_EXIT_INPUT, "'%s' has %llu bytes, at most %zu are read",
                   path.c_str(),
                   static_cast<unsigned long long>(file.value().size()),
                   maximumBytes);
  return std::string(reinterpret_cast<const char *>(file.value().data()),
                     file.value().size());
}

} // namespace echelon::runtime

// SPDX-License-Identifier: Apache-2.0
//
// Mapping of arenas.
#include "runtime/device/arenas.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace echelon::runtime {

namespace {

constexpr uint64_t kHugePage = uint64_t{2} << 20;

// Reads the first number after `key` in a small file of /proc or /sys.
bool readNumber(const char *path, const char *key, uint64_t &value) {
  char text[8192];
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return false;
  ssize_t length = read(descriptor, text, sizeof(text) - 1);
  close(descriptor);
  if (length <= 0)
    return false;
  text[length] = '\0';
  const char *found = strstr(text, key);
  if (!found)
    return false;
  char *end = nullptr;
  found += strlen(key);
  value = strtoull(found, &end, 10);
  return end != found;
}

// Gives every page its memory now; an arena that only exists on paper would
// fail in mid-training.
bool populate(void *memory, uint64_t bytes) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(memory, bytes, MADV_POPULATE_WRITE) == 0)
    return true;
  if (errno != EINVAL)
    return false;
#endif
  // Linux before 5.14: writing does the same.
  volatile char *pages = static_cast<volatile char *>(memory);
  for (uint64_t i = 0; i < bytes; i += 4096)
    pages[i] = 0;
  return true;
}

Result<void *> mapPopulated(uint64_t bytes, const char *name) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return failure(ECH_EXIT_MEMORY, "cannot map %llu bytes for %s: %s",
                   static_cast<unsigned long long>(bytes), name,
                   strerror(errno));
  if (bytes >= kHugePage)
    madvise(memory, bytes, MADV_HUGEPAGE);
  if (!populate(memory, bytes)) {
    int errorNumber = errno;
    munmap(memory, bytes);
    return failure(ECH_EXIT_MEMORY, "cannot populate %llu bytes for %s: %s",
                   static_cast<unsigned long long>(bytes), name,
                   strerror(errorNumber));
  }
  return memory;
}

} // namespace

uint64_t availableMemory() {
  uint64_t available = UINT64_MAX, limit = 0, used = 0;
  if (readNumber("/proc/meminfo", "MemAvailable:", available))
    available *= 1024;
  if (readNumber("/sys/fs/cgroup/memory.max", "", limit) &&
      readNumber("/sys/fs/cgroup/memory.current", "", used))
    available = std::min(available, limit > used ? limit - used : 0);
  return available;
}

Arenas::~Arenas() {
  for (int i = 0; i < ECH_ARENA_COUNT; ++i)
    if (memory[i])
      munmap(memory[i], sizes[i]);
  if (workspaceMemory)
    munmap(workspaceMemory, workspaceSize);
}

Status Arenas::map(const ech_program &program, int workers) {
  uint64_t workspaces = uint64_t{ECH_WORKSPACE_BYTES} * workers;
  uint64_t planned = 0;
  for (const ech_arena &arena : program.arenas)
    if (__builtin_add_overflow(planned, arena.bytes, &planned))
      planned = UINT64_MAX;
  uint64_t available = availableMemory();
  if (planned > available || workspaces > available - planned)
    return failure(
        ECH_EXIT_MEMORY,
        "the plan needs %llu bytes and %d workspaces %llu more, but only %llu "
        "are available: compile with a smaller batch.micro or free memory",
        static_cast<unsigned long long>(planned), workers,
        static_cast<unsigned long long>(workspaces),
        static_cast<unsigned long long>(available));
  for (int i = 0; i < ECH_ARENA_COUNT; ++i) {
    const ech_arena &arena = program.arenas[i];
    if (arena.bytes == 0)
      continue;
    Result<void *> block = mapPopulated(arena.bytes, arena.name);
    if (!block.isOk())
      return block.status();
    memory[i] = block.value();
    sizes[i] = arena.bytes;
    mapped += arena.bytes;
  }
  Result<void *> block = mapPopulated(workspaces, "the workspaces");
  if (!block.isOk())
    return block.status();
  workspaceMemory = block.value();
  workspaceSize = workspaces;
  if (mapped != planned)
    return failure(ECH_EXIT_INTERNAL, "mapped %llu bytes, planned %llu",
                   static_cast<unsigned long long>(mapped),
                   static_cast<unsigned long long>(planned));
  return {};
}

} // namespace echelon::runtime

// SPDX-License-Identifier: Apache-2.0
//
// No allocation after the first step: this test brings its own malloc, free and
// mmap, which count, and runs the training binary's whole loop in process, with
// evaluation, metrics, log lines and checkpoints. The tiny program reports
// where the loop stands.
#include "runtime/engine/run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

std::atomic<long> allocations{0};
std::atomic<long> mappings{0};
long allocationsAt[64];
long mappingsAt[64];
int updates = 0;

} // namespace

extern "C" {

// glibc's allocator under its internal names, for interposers like this one.
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size) {
  ++allocations;
  return __libc_realloc(memory, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void **memory, size_t alignment, size_t size) {
  ++allocations;
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : 12;
}
void *mmap(void *address, size_t size, int protection, int flags, int file,
           off_t offset) noexcept {
  ++mappings;
  return reinterpret_cast<void *>(
      syscall(SYS_mmap, address, size, protection, flags, file, offset));
}

void tiny_trace(const ech_launch *launch, int entry) {
  if (entry != 1 || launch->step >= 64)
    return;
  allocationsAt[launch->step] = allocations;
  mappingsAt[launch->step] = mappings;
  ++updates;
}

} // extern "C"

namespace {

void writeTokens(const std::string &path) {
  FILE *file = fopen(path.c_str(), "wb");
  for (int i = 0; i < 1000; ++i) {
    uint16_t token = static_cast<uint16_t>(i * i % 16);
    fwrite(&token, 2, 1, file);
  }
  fclose(file);
}

// All parameters as zeros, by name: this binary is not beside a weights file.
void writeWeights(const std::string &path) {
  std::string header =
      R"({"embed.weight":{"dtype":"F32","shape":[16,8],"data_offsets":[0,512]},)"
      R"("head.weight":{"dtype":"F32","shape":[8,16],"data_offsets":[512,1024]},)"
      R"("head.bias":{"dtype":"F32","shape":[16],"data_offsets":[1024,1088]},)"
      R"("shift.f32":{"dtype":"F32","shape":[16],"data_offsets":[1088,1152]},)"
      R"("shift.f64":{"dtype":"F32","shape":[16],"data_offsets":[1152,1216]},)"
      R"("shift.bf16":{"dtype":"F32","shape":[16],"data_offsets":[1216,1280]}})";
  uint64_t length = header.size();
  std::string zeros(1280, '\0');
  FILE *file = fopen(path.c_str(), "wb");
  fwrite(&length, 8, 1, file);
  fwrite(header.data(), 1, header.size(), file);
  fwrite(zeros.data(), 1, zeros.size(), file);
  fclose(file);
}

TEST(Allocations, NoneAfterTheFirstStep) {
  char folder[] = "/tmp/echelon-allocations-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  std::string base = folder;
  std::string tokens = base + "/t.bin", out = base + "/run",
              metrics = base + "/m.jsonl", norms = base + "/g.json",
              weights = base + "/w.safetensors";
  writeTokens(tokens);
  writeWeights(weights);
  const char *arguments[] = {"tiny",
                             "--data",
                             tokens.c_str(),
                             "--steps",
                             "40",
                             "--out",
                             out.c_str(),
                             "--save-every",
                             "3",
                             "--metrics",
                             metrics.c_str(),
                             "--gradient-norms",
                             norms.c_str(),
                             "--eval-data",
                             tokens.c_str(),
                             "--eval-every",
                             "5",
                             "--log-every",
                             "1",
                             "--threads",
                             "2",
                             "--weights",
                             weights.c_str()};
  const char *environment[] = {nullptr};
  int code = echelon::runtime::runProgram(
      ech_program_export, sizeof(arguments) / sizeof(arguments[0]), arguments,
      environment);
  ASSERT_EQ(code, ECH_EXIT_DONE);
  ASSERT_EQ(updates, 40);
  // The counters work: preparing the run has allocated and mapped.
  EXPECT_GT(allocationsAt[0], 100);
  EXPECT_GT(mappingsAt[0], 6);
  // From the update of step 0 to that of the last step: 13 saves, 7
  // evaluations, 39 lines.
  EXPECT_EQ(allocationsAt[39], allocationsAt[0]);
  EXPECT_EQ(mappingsAt[39], mappingsAt[0]);
  EXPECT_EQ(system(("rm -rf " + base).c_str()), 0);
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

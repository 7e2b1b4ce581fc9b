# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s %root
#
# After the first step a run asks for no memory: a library that counts every call of malloc, calloc, realloc,
# aligned_alloc, posix_memalign and mmap is loaded before the C library, and 23 steps make as many calls as 3.
import os
import sys

sys.path.insert(0, os.path.join(sys.argv.pop(), "test", "training"))
from command import SCHEDULED, CommandTest, main, read_file, write_file

# The counts go to a file when the process ends. `real` is looked up once; dlsym itself may call calloc, which then
# gets memory from a fixed block.
COUNTER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static long allocations, mappings;
static char early[65536];
static size_t used;

static void *take(size_t bytes) {
  void *at = early + used;
  used += (bytes + 15) / 16 * 16;
  return at;
}
static int is_early(void *p) { return (char *)p >= early && (char *)p < early + sizeof early; }

#define REAL(result, name, ...) \
  static result (*real)(__VA_ARGS__); \
  static int looking; \
  if (!real && !looking) { looking = 1; real = dlsym(RTLD_NEXT, #name); looking = 0; }
#define COUNT(counter) __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED)

void *malloc(size_t n) { REAL(void *, malloc, size_t) COUNT(allocations); return real ? real(n) : take(n); }
void *calloc(size_t n, size_t m) {
  REAL(void *, calloc, size_t, size_t) COUNT(allocations);
  return real ? real(n, m) : take(n * m);
}
void *realloc(void *p, size_t n) {
  REAL(void *, realloc, void *, size_t) COUNT(allocations);
  return real(p, n);
}
void *aligned_alloc(size_t a, size_t n) {
  REAL(void *, aligned_alloc, size_t, size_t) COUNT(allocations);
  return real(a, n);
}
int posix_memalign(void **p, size_t a, size_t n) {
  REAL(int, posix_memalign, void **, size_t, size_t) COUNT(allocations);
  return real(p, a, n);
}
void free(void *p) { REAL(void, free, void *) if (!is_early(p)) real(p); }
void *mmap(void *at, size_t n, int protection, int flags, int file, off_t offset) {
  REAL(void *, mmap, void *, size_t, int, int, int, off_t) COUNT(mappings);
  return real(at, n, protection, flags, file, offset);
}
void *mmap64(void *at, size_t n, int protection, int flags, int file, off_t offset) {
  return mmap(at, n, protection, flags, file, offset);
}

__attribute__((destructor)) static void report(void) {
  char text[64];
  int length = snprintf(text, sizeof text, "%ld %ld\n", allocations, mappings);
  int file = open(getenv("COUNTS"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (write(file, text, length) != length)
    abort();
  close(file);
}
"""


class Allocations(CommandTest):
    def setUp(self):
        super().setUp()
        write_file(self.path("counter.c"), COUNTER.encode())
        self.run_words("cc", "-shared", "-fPIC", "-O1", "-o", "counter.so", "counter.c", "-ldl")
        self.zoo()
        self.spec(SCHEDULED)
        self.tokens()
        self.compile("m.onnx", "m.train", "--train", "train.json", "--accumulate", 2)
        if b"__asan_" in read_file(self.path("m.train")) or b"__tsan_" in read_file(self.path("m.train")):
            self.skipTest("sanitizers count their own")

    def counts(self, steps, *more):
        out = "run%d" % len(os.listdir(self.folder))
        self.run_words("./m.train", "--data", "t.bin", "--steps", steps, "--out", out, "--metrics", out + ".jsonl",
                       "--log-every", 1, *more,
                       env={"LD_PRELOAD": self.path("counter.so"), "COUNTS": self.path("counts")})
        return [int(word) for word in read_file(self.path("counts")).split()]

    def test_the_counter_counts(self):
        """A held-out file is one more mapping and a few more strings: counts that cannot change would prove nothing."""
        self.tokens("e.bin", 200, seed=5)
        one, two = self.counts(3), self.counts(3, "--eval-data", "e.bin")
        self.assertGreater(one[0], 10)
        self.assertGreater(two[0], one[0])
        self.assertGreater(two[1], one[1])

    def test_steps_allocate_nothing(self):
        self.assertEqual(self.counts(3), self.counts(23))

    def test_nor_with_threads(self):
        self.assertEqual(self.counts(3, "--threads", 2), self.counts(23, "--threads", 2))

    def test_nor_do_checkpoints_and_evaluations(self):
        self.tokens("e.bin", 200, seed=5)
        every = ["--save-every", 1, "--eval-data", "e.bin", "--eval-every", 1, "--eval-batches", 2]
        self.assertEqual(self.counts(3, *every), self.counts(23, *every))


if __name__ == "__main__":
    main()

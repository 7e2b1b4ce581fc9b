// SPDX-License-Identifier: Apache-2.0
//
// Quotas from /proc and cgroup files; the peak from a loop of multiply-adds
// that leaves the arithmetic units no pause: more independent chains than
// latency times issue width (12 for 4 cycles x 2 units, and some to spare).
#include "tools/echelon/doctor_machine.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <chrono>
#include <sched.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace echelon {

namespace {

std::string readText(const std::string &path) {
  // Files of /proc claim size 0, hence the stream reader.
  auto buffer = llvm::MemoryBuffer::getFileAsStream(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// The value of a `name : value` line.
std::string fieldOf(llvm::StringRef text, llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    auto [key, value] = line.split(':');
    if (key.trim() == name)
      return value.trim().str();
  }
  return "";
}

int64_t affinityCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails only beyond 1024 cores, where the whole machine is the best answer.
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    return sysconf(_SC_NPROCESSORS_ONLN);
  return CPU_COUNT(&set);
}

/// cgroup v1 keeps quota and period in two files; -1 is no quota.
std::optional<int64_t> coresOfV1(const std::string &root) {
  llvm::StringRef folder = "/sys/fs/cgroup/cpu/";
  std::string quota = readText(root + folder.str() + "cpu.cfs_quota_us");
  std::string period = readText(root + folder.str() + "cpu.cfs_period_us");
  if (llvm::StringRef(quota).trim().starts_with("-"))
    return std::nullopt;
  return coresOfQuota(llvm::StringRef(quota).trim().str() + " " +
                      llvm::StringRef(period).trim().str());
}

int64_t usableMemory(const std::string &root) {
  std::string meminfo = readText(root + "/proc/meminfo");
  std::string total = fieldOf(meminfo, "MemTotal");
  int64_t kib = 0;
  int64_t bytes = 0;
  if (!llvm::StringRef(total).split(' ').first.getAsInteger(10, kib))
    bytes = kib * 1024;
  for (const char *limit : {"/sys/fs/cgroup/memory.max",
                            "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    int64_t cap = 0;
    std::string text = readText(root + limit);
    if (!llvm::StringRef(text).trim().getAsInteger(10, cap) && cap > 0)
      bytes = bytes == 0 ? cap : std::min(bytes, cap);
  }
  return bytes;
}

// Chains as named variables: an array of vectors stays in memory under g++ -O2.
// More of them than needed make clang spill (24 of AVX-512's 32 registers: half
// the rate), so no more than the units can use.
#define REPEAT12(X)                                                            \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define REPEAT16(X) REPEAT12(X) X(12) X(13) X(14) X(15)
#define DECLARE_CHAIN(i) auto chain##i = ECH_BROADCAST(b * (i));
#define ADVANCE_CHAIN(i) chain##i = ECH_FMA(chain##i, x, y);
#define SUM_CHAIN(i) total += ECH_FIRST(chain##i);

// The body is a macro because intrinsics need the target attribute on the very
// function that holds them, which a template cannot carry by parameter.
#define FMA_LOOP_BODY(REPEAT)                                                  \
  auto x = ECH_BROADCAST(a);                                                   \
  auto y = ECH_BROADCAST(b);                                                   \
  REPEAT(DECLARE_CHAIN)                                                        \
  for (int64_t round = 0; round < rounds; ++round) {                           \
    REPEAT(ADVANCE_CHAIN)                                                      \
  }                                                                            \
  float total = 0;                                                             \
  REPEAT(SUM_CHAIN)                                                            \
  return total;

#if defined(__x86_64__)

#define ECH_BROADCAST(v) _mm512_set1_ps(v)
#define ECH_FMA(c, x, y) _mm512_fmadd_ps(c, x, y)
#define ECH_FIRST(c) _mm512_cvtss_f32(c)
__attribute__((target("avx512f"))) float fmaLoop512(int64_t rounds, float a,
                                                    float b) {
  FMA_LOOP_BODY(REPEAT12)
}
#undef ECH_BROADCAST
#undef ECH_FMA
#undef ECH_FIRST

#define ECH_BROADCAST(v) _mm256_set1_ps(v)
#define ECH_FMA(c, x, y) _mm256_fmadd_ps(c, x, y)
#define ECH_FIRST(c) _mm256_cvtss_f32(c)
__attribute__((target("avx2,fma"))) float fmaLoop256(int64_t rounds, float a,
                                                     float b) {
  FMA_LOOP_BODY(REPEAT12)
}
#undef ECH_BROADCAST
#undef ECH_FMA
#undef ECH_FIRST

bool hasAvx512() { return __builtin_cpu_supports("avx512f"); }
bool hasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#elif defined(__aarch64__)

#define ECH_BROADCAST(v) vdupq_n_f32(v)
#define ECH_FMA(c, x, y) vfmaq_f32(y, c, x)
#define ECH_FIRST(c) vgetq_lane_f32(c, 0)
float fmaLoopNeon(int64_t rounds, float a, float b) { FMA_LOOP_BODY(REPEAT16) }
#undef ECH_BROADCAST
#undef ECH_FMA
#undef ECH_FIRST

#endif

// Multiply and add on plain floats, for machines without the above.
#define ECH_BROADCAST(v) (v)
#define ECH_FMA(c, x, y) ((c) * (x) + (y))
#define ECH_FIRST(c) (c)
[[maybe_unused]] float fmaLoopScalar(int64_t rounds, float a, float b) {
  FMA_LOOP_BODY(REPEAT12)
}
#undef ECH_BROADCAST
#undef ECH_FMA
#undef ECH_FIRST

struct FmaLoop {
  float (*run)(int64_t, float, float);
  const char *isa;
  int vectorBits;
  int chains;
};

FmaLoop widestLoop() {
#if defined(__x86_64__)
  if (hasAvx512())
    return {fmaLoop512, "avx512f", 512, 12};
  if (hasAvx2())
    return {fmaLoop256, "avx2", 256, 12};
#elif defined(__aarch64__)
  return {fmaLoopNeon, "neon", 128, 16};
#endif
  return {fmaLoopScalar, "baseline", 32, 12};
}

} // namespace

std::optional<int64_t> coresOfQuota(llvm::StringRef cpuMax) {
  auto [quotaText, periodText] = cpuMax.trim().split(' ');
  int64_t quota = 0, period = 0;
  if (quotaText.trim().getAsInteger(10, quota) ||
      periodText.trim().getAsInteger(10, period) || quota <= 0 || period <= 0)
    return std::nullopt;
  return std::max<int64_t>(1, quota / period);
}

MachineFacts readMachineFacts(llvm::StringRef root) {
  MachineFacts facts;
  std::string prefix = root.str();
  std::string cpuinfo = readText(prefix + "/proc/cpuinfo");
  facts.cpu = fieldOf(cpuinfo, "model name");
  if (facts.cpu.empty())
    facts.cpu = "unknown";
  facts.onlineCores = std::max<int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN));
  facts.cores = std::max<int64_t>(1, affinityCores());
  std::optional<int64_t> quota =
      coresOfQuota(readText(prefix + "/sys/fs/cgroup/cpu.max"));
  if (!quota)
    quota = coresOfV1(prefix);
  if (quota)
    facts.cores = std::min(facts.cores, *quota);
  facts.memoryBytes = usableMemory(prefix);
  FmaLoop loop = widestLoop();
  facts.isa = loop.isa;
  facts.vectorBits = loop.vectorBits;
  return facts;
}

double measurePeakFlopsF32() {
  FmaLoop loop = widestLoop();
  // Read through volatile, so that the compiler cannot run the loop itself.
  volatile float a = 0.999f, b = 0.001f;
  volatile float sink = 0;
  int64_t rounds = 1 << 16;
  double flopsPerRound = 2.0 * loop.chains * (loop.vectorBits / 32);
  auto secondsOf = [&] {
    auto begin = std::chrono::steady_clock::now();
    sink = loop.run(rounds, a, b);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         begin)
        .count();
  };
  // Long enough that the clock's resolution and a cold start do not matter.
  while (secondsOf() < 0.01 && rounds < (int64_t(1) << 40))
    rounds *= 2;
  double best = secondsOf();
  for (int i = 0; i < 15; ++i)
    best = std::min(best, secondsOf());
  (void)sink;
  return flopsPerRound * static_cast<double>(rounds) / best;
}

} // namespace echelon

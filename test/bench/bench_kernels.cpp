// SPDX-License-Identifier: Apache-2.0
//
// Speed of the CPU library kernels, printed as GFLOP/s and as a share of the
// peak that a loop of independent fused multiply-adds reaches on the same core
// just before. With the path of a shared OpenBLAS as --blas=FILE each product
// is also timed there.
//   bench_kernels [--isa=avx2|avx512] [--workers=N] [--blas=FILE]
//   [--only=gemm|attention|loss]
#include "kernels/cpu/isa.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <thread>
#include <vector>

using namespace echelon::kernels;

namespace {

struct Options {
  const Isa *isa = nullptr;
  int workers = 1;
  std::string blas, only;
};

double seconds() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

/// The best time of a call, over at least 0.3 s and three calls.
template <typename Call> double bestTime(const Call &call) {
  call();
  double best = 1e30, spent = 0;
  for (int i = 0; i < 3 || spent < 0.3; ++i) {
    const double start = seconds();
    call();
    const double time = seconds() - start;
    best = time < best ? time : best;
    spent += time;
  }
  return best;
}

using Vec8 = float __attribute__((vector_size(32)));
using Vec16 = float __attribute__((vector_size(64)));

template <typename Vec>
__attribute__((always_inline)) inline float fmaChain(int64_t count, float x) {
  constexpr int kChains = 12;
  Vec acc[kChains];
  for (int i = 0; i < kChains; ++i)
    acc[i] = Vec{} + static_cast<float>(i);
  const Vec a = Vec{} + x, b = Vec{} + (1 - x);
  for (int64_t n = 0; n < count; ++n) {
    acc[0] = acc[0] * a + b, acc[1] = acc[1] * a + b, acc[2] = acc[2] * a + b;
    acc[3] = acc[3] * a + b, acc[4] = acc[4] * a + b, acc[5] = acc[5] * a + b;
    acc[6] = acc[6] * a + b, acc[7] = acc[7] * a + b, acc[8] = acc[8] * a + b;
    acc[9] = acc[9] * a + b, acc[10] = acc[10] * a + b;
    acc[11] = acc[11] * a + b;
  }
  // Opaque to the optimiser, which else computes the one lane that it sees
  // used.
  Vec sum = Vec{};
  for (int i = 0; i < kChains; ++i)
    sum += acc[i];
  __asm__ volatile("" : : "m"(sum) : "memory");
  return sum[0];
}

__attribute__((target("avx512f"))) float chain512(int64_t count, float x) {
  return fmaChain<Vec16>(count, x);
}
__attribute__((target("avx2,fma"))) float chain256(int64_t count, float x) {
  return fmaChain<Vec8>(count, x);
}

/// FLOP/s of one core.
double measurePeak(const Isa &isa) {
  const bool wide = &isa == &kAvx512;
  const int64_t count = 4000000;
  volatile float sink = 0;
  const double time = bestTime(
      [&] { sink = wide ? chain512(count, 0.999f) : chain256(count, 0.999f); });
  return 12.0 * (wide ? 32 : 16) * static_cast<double>(count) / time;
}

void runThreads(const ech_launch *launch, int64_t count, ech_parallel_body body,
                void *argument) {
  std::atomic<int64_t> next{0};
  auto work = [&](int32_t worker) {
    for (int64_t i; (i = next++) < count;)
      body(argument, i, worker);
  };
  std::vector<std::thread> threads;
  for (int32_t worker = 1; worker < launch->workers && worker < count; ++worker)
    threads.emplace_back(work, worker);
  work(0);
  for (std::thread &thread : threads)
    thread.join();
}

struct Machine {
  ech_launch launch = {};
  void *workspace;
  explicit Machine(int workers) {
    workspace = std::aligned_alloc(ECH_ALIGNMENT, static_cast<size_t>(workers) *
                                                      ECH_WORKSPACE_BYTES);
    std::memset(workspace, 0,
                static_cast<size_t>(workers) * ECH_WORKSPACE_BYTES);
    launch.workspace = workspace;
    launch.workers = workers;
    launch.parallel_for = runThreads;
  }
  ~Machine() { std::free(workspace); }
  Machine(const Machine &) = delete;
  Machine &operator=(const Machine &) = delete;
};

std::vector<float> randomFloats(int64_t count, float scale = 1) {
  std::vector<float> values(static_cast<size_t>(count));
  uint64_t state = 88172645463325252ull;
  for (float &value : values) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    value = scale * (static_cast<float>(state >> 40) / 8388608.0f - 1.0f);
  }
  return values;
}

using Sgemm = void (*)(int order, int transA, int transB, int m, int n, int k,
                       float alpha, const float *a, int lda, const float *b,
                       int ldb, float beta, float *c, int ldc);

Sgemm loadBlas(const Options &options) {
  if (options.blas.empty())
    return nullptr;
  void *library = dlopen(options.blas.c_str(), RTLD_NOW);
  if (!library) {
    std::fprintf(stderr, "error: %s\n", dlerror());
    std::exit(1);
  }
  auto *setThreads = reinterpret_cast<void (*)(int)>(
      dlsym(library, "openblas_set_num_threads"));
  if (setThreads)
    setThreads(options.workers);
  return reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
}

struct Product {
  int64_t m, n, k;
  bool aTransposed, bTransposed;
};

void benchProduct(const Options &options, Machine &machine, double peak,
                  Sgemm sgemm, const Product &p) {
  const std::vector<float> a = randomFloats(p.m * p.k);
  const std::vector<float> b = randomFloats(p.k * p.n);
  std::vector<float> c(static_cast<size_t>(p.m * p.n));
  ech_contraction d = {};
  d.x = d.y = 1, d.m = p.m, d.n = p.n, d.k = p.k;
  d.a_m = p.aTransposed ? 1 : p.k, d.a_k = p.aTransposed ? p.m : 1;
  d.b_k = p.bTransposed ? 1 : p.n, d.b_n = p.bTransposed ? p.k : 1;
  d.c_m = p.n, d.c_n = 1;
  const double flops = 2.0 * static_cast<double>(p.m) *
                       static_cast<double>(p.n) * static_cast<double>(p.k);
  const double time = bestTime([&] {
    contract(*options.isa, &machine.launch, d, a.data(), b.data(), nullptr,
             c.data());
  });
  std::printf("gemm m %5ld n %5ld k %5ld %c%c %9.1f GFLOP/s %5.1f %%",
              static_cast<long>(p.m), static_cast<long>(p.n),
              static_cast<long>(p.k), p.aTransposed ? 't' : 'n',
              p.bTransposed ? 't' : 'n', flops / time * 1e-9,
              100 * flops / time / peak);
  if (sgemm) {
    const double theirs = bestTime([&] {
      sgemm(101, p.aTransposed ? 112 : 111, p.bTransposed ? 112 : 111,
            static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.k),
            1, a.data(), static_cast<int>(p.aTransposed ? p.m : p.k), b.data(),
            static_cast<int>(p.bTransposed ? p.k : p.n), 0, c.data(),
            static_cast<int>(p.n));
    });
    std::printf("   OpenBLAS %9.1f", flops / theirs * 1e-9);
  }
  std::printf("\n");
}

void benchProducts(const Options &options, Machine &machine, double peak) {
  const Sgemm sgemm = loadBlas(options);
  const Product products[] = {
      {512, 512, 512, false, false},
      {1024, 1024, 1024, false, false},
      {2048, 2048, 2048, false, false},
      {1024, 1024, 1024, true, false},
      {1024, 1024, 1024, false, true},
      {1024, 1024, 1024, true, true},
      // Linear layers of small GPTs: forward, input gradient, weight gradient.
      {512, 128, 128, false, false},
      {512, 384, 128, false, false},
      {2048, 128, 128, false, false},
      {2048, 512, 128, false, false},
      {2048, 128, 512, false, true},
      {512, 128, 2048, true, false},
      {1024, 768, 256, false, true},
      {256, 1024, 2048, true, false},
      {1024, 2304, 768, false, false},
      {768, 3072, 1024, true, false},
      // Heads over vocabularies: logits, their input and weight gradients.
      {2048, 256, 128, false, true},
      {512, 50257, 128, false, true},
      {512, 128, 50257, false, false},
      {50257, 128, 512, true, false},
      {64, 64, 64, false, false},
      {32, 32, 32, false, false},
      {16, 16, 16, false, false},
      {1, 2048, 512, false, false},
      {1, 2048, 512, false, true},
      {2048, 1, 512, false, false},
      {4, 768, 768, false, false},
      {7, 50, 33, false, false},
  };
  for (const Product &p : products)
    benchProduct(options, machine, peak, sgemm, p);
}

void benchAttention(const Options &options, Machine &machine, double peak,
                    int64_t batch, int64_t sequence, int64_t heads,
                    int64_t kvHeads, int64_t dim, bool causal) {
  const std::vector<float> q = randomFloats(batch * sequence * heads * dim);
  const std::vector<float> k = randomFloats(batch * sequence * kvHeads * dim);
  const std::vector<float> v = k;
  const std::vector<float> dout = q;
  std::vector<float> o(q.size()), dq(q.size()), dk(k.size()), dv(k.size());
  std::vector<float> lse(static_cast<size_t>(batch * heads * sequence));
  ech_attention d = {};
  d.batch = batch, d.queries = d.keys = sequence;
  d.heads = heads, d.kv_heads = kvHeads, d.head_dim = d.value_dim = dim;
  d.q = d.o = d.dout = d.dq = {sequence * heads * dim, heads * dim, dim};
  d.k = d.v = d.dk = d.dv = {sequence * kvHeads * dim, kvHeads * dim, dim};
  d.causal = causal;
  d.scale = 0.125;
  AttentionOperands x = {};
  x.q = q.data(), x.k = k.data(), x.v = v.data();
  x.o = x.oOut = o.data(), x.lse = x.lseOut = lse.data();
  x.dout = dout.data();
  x.dq = dq.data(), x.dk = dk.data(), x.dv = dv.data();
  const double pairs =
      static_cast<double>(batch * heads) * static_cast<double>(sequence) *
      static_cast<double>(causal ? sequence + 1 : 2 * sequence) / 2;
  const double flops = 4 * pairs * static_cast<double>(dim);
  const double forward =
      bestTime([&] { attend(*options.isa, &machine.launch, d, x); });
  const double backward =
      bestTime([&] { attendGrad(*options.isa, &machine.launch, d, x); });
  std::printf("attention b %ld s %4ld h %2ld/%ld d %3ld %s forward %6.1f "
              "GFLOP/s %5.1f %%  backward %6.1f %5.1f %%\n",
              static_cast<long>(batch), static_cast<long>(sequence),
              static_cast<long>(heads), static_cast<long>(kvHeads),
              static_cast<long>(dim), causal ? "causal" : "full  ",
              flops / forward * 1e-9, 100 * flops / forward / peak,
              2.5 * flops / backward * 1e-9, 250 * flops / backward / peak);
}

void benchLoss(const Options &options, Machine &machine, int64_t rows,
               int64_t classes) {
  const std::vector<float> logits = randomFloats(rows * classes, 4);
  const std::vector<int64_t> labels(static_cast<size_t>(rows), 3);
  std::vector<float> grad(logits.size()), lse(static_cast<size_t>(rows));
  float sum = 0, count = 0;
  const float one = 1;
  ech_cross_entropy d = {};
  d.rows = rows, d.classes = classes;
  d.logits_row = d.dlogits_row = classes;
  d.ignore_index = -100;
  const double forward = bestTime([&] {
    crossEntropy(*options.isa, &machine.launch, d, logits.data(), labels.data(),
                 &sum, &count, lse.data());
  });
  const double backward = bestTime([&] {
    crossEntropyGrad(*options.isa, &machine.launch, d, logits.data(),
                     labels.data(), lse.data(), &one, grad.data());
  });
  const double elements = static_cast<double>(rows * classes);
  std::printf("loss rows %5ld classes %6ld forward %6.3f ns/logit  gradient "
              "%6.3f ns/logit\n",
              static_cast<long>(rows), static_cast<long>(classes),
              forward / elements * 1e9, backward / elements * 1e9);
}

Options parse(int argc, char **argv) {
  Options options;
  options.isa = &currentIsa();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--isa=avx2")
      options.isa = &kAvx2;
    else if (word == "--isa=avx512" && isSupported(kAvx512))
      options.isa = &kAvx512;
    else if (word.rfind("--workers=", 0) == 0 && std::atoi(&word[10]) > 0)
      options.workers = std::atoi(&word[10]);
    else if (word.rfind("--blas=", 0) == 0)
      options.blas = word.substr(7);
    else if (word.rfind("--only=", 0) == 0)
      options.only = word.substr(7);
    else {
      std::fprintf(stderr, "error: cannot use '%s'\n", argv[i]);
      std::exit(2);
    }
  }
  return options;
}

} // namespace

int main(int argc, char **argv) {
  const Options options = parse(argc, argv);
  Machine machine(options.workers);
  const double peak = measurePeak(*options.isa) * options.workers;
  std::printf("%s, %d worker(s): peak %.1f GFLOP/s\n", options.isa->name,
              options.workers, peak * 1e-9);
  if (options.only.empty() || options.only == "gemm")
    benchProducts(options, machine, peak);
  if (options.only.empty() || options.only == "attention") {
    benchAttention(options, machine, peak, 8, 128, 4, 4, 32, true);
    benchAttention(options, machine, peak, 4, 256, 4, 4, 64, true);
    benchAttention(options, machine, peak, 2, 1024, 4, 4, 64, true);
    benchAttention(options, machine, peak, 2, 1024, 4, 1, 64, true);
    benchAttention(options, machine, peak, 2, 1024, 4, 4, 64, false);
    benchAttention(options, machine, peak, 1, 1024, 2, 2, 128, true);
    benchAttention(options, machine, peak, 1, 1000, 2, 2, 80, true);
  }
  if (options.only.empty() || options.only == "loss") {
    benchLoss(options, machine, 2048, 256);
    benchLoss(options, machine, 256, 50257);
  }
  return 0;
}

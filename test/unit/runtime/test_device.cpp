// SPDX-License-Identifier: Apache-2.0
//
// The CPU device: loops of the thread pool, and arenas.
#include "runtime/device/cpu_device.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

using namespace echelon::runtime;

namespace {

struct Visits {
  std::vector<std::atomic<int>> counts;
  std::atomic<int> wrongWorkers{0};
  int workers;
  ThreadPool *pool = nullptr;

  Visits(size_t size, int workers) : counts(size), workers(workers) {}
};

void visit(void *arg, int64_t index, int32_t worker) {
  Visits &visits = *static_cast<Visits *>(arg);
  ++visits.counts[static_cast<size_t>(index)];
  if (worker < 0 || worker >= visits.workers)
    ++visits.wrongWorkers;
}

TEST(ThreadPool, VisitsEachIndexOnce) {
  for (int workers : {1, 2, 3, 7}) {
    ThreadPool pool;
    ASSERT_TRUE(pool.start(workers).isOk());
    for (size_t count : {0u, 1u, 2u, 5u, 64u, 1000u})
      for (int repeat = 0; repeat < 50; ++repeat) {
        Visits visits(count, workers);
        pool.run(static_cast<int64_t>(count), visit, &visits);
        for (auto &visited : visits.counts)
          ASSERT_EQ(visited, 1);
        ASSERT_EQ(visits.wrongWorkers, 0);
      }
  }
}

TEST(ThreadPool, ResultsAreVisibleWhenRunReturns) {
  ThreadPool pool;
  ASSERT_TRUE(pool.start(3).isOk());
  std::vector<int64_t> squares(512);
  for (int repeat = 0; repeat < 300; ++repeat) {
    std::fill(squares.begin(), squares.end(), -1);
    pool.run(
        512,
        [](void *arg, int64_t i, int32_t) {
          static_cast<int64_t *>(arg)[i] = i * i;
        },
        squares.data());
    for (int64_t i = 0; i < 512; ++i)
      ASSERT_EQ(squares[static_cast<size_t>(i)], i * i);
  }
}

TEST(ThreadPool, NestedLoopsRunInTheirWorker) {
  ThreadPool pool;
  ASSERT_TRUE(pool.start(2).isOk());
  Visits inner(10, 2);
  inner.pool = &pool;
  pool.run(
      20,
      [](void *arg, int64_t, int32_t) {
        Visits &visits = *static_cast<Visits *>(arg);
        visits.pool->run(10, visit, &visits);
      },
      &inner);
  for (auto &visited : inner.counts)
    EXPECT_EQ(visited, 20);
  EXPECT_EQ(inner.wrongWorkers, 0);
}

TEST(Arenas, AreZeroAlignedAndExact) {
  ech_program program = {};
  for (ech_arena &arena : program.arenas)
    arena.name = "arena";
  program.arenas[ECH_ARENA_PARAMETERS].bytes = 100000;
  program.arenas[ECH_ARENA_ACTIVATIONS].bytes = (5u << 20) + 64;
  CpuDevice device;
  ASSERT_TRUE(device.start(program, 2).isOk());
  EXPECT_EQ(device.arenas().mappedBytes(), 100000u + (5u << 20) + 64);
  EXPECT_EQ(device.arenas().workspaceBytes(), 2u * ECH_WORKSPACE_BYTES);
  const ech_launch &launch = device.launch();
  EXPECT_EQ(launch.workers, 2);
  EXPECT_EQ(launch.arenas[ECH_ARENA_GRADIENTS], nullptr);
  const char *values =
      static_cast<const char *>(launch.arenas[ECH_ARENA_ACTIVATIONS]);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(values) % ECH_ALIGNMENT, 0u);
  for (uint64_t i = 0; i < (5u << 20) + 64; ++i)
    ASSERT_EQ(values[i], 0);
}

TEST(Arenas, TooLargePlansAreCode78) {
  ech_program program = {};
  program.arenas[ECH_ARENA_PARAMETERS] = {uint64_t{1} << 50, "weights"};
  CpuDevice device;
  Status status = device.start(program, 1);
  EXPECT_EQ(status.code, ECH_EXIT_MEMORY);
  EXPECT_NE(status.message.find("1125899906842624"), std::string::npos);
  program.arenas[ECH_ARENA_GRADIENTS] = {UINT64_MAX - 10, "gradients"};
  CpuDevice other;
  EXPECT_EQ(other.start(program, 1).code, ECH_EXIT_MEMORY);
}

} // namespace

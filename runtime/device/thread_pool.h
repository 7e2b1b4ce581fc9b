// SPDX-License-Identifier: Apache-2.0
//
// The executor behind ech_parallel_for: persistent threads that share the index
// range of one loop at a time. Chunks are taken from a counter, so the
// assignment of indices to workers varies; results do not, because bodies are
// independent of order by contract.
#ifndef ECHELON_RUNTIME_DEVICE_THREAD_POOL_H
#define ECHELON_RUNTIME_DEVICE_THREAD_POOL_H

#include "runtime/base/status.h"

#include <atomic>
#include <memory>
#include <pthread.h>
#include <vector>

namespace echelon::runtime {

class ThreadPool {
public:
  ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;
  /// Ends and joins the threads.
  ~ThreadPool();

  /// Starts workers - 1 threads; the caller of run() is worker 0. Fails with
  /// ECH_EXIT_MEMORY.
  Status start(int workers);

  int workers() const { return workerCount; }

  /// Runs body(arg, i, worker) for each i in [0, count) and returns when all
  /// have ended. Only one thread may call it at a time. A call from inside a
  /// body runs in that worker alone.
  void run(int64_t count, ech_parallel_body body, void *arg);

private:
  struct Thread {
    ThreadPool *pool;
    int worker;
    pthread_t handle;
  };

  static void *threadMain(void *thread);
  void serve(int worker);
  void work(int worker);
  void waitForGeneration(uint64_t seen);

  int workerCount = 1;
  std::unique_ptr<Thread[]> threads;
  int startedThreads = 0;

  // The loop in progress; written before `generation` changes, read after.
  ech_parallel_body body = nullptr;
  void *arg = nullptr;
  int64_t count = 0;
  int64_t chunk = 1;
  std::atomic<int64_t> next{0};
  std::atomic<int> busy{0};
  std::atomic<uint64_t> generation{0};
  std::atomic<bool> ending{false};
  pthread_mutex_t mutex;
  pthread_cond_t wake;
  pthread_cond_t done;
};

} // namespace echelon::runtime

#endif

// SPDX-License-Identifier: Apache-2.0
//
// The thread pool: short spinning before sleeping, because the loops of one
// step follow each other within microseconds.
#include "runtime/device/thread_pool.h"

#include <algorithm>
#include <sched.h>

namespace echelon::runtime {

namespace {

// Spinning covers the gap between two loops (tens of microseconds) without
// starving other processes on a loaded machine.
constexpr int kSpins = 2000;

// The worker that this thread is while it runs a body, -1 outside.
thread_local int activeWorker = -1;

void pauseCpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  sched_yield();
#endif
}

} // namespace

ThreadPool::ThreadPool() {
  pthread_mutex_init(&mutex, nullptr);
  pthread_cond_init(&wake, nullptr);
  pthread_cond_init(&done, nullptr);
}

ThreadPool::~ThreadPool() {
  pthread_mutex_lock(&mutex);
  ending.store(true);
  generation.fetch_add(1);
  pthread_cond_broadcast(&wake);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < startedThreads; ++i)
    pthread_join(threads[i].handle, nullptr);
  pthread_cond_destroy(&done);
  pthread_cond_destroy(&wake);
  pthread_mutex_destroy(&mutex);
}

Status ThreadPool::start(int workers) {
  workerCount = workers;
  threads = std::make_unique<Thread[]>(static_cast<size_t>(workers - 1));
  for (int i = 0; i < workers - 1; ++i) {
    threads[i] = {this, i + 1, {}};
    int failed =
        pthread_create(&threads[i].handle, nullptr, threadMain, &threads[i]);
    if (failed)
      return systemFailure(ECH_EXIT_MEMORY, "cannot start thread",
                           std::to_string(i + 1).c_str(), failed);
    ++startedThreads;
  }
  return {};
}

void *ThreadPool::threadMain(void *thread) {
  Thread *self = static_cast<Thread *>(thread);
  self->pool->serve(self->worker);
  return nullptr;
}

void ThreadPool::waitForGeneration(uint64_t seen) {
  for (int i = 0; i < kSpins; ++i) {
    if (generation.load(std::memory_order_acquire) != seen)
      return;
    pauseCpu();
  }
  pthread_mutex_lock(&mutex);
  while (generation.load(std::memory_order_acquire) == seen)
    pthread_cond_wait(&wake, &mutex);
  pthread_mutex_unlock(&mutex);
}

void ThreadPool::serve(int worker) {
  // Each generation waits for all workers, so counting from 0 never skips one.
  for (uint64_t seen = 0;; ++seen) {
    waitForGeneration(seen);
    if (ending.load())
      return;
    work(worker);
    if (busy.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      pthread_mutex_lock(&mutex);
      pthread_cond_signal(&done);
      pthread_mutex_unlock(&mutex);
    }
  }
}

void ThreadPool::work(int worker) {
  activeWorker = worker;
  while (true) {
    int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
    if (begin >= count)
      break;
    int64_t end = std::min(count, begin + chunk);
    for (int64_t i = begin; i < end; ++i)
      body(arg, i, worker);
  }
  activeWorker = -1;
}

void ThreadPool::run(int64_t loopCount, ech_parallel_body loopBody,
                     void *loopArg) {
  if (activeWorker >= 0 || workerCount == 1 || loopCount <= 1) {
    int worker = std::max(activeWorker, 0);
    for (int64_t i = 0; i < loopCount; ++i)
      loopBody(loopArg, i, worker);
    return;
  }
  body = loopBody;
  arg = loopArg;
  count = loopCount;
  // Eight chunks a worker: small enough to balance, large enough to keep the
  // counter quiet.
  chunk = std::max<int64_t>(1, loopCount / (int64_t{8} * workerCount));
  next.store(0, std::memory_order_relaxed);
  busy.store(startedThreads, std::memory_order_relaxed);
  pthread_mutex_lock(&mutex);
  generation.fetch_add(1, std::memory_order_acq_rel);
  pthread_cond_broadcast(&wake);
  pthread_mutex_unlock(&mutex);
  work(0);
  for (int i = 0; i < kSpins && busy.load(std::memory_order_acquire) > 0; ++i)
    pauseCpu();
  pthread_mutex_lock(&mutex);
  while (busy.load(std::memory_order_acquire) > 0)
    pthread_cond_wait(&done, &mutex);
  pthread_mutex_unlock(&mutex);
}

} // namespace echelon::runtime

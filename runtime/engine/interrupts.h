// SPDX-License-Identifier: Apache-2.0
//
// SIGINT and SIGTERM: a thread waits for them. The first asks the training loop
// to stop at the next step boundary; the second ends the process at once.
#ifndef ECHELON_RUNTIME_ENGINE_INTERRUPTS_H
#define ECHELON_RUNTIME_ENGINE_INTERRUPTS_H

#include "runtime/base/status.h"

#include <atomic>
#include <pthread.h>
#include <signal.h>

namespace echelon::runtime {

class Interrupts {
public:
  Interrupts() = default;
  Interrupts(const Interrupts &) = delete;
  Interrupts &operator=(const Interrupts &) = delete;
  /// Ends the thread and restores the signal mask.
  ~Interrupts();

  /// Blocks both signals in this thread and in those it starts later, and
  /// begins to wait. A signal that the process was told to ignore (nohup,
  /// background jobs) stays ignored.
  Status start();

  /// The signal that asked to stop, or 0.
  int requested() const { return signalNumber.load(std::memory_order_relaxed); }

private:
  static void *waitForSignals(void *self);

  sigset_t watched;
  sigset_t before;
  pthread_t thread;
  bool started = false;
  std::atomic<int> signalNumber{0};
  std::atomic<bool> ending{false};
};

} // namespace echelon::runtime

#endif

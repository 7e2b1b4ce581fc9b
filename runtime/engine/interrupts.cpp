// SPDX-License-Identifier: Apache-2.0
//
// The signal thread. Waiting in a thread instead of handling asynchronously
// needs no global state and no care for what is safe inside a handler.
#include "runtime/engine/interrupts.h"

#include "runtime/base/text.h"

#include <unistd.h>

namespace echelon::runtime {

Status Interrupts::start() {
  sigemptyset(&watched);
  for (int number : {SIGINT, SIGTERM}) {
    struct sigaction action;
    if (sigaction(number, nullptr, &action) == 0 &&
        action.sa_handler != SIG_IGN)
      sigaddset(&watched, number);
  }
  // Wakes the thread when this object ends; never sent to the process.
  sigaddset(&watched, SIGRTMIN);
  pthread_sigmask(SIG_BLOCK, &watched, &before);
  int failed = pthread_create(&thread, nullptr, waitForSignals, this);
  if (failed)
    return systemFailure(ECH_EXIT_MEMORY, "cannot start thread", "signals",
                         failed);
  started = true;
  return {};
}

Interrupts::~Interrupts() {
  if (!started)
    return;
  ending.store(true);
  pthread_kill(thread, SIGRTMIN);
  pthread_join(thread, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void *Interrupts::waitForSignals(void *object) {
  Interrupts &self = *static_cast<Interrupts *>(object);
  while (true) {
    int number = 0;
    if (sigwait(&self.watched, &number) != 0)
      continue;
    if (self.ending.load())
      return nullptr;
    if (number == SIGRTMIN)
      continue;
    if (self.signalNumber.load() != 0) {
      printText(2, "note: second signal, ending without a checkpoint\n");
      _exit(128 + number);
    }
    self.signalNumber.store(number);
    printText(2, "note: signal received, stopping after this step; a second "
                 "one ends at once\n");
  }
}

} // namespace echelon::runtime

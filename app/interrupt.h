// Ctrl-C (SIGINT) and SIGTERM as a question that a loop asks, instead of a handler with a global.
//
// While this stands, the two signals wait; asked() takes one. After the first, the next one ends
// the program as usual. Threads must be started after it, so that they inherit that the signals
// wait.
#pragma once

#include <csignal>
#include <ctime>

#include "study/answer.h"

namespace sgdsim {

class Interrupt {
 public:
  Interrupt() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~Interrupt() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool asked() {
    const timespec at_once{};
    if (was_asked_ || sigtimedwait(&signals_, nullptr, &at_once) <= 0) return was_asked_;
    was_asked_ = true;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    return true;
  }

  void throw_if_asked() {
    if (asked()) throw Interrupted();
  }

 private:
  sigset_t signals_{};
  sigset_t before_{};
  bool was_asked_ = false;
};

}  // namespace sgdsim

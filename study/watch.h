// Who looks on while something is computed, and may end it.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <utility>

#include "sim/core/stopper.h"  // Interrupted

namespace sgdsim {

struct Watch {
  // Called now and then; what it throws ends the computation.
  std::function<void()> look = {};
  // So many of so many parts are done, where parts can be counted. Called by the thread that asked.
  std::function<void(int64_t done, int64_t total)> reached = {};

  Watch() = default;
  template <std::invocable Look>
  requires(!std::same_as<std::remove_cvref_t<Look>, Watch>) Watch(Look&& its_look)
      : look(std::forward<Look>(its_look)) {}

  void operator()() const {
    if (look) look();
  }
  explicit operator bool() const { return look != nullptr; }
};

}  // namespace sgdsim

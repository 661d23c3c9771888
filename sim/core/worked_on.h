// What becomes of 0, 1, 2, ..., each by itself, on many threads: in order, whatever thread was
// first.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "sim/core/parallel.h"
#include "sim/core/stopper.h"

namespace sgdsim {

// So many threads, or fewer where the address space is limited; as many as there are cores.
int threads_with_room(int wanted);
int all_cores();

// A thread that works for another one. It asks for no more threads: what it works on is done by
// itself, one after the other.
class Helping {
 public:
  Helping();
  ~Helping();
  Helping(const Helping&) = delete;
  Helping& operator=(const Helping&) = delete;
  static bool is_here();
};

struct WorkOn {
  int threads = all_cores();
  // By the thread that asked, now and then. What it throws ends the others, too.
  std::function<void()> look = {};
  std::function<void(std::size_t done)> reached = {};
};

// `work(thread, number, look)` of all numbers below `count`; it is to call `look` now and then. Of
// several that throw, the first in order counts.
template <class Result, class Work>
std::vector<Result> worked_on(std::size_t count, const WorkOn& how, const Work& work) {
  struct Made {
    std::optional<Result> result = {};
    std::exception_ptr thrown = {};
  };
  std::vector<Result> results;
  results.reserve(count);
  const auto add = [&](Result&& result) {
    results.push_back(std::move(result));
    if (how.reached) how.reached(results.size());
  };
  const auto alone = [&] {
    for (std::size_t number = 0; number < count; ++number) add(work(0, number, how.look));
  };
  const auto threads = static_cast<int>(std::min(count, static_cast<std::size_t>(how.threads)));
  if (threads <= 1 || Helping::is_here()) {
    alone();
    return results;
  }
  std::size_t next = 0;
  std::atomic<bool> has_ended = false;
  const std::function<void()> look = [&] {
    if (has_ended) throw Interrupted();
  };
  OrderedWork<std::size_t, Made> pool({.next = [&]() -> std::optional<std::size_t> {
                                         return next < count ? std::optional(next++) : std::nullopt;
                                       },
                                       .work = [&](int thread, const std::size_t& number) -> Made {
                                         const Helping helping;
                                         try {
                                           return {.result = work(thread, number, look)};
                                         } catch (...) {
                                           return {.thrown = std::current_exception()};
                                         }
                                       },
                                       .take =
                                           [&](std::vector<Made>&& ready) {
                                             try {
                                               if (how.look) how.look();
                                               for (Made& one : ready) {
                                                 if (one.thrown) std::rethrow_exception(one.thrown);
                                                 add(std::move(*one.result));
                                               }
                                             } catch (...) {
                                               has_ended = true;
                                               throw;
                                             }
                                             return true;
                                           }},
                                      threads, std::chrono::milliseconds(20));
  try {
    pool.run();
  } catch (const NoThreads&) {  // as in a browser
    alone();
  }
  return results;
}

}  // namespace sgdsim

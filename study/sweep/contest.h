// Who wins: the best, and all that no measurement could tell from it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "study/advise/apart.h"
#include "study/tie.h"

namespace sgdsim {

// Choices come one by one; only those that may still win are kept. Less is better.
template <class Choice>
class Contest {
 public:
  struct Entry {
    Choice choice;
    double value = 0;
  };

  // A new best may leave former winners behind.
  void add(Choice choice, double value, const Apart& apart) {
    const auto later = std::find_if(winners_.begin(), winners_.end(), [&](const Entry& one) {
      return value < one.value && !is_tie(value, one.value);
    });
    winners_.insert(later, {std::move(choice), value});
    while (!apart.is_as_good(winners_.back().value, winners_.front().value)) {
      next_ = std::min(next_, winners_.back().value);
      winners_.pop_back();
    }
  }

  // The best first, then others that are as good, the better ones first.
  const std::vector<Entry>& winners() const { return winners_; }
  int64_t ties() const { return static_cast<int64_t>(winners_.size()) - 1; }  // beside the best
  double next() const { return next_; }  // the best that is no winner; infinite if there is none

 private:
  std::vector<Entry> winners_;
  double next_ = std::numeric_limits<double>::infinity();
};

}  // namespace sgdsim

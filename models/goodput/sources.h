// When causes of failures strike: one clock for all units of a cause that has no memory, one for
// each unit of one that has. Draws are those of the cause's name, so that another cause beside it
// changes nothing. Those that are recorded have their times, and are asked for apart.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/goodput/draws.h"
#include "models/goodput/player.h"

namespace sgdsim::goodput {

class Sources {
 public:
  Sources(const std::vector<Cause>& causes, bool recorded, uint64_t seed, uint64_t run,
          const std::optional<GivenFailures>& given);

  // When the next one strikes, and which cause it is. Of two at once, the one listed first.
  LongPs next() const { return clocks_.empty() ? never_ : clocks_.front().at; }
  std::size_t take();

 private:
  struct Clock {
    LongPs at = 0;
    std::size_t cause = 0;
    Draws draws = {};
    std::size_t struck = 0;
    bool is_given = false;
    bool operator<(const Clock& other) const {  // for a heap with the first one on top
      return at != other.at ? at > other.at : cause > other.cause;
    }
  };

  void add(Clock clock);
  void wind(Clock& clock) const;
  void wind_given(Clock& clock) const;
  std::size_t cause_of_given(Draws& draws) const;
  bool is_drawn_together(const Cause& cause) const;

  const std::vector<Cause>& causes_;
  std::optional<GivenFailures> given_;
  double given_rate_ = 0;  // of all that are drawn together
  LongPs never_ = to_ps(never_s);
  std::vector<Clock> clocks_;
};

}  // namespace sgdsim::goodput

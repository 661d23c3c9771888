// When causes of failures strike: one clock for all units of a cause that has no memory, one for
// each unit of one that has. Draws are those of the cause's name, so that another cause beside it
// changes nothing. Those that are recorded have their times, and are asked for apart.
//
// Of thousands of units with a memory few fail during a run. Whether a unit's first failure comes
// before a moment is seen from its draw without a logarithm or a power, so that only those that do
// get a clock; when the run goes on beyond that moment, the others are looked at again.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/goodput/draws.h"
#include "models/goodput/player.h"

namespace sgdsim::goodput {

class Sources {
 public:
  // `likely_s`: about how long the run takes; it changes no draw.
  Sources(const std::vector<Cause>& causes, bool recorded, uint64_t seed, uint64_t run,
          double likely_s, const std::optional<GivenFailures>& given);

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

  // A cause whose units have a memory, as far as their first failures were looked for.
  struct Units {
    std::size_t cause = 0;
    double least = 2;  // draws below it are first failures beyond `seen_s_`
    double few_s = 0;  // until about as many have failed as are worth a further look
  };

  void add(Clock clock);
  void look_ahead();
  void look_until(double until_s);
  void add_units(Units& units, double least);
  void wind(Clock& clock) const;
  void wind_given(Clock& clock) const;
  std::size_t cause_of_given(Draws& draws) const;
  bool is_drawn_together(const Cause& cause) const;

  const std::vector<Cause>& causes_;
  std::optional<GivenFailures> given_;
  double given_rate_ = 0;  // of all that are drawn together
  LongPs never_ = to_ps(never_s);
  uint64_t seed_ = 1, run_ = 0;
  std::vector<Units> units_;
  std::vector<double> scales_s_;  // of the Weibull law of each cause that has one
  double seen_s_ = 0;
  LongPs seen_ = 0;
  std::vector<Clock> clocks_;
};

}  // namespace sgdsim::goodput

// A heap of clocks, each of which draws the time until it strikes again.
#include "models/goodput/sources.h"

#include <algorithm>
#include <cmath>

namespace sgdsim::goodput {

LongPs to_ps(double seconds) {
  return static_cast<LongPs>(std::nearbyint(std::min(seconds, never_s) * 1e12));
}
double to_s(LongPs time) { return static_cast<double>(time) / 1e12; }

Sources::Sources(const std::vector<Cause>& causes, bool recorded, uint64_t seed, uint64_t run,
                 const std::optional<GivenFailures>& given)
    : causes_(causes), given_(given) {
  clocks_.reserve(causes.size());
  for (std::size_t number = 0; number < causes.size(); ++number) {
    const Cause& cause = causes[number];
    if (cause.at_s.empty() == recorded) continue;
    if (is_drawn_together(cause)) {
      given_rate_ += cause.rate();
      continue;
    }
    const uint64_t key = key_of(cause.name);
    const int64_t clocks = cause.shape == 1 || recorded ? 1 : cause.units;
    for (int64_t unit = 0; unit < clocks; ++unit)
      add({0, number, Draws(seed, run, key + static_cast<uint64_t>(unit)), 0, false});
  }
  if (given_) add({0, causes.size(), Draws(seed, run, key_of("given failures")), 0, true});
}

bool Sources::is_drawn_together(const Cause& cause) const {
  return given_ && cause.effect == Effect::stop && cause.shape == 1 && cause.at_s.empty();
}

void Sources::add(Clock clock) {
  wind(clock);
  if (clock.at >= never_) return;
  clocks_.push_back(clock);
  std::push_heap(clocks_.begin(), clocks_.end());
}

void Sources::wind(Clock& clock) const {
  if (clock.is_given) return wind_given(clock);
  const Cause& cause = causes_[clock.cause];
  const std::size_t before = clock.struck++;
  if (!cause.at_s.empty()) {
    clock.at = before < cause.at_s.size() ? to_ps(cause.at_s[before]) : never_;
  } else if (cause.shape == 1) {
    clock.at += to_ps(clock.draws.exponential(cause.mean_s / static_cast<double>(cause.units)));
  } else {
    clock.at += to_ps(clock.draws.weibull(cause.mean_s, cause.shape));
  }
}

// The times of `count` failures within the horizon are uniform; drawn in order, the first of n that
// are left leaves a part u^(1/n) of the time that is left. Beyond the horizon failures come as
// usual.
void Sources::wind_given(Clock& clock) const {
  const auto done = static_cast<int64_t>(clock.struck++);
  const double horizon = given_->horizon_s;
  if (done < given_->count) {
    const double left = horizon - to_s(clock.at);
    const double part =
        std::pow(clock.draws.uniform(), 1 / static_cast<double>(given_->count - done));
    clock.at = to_ps(horizon - std::max(0., left) * part);
    return;
  }
  const LongPs from = std::max(clock.at, to_ps(horizon));
  clock.at = given_rate_ > 0 ? from + to_ps(clock.draws.exponential(1 / given_rate_)) : never_;
}

std::size_t Sources::cause_of_given(Draws& draws) const {
  double left = draws.uniform() * given_rate_;
  std::size_t last = 0;
  for (std::size_t number = 0; number < causes_.size(); ++number) {
    if (!is_drawn_together(causes_[number])) continue;
    last = number;
    left -= causes_[number].rate();
    if (left < 0) break;
  }
  return last;
}

std::size_t Sources::take() {
  std::pop_heap(clocks_.begin(), clocks_.end());
  Clock& clock = clocks_.back();
  const std::size_t cause = clock.is_given ? cause_of_given(clock.draws) : clock.cause;
  wind(clock);
  if (clock.at >= never_)
    clocks_.pop_back();
  else
    std::push_heap(clocks_.begin(), clocks_.end());
  return cause;
}

}  // namespace sgdsim::goodput

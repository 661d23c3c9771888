// A heap of clocks, each of which draws the time until it strikes again.
#include "models/goodput/sources.h"

#include <algorithm>
#include <cmath>

namespace sgdsim::goodput {

namespace {

constexpr double worth_a_look = 16;  // first failures for which all units are looked at
// Far above what rounding does to a draw whose time is compared (1e-14), and far below what
// matters.
constexpr double draw_margin = 1e-12;

}  // namespace

// Conversions to 64 bits take an instruction, those to 128 bits a function.
LongPs to_ps(double seconds) {
  constexpr double within_64_bits = 9e18;
  const double ps = std::nearbyint(std::min(seconds, never_s) * 1e12);
  return std::abs(ps) < within_64_bits ? static_cast<LongPs>(static_cast<int64_t>(ps))
                                       : static_cast<LongPs>(ps);
}
double to_s(LongPs time) { return static_cast<double>(time) / 1e12; }

Sources::Sources(const std::vector<Cause>& causes, bool recorded, uint64_t seed, uint64_t run,
                 double likely_s, const std::optional<GivenFailures>& given)
    : causes_(causes), given_(given), seed_(seed), run_(run) {
  clocks_.reserve(causes.size());
  for (std::size_t number = 0; number < causes.size(); ++number) {
    const Cause& cause = causes[number];
    if (cause.at_s.empty() == recorded) continue;
    if (is_drawn_together(cause)) {
      given_rate_ += cause.rate();
    } else if (cause.shape == 1 || recorded) {
      add({0, number, Draws(seed, run, key_of(cause.name)), 0, false});
    } else {
      const double scale_s = cause.mean_s / std::tgamma(1 + 1 / cause.shape);
      scales_s_.resize(causes.size());
      scales_s_[number] = scale_s;
      const double part = std::min(1., worth_a_look / static_cast<double>(cause.units));
      units_.push_back({number, 2, cause.mean_s * part});
    }
  }
  if (given_) add({0, causes.size(), Draws(seed, run, key_of("given failures")), 0, true});
  look_until(likely_s);
  look_ahead();
}

// From here on the first clock is the next failure.
void Sources::look_ahead() {
  while (seen_ < never_ && (clocks_.empty() || clocks_.front().at > seen_)) {
    double further_s = 2 * seen_s_;
    for (const Units& units : units_) further_s = std::max(further_s, seen_s_ + units.few_s);
    look_until(further_s);
  }
}

// Where they are a few, a look at all of them is cheaper than another one.
void Sources::look_until(double until_s) {
  bool is_all = true;
  for (const Units& units : units_)
    is_all = is_all && static_cast<double>(causes_[units.cause].units) <= worth_a_look;
  seen_s_ = is_all ? never_s : std::min(until_s, never_s);
  seen_ = to_ps(seen_s_);
  for (Units& units : units_) {
    const double shape = causes_[units.cause].shape;
    const double least = chance_to_run(shape, seen_s_ / scales_s_[units.cause]) - draw_margin;
    add_units(units, seen_ < never_ ? least : -1);
  }
}

// Those whose first draw is between what was looked at before and this.
void Sources::add_units(Units& units, double least) {
  const uint64_t key = key_of(causes_[units.cause].name);
  const int64_t count = causes_[units.cause].units;
  for (int64_t unit = 0; unit < count; ++unit) {
    const Draws draws(seed_, run_, key + static_cast<uint64_t>(unit));
    const double first = Draws(draws).uniform();
    if (first >= least && first < units.least) add({0, units.cause, draws, 0, false});
  }
  units.least = std::min(units.least, least);
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
    const double scale = scales_s_[clock.cause];
    clock.at += to_ps(before == 0 ? clock.draws.first_of_weibull(scale, cause.shape)
                                  : clock.draws.weibull(scale, cause.shape));
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
  look_ahead();
  return cause;
}

}  // namespace sgdsim::goodput

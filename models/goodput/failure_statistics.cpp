// Counts are Poisson where failures keep no memory, and those of renewals where they cluster; ages
// are Weibull.
#include "models/goodput/failure_statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "models/goodput/gamma.h"
#include "models/goodput/renewals.h"

namespace sgdsim::goodput {
namespace {

constexpr double level = 0.05;  // of intervals

// Where a growing function crosses zero, between both ends.
double root_of(double low, double high, const std::function<double(double)>& grows) {
  for (int i = 0; i < 200 && high - low > 1e-11 * high; ++i) {
    const double middle = std::midpoint(low, high);
    (grows(middle) < 0 ? low : high) = middle;
  }
  return std::midpoint(low, high);
}

// The likelihood of a shape with the best scale. Ages are taken over their greatest.
class WeibullLikelihood {
 public:
  WeibullLikelihood(std::span<const FailureSpell> spells, int32_t cause) {
    // Failures at the moment of a start would have an endless hazard.
    constexpr double least_s = 0.5;
    for (const FailureSpell& spell : spells) longest_s_ = std::max(longest_s_, spell.length_s);
    longest_s_ = std::max(longest_s_, least_s);
    for (const FailureSpell& spell : spells) {
      const double age = std::log(std::max(spell.length_s, least_s) / longest_s_);
      ages_.push_back({age, spell.units});
      if (spell.cause < 0 || (cause >= 0 && spell.cause != cause)) continue;
      ++failures_;
      log_ages_ += age;
      youngest_ = std::min(youngest_, age);
      oldest_ = std::max(oldest_, age);
    }
  }
  int64_t failures() const { return failures_; }
  bool has_several_ages() const { return youngest_ < oldest_; }
  double value(double shape) const {
    const auto n = static_cast<double>(failures_);
    return n * std::log(shape) + (shape - 1) * log_ages_ - n * std::log(sums(shape).all);
  }
  // Falls as the shape grows.
  double slope(double shape) const {
    const auto n = static_cast<double>(failures_);
    const Sums sum = sums(shape);
    return n / shape + log_ages_ - n * sum.of_logs / sum.all;
  }
  double scale_s(double shape) const {
    return longest_s_ * std::pow(sums(shape).all / static_cast<double>(failures_), 1 / shape);
  }

 private:
  struct Age {
    double log = 0;  // of its part of the longest
    double units = 1;
  };
  struct Sums {
    double all = 0;
    double of_logs = 0;
  };
  Sums sums(double shape) const {
    Sums sum;
    for (const Age& age : ages_) {
      const double one = age.units * std::exp(shape * age.log);
      sum.all += one;
      sum.of_logs += one * age.log;
    }
    return sum;
  }
  std::vector<Age> ages_;
  double longest_s_ = 0;
  int64_t failures_ = 0;
  double log_ages_ = 0;
  double youngest_ = 1;
  double oldest_ = -1e300;
};

constexpr double least_shape = 0.01;
constexpr double most_shape = 100;

}  // namespace

double chance_of_at_least(int64_t events, double mean) {
  return events <= 0 ? 1 : gamma_below(static_cast<double>(events), mean);
}

double chi_square_above(double freedom, double value) {
  return gamma_above(freedom / 2, value / 2);
}

Interval interval_of_count(int64_t events) {
  const auto n = static_cast<double>(events);
  const double most = 10 + n + 10 * std::sqrt(n);
  Interval interval;
  if (events > 0)
    interval.low = root_of(0, most, [n](double x) { return gamma_below(n, x) - level / 2; });
  interval.high = root_of(0, most, [n](double x) { return level / 2 - gamma_above(n + 1, x); });
  return interval;
}

std::optional<WeibullFit> weibull_of(std::span<const FailureSpell> spells, int32_t cause) {
  const WeibullLikelihood likelihood(spells, cause);
  if (likelihood.failures() < least_for_shape || !likelihood.has_several_ages()) return {};
  WeibullFit fit;
  fit.shape = root_of(least_shape, most_shape, [&](double k) { return -likelihood.slope(k); });
  fit.scale_s = likelihood.scale_s(fit.shape);
  const double best = likelihood.value(fit.shape);
  fit.exponential_p = chi_square_above(1, 2 * (best - likelihood.value(1)));
  constexpr double half_of_chi_square = 3.841458820694124 / 2;  // 95 % of one degree of freedom
  const auto loss = [&](double k) { return best - likelihood.value(k) - half_of_chi_square; };
  if (loss(least_shape) > 0)
    fit.interval.low = root_of(least_shape, fit.shape, [&](double k) { return -loss(k); });
  if (loss(most_shape) > 0)
    fit.interval.high = root_of(fit.shape, most_shape, [&](double k) { return loss(k); });
  return fit;
}

namespace {

// The shape of gaps between failures of a unit, without those of some units; 1 where too few gaps
// tell it, or where it is above: then counts vary less than by chance, which does not say that a
// unit is like the others. The time until a unit's first failure is none: nobody knows when the
// unit had come back.
double shape_of_gaps(const FailureRecord& record, const std::vector<bool>& without) {
  constexpr double least = 0.1;
  std::vector<bool> has_begun(record.units.size());
  std::vector<FailureSpell> gaps;
  for (const FailureSpell& spell : record.spells) {
    if (spell.unit < 0) continue;
    const auto unit = static_cast<std::size_t>(spell.unit);
    if (has_begun[unit] && !without[unit]) gaps.push_back(spell);
    has_begun[unit] = true;
  }
  const auto law = weibull_of(gaps, -1);
  return law ? std::clamp(law->shape, least, 1.) : 1;
}

class LemonSearch {
 public:
  explicit LemonSearch(const FailureRecord& record)
      : record_(record),
        units_(std::max(record.unit_count, static_cast<double>(record.units.size()))) {
    for (const FailureRecord::Unit& unit : record.units)
      failures_ += static_cast<double>(unit.failures);
  }

  // Those of the suspects that fail too often for gaps of this shape. Lemons hide behind their own
  // failures: once found they no longer count for what is usual.
  std::vector<bool> among(const std::vector<bool>& suspects, double shape) {
    usual_failures_ = failures_;
    usual_s_ = record_.seen_unit_s;
    const auto renewals = shape < 1 ? std::optional(RenewalCounts(shape)) : std::nullopt;
    std::vector<bool> is_lemon(record_.units.size());
    for (bool found = true; found && usual_s_ > 0;) {
      found = false;
      const double rate = usual_failures_ / usual_s_;
      for (std::size_t i = 0; i < record_.units.size(); ++i) {
        const FailureRecord::Unit& unit = record_.units[i];
        if (!suspects[i] || is_lemon[i] || !is_too_often(unit, rate * unit.seen_s, renewals))
          continue;
        is_lemon[i] = found = true;
        usual_failures_ -= static_cast<double>(unit.failures);
        usual_s_ -= unit.seen_s;
      }
    }
    return is_lemon;
  }

  double units() const { return units_; }
  double failures() const { return failures_; }
  // Without the lemons that were found last.
  double usual_failures() const { return std::max(0., usual_failures_); }
  double usual_s() const { return usual_s_; }

 private:
  bool is_too_often(const FailureRecord::Unit& unit, double expected,
                    const std::optional<RenewalCounts>& renewals) const {
    constexpr double chance = 0.01;  // of a false one among all units
    if (unit.failures < 2 || chance_of_at_least(unit.failures, expected) * units_ > chance)
      return false;
    return !renewals || renewals->chance_of_at_least(unit.failures, expected) * units_ <= chance;
  }

  const FailureRecord& record_;
  double units_ = 0;
  double failures_ = 0;
  double usual_failures_ = 0;
  double usual_s_ = 0;
};

}  // namespace

// Lemons look like gaps that cluster, and gaps that cluster like lemons. First all are suspects
// whose failures would be too many by chance; the gaps of the others say how much they cluster, and
// suspects who are like that are let off and have a say, too, until no further one is.
Lemons lemons_of(const FailureRecord& record) {
  LemonSearch search(record);
  std::vector<bool> is_lemon = search.among(std::vector<bool>(record.units.size(), true), 1);
  for (std::vector<bool> before; before != is_lemon;) {
    before = is_lemon;
    is_lemon = search.among(before, shape_of_gaps(record, before));
  }
  Lemons lemons;
  lemons.rate_of_others_s = search.usual_s() > 0 ? search.usual_failures() / search.usual_s() : 0;
  for (std::size_t i = 0; i < record.units.size(); ++i)
    if (is_lemon[i]) lemons.worst.push_back({i, lemons.rate_of_others_s * record.units[i].seen_s});
  std::stable_sort(lemons.worst.begin(), lemons.worst.end(), [&](const Lemon& a, const Lemon& b) {
    return record.units[a.unit].failures > record.units[b.unit].failures;
  });
  if (lemons.worst.empty()) return lemons;
  lemons.share_of_units = static_cast<double>(lemons.worst.size()) / search.units();
  lemons.share_of_failures = (search.failures() - search.usual_failures()) / search.failures();
  return lemons;
}

Bursts bursts_of(const FailureRecord& record) {
  // Parts with some five failures each, so that chi-square holds.
  constexpr std::size_t of_a_part = 5;
  constexpr std::size_t most_parts = 1000;
  const std::size_t parts = std::min(most_parts, record.failures.size() / of_a_part);
  if (parts < 4 || record.length_s <= 0) return {};
  std::vector<double> counts(parts);
  for (const FailureRecord::Failure& failure : record.failures) {
    const double part = failure.at_s / record.length_s * static_cast<double>(parts);
    ++counts[std::min(parts - 1, static_cast<std::size_t>(std::max(0., part)))];
  }
  const double mean = static_cast<double>(record.failures.size()) / static_cast<double>(parts);
  double squares = 0;
  for (const double count : counts) squares += (count - mean) * (count - mean);
  const double freedom = static_cast<double>(parts) - 1;
  return {static_cast<int64_t>(parts), squares / freedom / mean,
          chi_square_above(freedom, squares / mean)};
}

}  // namespace sgdsim::goodput

// Page's sums on both sides.
#include "models/diagnose/alarm.h"

#include <algorithm>
#include <cmath>

#include "models/diagnose/usual.h"

namespace sgdsim::diagnose {
namespace {

constexpr double of_normal = 1.4826;   // standard deviation over median absolute deviation
constexpr double least_spread = 1e-6;  // steps that are all alike differ by rounding
constexpr double newest = 0.1;
constexpr double clean_spreads = 3;  // what is further away says nothing of the centre
// One step that is far out is an outlier, not a shift: it counts as this many spreads.
constexpr double most_spreads = 4;

constexpr std::size_t most_kept = 200;

void keep(std::vector<double>& some, double sum, double away) {
  if (sum == 0) return some.clear();
  if (some.size() == most_kept) some.erase(some.begin());
  some.push_back(away);
}

}  // namespace

void Alarm::settle() {
  centre_ = median(first_);
  std::vector<double> away;
  for (const double one : first_) away.push_back(std::abs(one - centre_));
  spread_ = std::max(least_spread, of_normal * median(std::move(away)));
  clean_ = static_cast<double>(first_.size());
}

double Alarm::shift() const {
  if (since() == 0) return 0;
  return median(up_ >= down_ ? up_away_ : down_away_);
}

int Alarm::sign() const {
  if (std::max(up_, down_) <= rule_.h || std::abs(shift()) < rule_.least) return 0;
  return up_ >= down_ ? 1 : -1;
}

void Alarm::add(double residual) {
  smoothed_ = has_smoothed_ ? smoothed_ + newest * (residual - smoothed_) : residual;
  has_smoothed_ = true;
  if (!is_ready()) {
    first_.push_back(residual);
    if (static_cast<int>(first_.size()) >= rule_.reference) settle();
    return;
  }
  const double away = (residual - centre_) / spread_;
  const double counted = std::clamp(away, -most_spreads, most_spreads);
  up_ = std::max(0., up_ + counted - rule_.k);
  down_ = std::max(0., down_ - counted - rule_.k);
  up_since_ = up_ > 0 ? up_since_ + 1 : 0;
  down_since_ = down_ > 0 ? down_since_ + 1 : 0;
  keep(up_away_, up_, residual - centre_);
  keep(down_away_, down_, residual - centre_);
  if (std::abs(away) > clean_spreads || std::max(up_, down_) > rule_.h / 2) return;
  ++clean_;
  centre_ += (residual - centre_) / clean_;
}

}  // namespace sgdsim::diagnose

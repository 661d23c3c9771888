// From change to change: an exchange begins to flow, or has flown.
#include "models/step/channels.h"

#include <algorithm>

namespace sgdsim {

double Channels::sharing() const {
  return static_cast<double>(
      std::count_if(flights_.begin(), flights_.end(),
                    [&](const Flight& flight) { return flight.flows <= now_; }));
}

// When it flows, or at the present rate has flown.
Duration Channels::change_of(const Flight& flight, double sharing) const {
  return flight.flows > now_ ? flight.flows : now_ + Duration::nearest_ps(flight.left_ps * sharing);
}

Duration Channels::next_change() const {
  Duration next = Duration::longest();
  const double others = sharing();
  for (const Flight& flight : flights_) next = std::min(next, change_of(flight, others));
  return next;
}

void Channels::play_to(Duration when) {
  while (now_ < when || (!flights_.empty() && next_change() <= when)) {
    const double others = sharing();
    const Duration next = flights_.empty() ? when : std::min(when, next_change());
    const auto passed_ps = static_cast<double>((next - now_).ps());
    std::erase_if(flights_, [&](Flight& flight) {
      if (flight.flows > now_) return false;
      if (change_of(flight, others) <= next) {
        ends_[flight.index] = next;
        return true;
      }
      flight.left_ps -= passed_ps / others;
      return false;
    });
    now_ = next;
  }
}

void Channels::play_out() {
  while (!flights_.empty()) play_to(next_change());
}

Duration Channels::enter(Duration ready, Duration alone, Duration own_time) {
  play_to(ready);
  while (flights_.size() >= count_) play_to(next_change());
  own_time = std::min(own_time, alone);
  flights_.push_back({ends_.size(), now_ + own_time, static_cast<double>((alone - own_time).ps())});
  ends_.emplace_back();
  return now_;
}

Duration Channels::silent() const {
  Channels rest = *this;
  rest.play_out();
  return rest.now_;
}

std::vector<Duration> Channels::ends() {
  play_out();
  return ends_;
}

}  // namespace sgdsim

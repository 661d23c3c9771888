// Messages that others have taken part of the way, or take from here on.
#include "sim/net/flows.h"

namespace sgdsim {

uint32_t Flows::send_begun(const Parcel& parcel, const Underway& how, Time now) {
  const uint32_t message = add(parcel);
  if (how.since >= now) {
    begin_at(message, how.since);
    return message;
  }
  Flow& it = flow(message);
  if (how.leaves <= now) {
    it.is_free = it.has_left = true;
    arrive_at(message, how.there);
    return message;
  }
  begin(message, how.since);
  if (!it.is_flowing) return message;
  it.progress = {.left_ps = how.left_ps, .rate = 1, .since = how.since};
  it.ends = how.leaves;
  queue_end(message, how.leaves);
  return message;
}

std::optional<Flows::Underway> Flows::underway(uint32_t message, Time now) const {
  const Flow& it = flows_[message];
  const Duration flight = it.is_there ? Duration() : it.what.leg.flight;
  if (it.has_left)
    return Underway{.since = now, .leaves = it.arrives - flight, .there = it.arrives};
  if (it.ends <= now || (it.is_flowing && it.progress.rate != 1)) return std::nullopt;
  Underway how{.since = it.progress.since, .left_ps = it.progress.left_ps, .leaves = it.ends};
  if (!it.has_begun) {
    how.since = it.ends;
    how.leaves += it.what.leg.transit;
  }
  how.there = how.leaves + flight;
  return how;
}

void Flows::forget(uint32_t message) {
  Flow& it = flow(message);
  const double size_B = alone(it) * static_cast<double>(it.what.leg.transit.ps());
  if (it.is_flowing)
    rates_.for_each_use(message,
                        [&](uint32_t used, double share) { carried_B_[used] -= share * size_B; });
  forget_end(message);
  end(message, it.progress.since);
  unused_.push_back(message);
}

}  // namespace sgdsim

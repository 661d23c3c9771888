// Knots of a few flows, and when they join the crowd.
#include "sim/net/fair_rates.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace sgdsim {

FairRates::FairRates(const std::vector<double>& capacities)
    : places_(capacities.size()), crowd_(capacities) {
  for (std::size_t r = 0; r < capacities.size(); ++r) places_[r].capacity = capacities[r];
  flows_.reserve(capacities.size() / 2);
}

bool FairRates::fits(std::span<const ResourceUse> uses) const {
  return !uses.empty() && uses.size() <= most_uses &&
         std::all_of(uses.begin(), uses.end(), [&](const ResourceUse& use) {
           const Place& place = places_[use.resource];
           return place.crowd == 0 && place.count < most_here;
         });
}

void FairRates::add(uint32_t flow, std::span<const ResourceUse> uses, double cap) {
  if (flow >= flows_.size()) flows_.resize(flow + 1);
  Flow& it = flows_[flow];
  assert(it.count == 0 && !it.is_crowded);
  it.cap = cap;
  it.rate = 0;
  if (!fits(uses)) {
    join(flow, uses);
    return join_all();
  }
  it.count = static_cast<uint8_t>(uses.size());
  std::copy(uses.begin(), uses.end(), it.uses.begin());
  for (const ResourceUse& use : uses) {
    assert(use.share > 0);
    Place& place = places_[use.resource];
    place.flows[place.count++] = flow;
  }
  mark(flow);
}

void FairRates::remove(uint32_t flow) {
  Flow& it = flows_[flow];
  if (it.is_crowded) {
    crowd_.for_each_use(flow, [&](uint32_t resource, double) { --places_[resource].crowd; });
    crowd_.remove(flow);
    is_crowd_changed_ = true;
    it.is_crowded = false;
    return;
  }
  for (const ResourceUse& use : it.used()) {
    Place& place = places_[use.resource];
    const uint32_t last = place.flows[--place.count];
    for (std::size_t at = 0; at < place.count; ++at) {
      if (place.flows[at] == flow) place.flows[at] = last;
      mark(place.flows[at]);
    }
  }
  it.count = 0;
}

void FairRates::set_capacity(uint32_t resource, double capacity) {
  Place& place = places_[resource];
  place.capacity = capacity;
  for (std::size_t at = 0; at < place.count; ++at) mark(place.flows[at]);
  crowd_.set_capacity(resource, capacity);
  is_crowd_changed_ = true;
}

double FairRates::used(uint32_t resource) const {
  const Place& place = places_[resource];
  if (place.crowd > 0) return crowd_.used(resource);
  double sum = 0;
  for (std::size_t at = 0; at < place.count; ++at)
    for (const ResourceUse& use : flows_[place.flows[at]].used())
      if (use.resource == resource) sum += flows_[place.flows[at]].rate * use.share;
  return sum;
}

// With everybody whom it meets, and whom those meet.
void FairRates::crowd_with(uint32_t flow) {
  joining_.push_back(flow);
  join_all();
}

void FairRates::join_all() {
  while (!joining_.empty()) {
    const uint32_t next = joining_.back();
    joining_.pop_back();
    Flow& it = flows_[next];
    if (it.is_crowded) continue;
    const std::size_t count = std::exchange(it.count, uint8_t{0});
    join(next, std::span(it.uses).first(count));
  }
}

// Whom it meets will follow (join_all).
void FairRates::join(uint32_t flow, std::span<const ResourceUse> uses) {
  flows_[flow].is_crowded = true;
  crowd_.add(flow, uses, flows_[flow].cap);
  is_crowd_changed_ = true;
  for (const ResourceUse& use : uses) {
    Place& place = places_[use.resource];
    ++place.crowd;
    while (place.count > 0) joining_.push_back(place.flows[--place.count]);
  }
}

// All whom a flow meets, and whom those meet. False if these are too many.
bool FairRates::gather(uint32_t flow) {
  const auto take = [this](uint32_t number) {
    if (std::exchange(flows_[number].is_seen, true)) return;
    seen_.push_back(number);
    knot_.push_back(number);
  };
  knot_.clear();
  shares_.clear();
  take(flow);
  for (std::size_t i = 0; i < knot_.size(); ++i) {
    for (const ResourceUse& use : flows_[knot_[i]].used()) {
      const Place& place = places_[use.resource];
      for (std::size_t at = 0; at < place.count; ++at) take(place.flows[at]);
      Share& share = share_of(use.resource);
      share.asked += use.share;
      ++share.open;
    }
    if (knot_.size() > most_in_knot) return false;
  }
  return true;
}

FairRates::Share& FairRates::share_of(uint32_t resource) {
  for (Share& share : shares_)
    if (share.resource == resource) return share;
  shares_.push_back({resource, 0, capacity(resource), 0});
  return shares_.back();
}

// All rise together; at each step those stop who have their cap, or use what is used up first.
void FairRates::fill_knot() {
  filled_.assign(knot_.size(), open);
  left_ = knot_.size();
  while (left_ > 0) {
    double level = std::numeric_limits<double>::infinity();
    const std::size_t full = find_level(level);
    stop_at(full, level);
  }
}

// The place in shares_ of what is used up there; their number: somebody has its cap.
std::size_t FairRates::find_level(double& level) const {
  for (std::size_t i = 0; i < knot_.size(); ++i)
    if (filled_[i] == open) level = std::min(level, flows_[knot_[i]].cap);
  std::size_t full = shares_.size();
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    if (shares_[i].open == 0 || shares_[i].asked <= 0) continue;
    const double its = std::max(0.0, shares_[i].room) / shares_[i].asked;
    if (its >= level) continue;
    level = its;
    full = i;
  }
  return full;
}

void FairRates::stop_at(std::size_t full, double level) {
  for (std::size_t i = 0; i < knot_.size(); ++i) {
    if (filled_[i] != open) continue;
    const Flow& it = flows_[knot_[i]];
    const auto is_full = [&](const ResourceUse& use) {
      return use.resource == shares_[full].resource;
    };
    const bool stops = full == shares_.size()
                           ? it.cap <= level
                           : std::any_of(it.used().begin(), it.used().end(), is_full);
    if (stops) stop(i, level);
  }
}

void FairRates::stop(std::size_t place, double rate) {
  filled_[place] = rate;
  --left_;
  for (const ResourceUse& use : flows_[knot_[place]].used()) {
    Share& share = share_of(use.resource);
    share.room -= rate * use.share;
    share.asked -= use.share;
    --share.open;
  }
}

}  // namespace sgdsim

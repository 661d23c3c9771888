// Wires that get faster or slower, open and close, while messages are under way.
#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/core/error.h"
#include "sim/net/flows.h"

namespace sgdsim {

// How much faster a message alone is that uses `uses_` than by the wires' first capacities: as much
// as the narrowest of them has grown. What slows wires down needs no cap.
double Flows::speed_up() const {
  if (!has_faster_) return 1;
  double before = std::numeric_limits<double>::infinity();
  double now = before;
  for (const ResourceUse& use : uses_) {
    before = std::min(before, capacities_[use.resource] / use.share);
    now = std::min(now, rates_.capacity(use.resource) / use.share);
  }
  return now > before && std::isfinite(now) ? now / before : 1;
}

// Messages under way may go faster, or no longer.
void Flows::follow_caps() {
  for (uint32_t message = 0; message < flows_.size(); ++message) {
    const Flow& it = flows_[message];
    if (!it.is_flowing) continue;
    uses_.clear();
    rates_.for_each_use(message, [&](uint32_t used, double share) {
      uses_.push_back({used, share});
    });
    const double cap = it.alone_B_per_ps * speed_up();
    if (cap == rates_.cap(message)) continue;
    rates_.remove(message);
    rates_.add(message, uses_, cap);
  }
}

void Flows::open(std::span<const uint32_t> resources, bool is_open, Time now) {
  if (!resources_.open(resources, is_open)) return;
  std::vector<uint32_t> again = std::exchange(stranded_, {});
  for (uint32_t message = 0; message < flows_.size(); ++message) {
    Flow& it = flow(message);
    if (!it.is_flowing) continue;
    // Its last byte leaves at this moment.
    const bool is_over = it.progress.rate > 0 && it.ends <= now;
    it.progress.note(now);
    if (!is_over)
      rates_.for_each_use(message, [&](uint32_t used, double share) {
        carried_B_[used] -= share * alone(it) * it.progress.left_ps;
      });
    it.progress.rate = 0;
    ++it.version;
    forget_end(message);
    rates_.remove(message);
    it.is_flowing = !is_over;
    if (is_over)
      queue_end(message, it.ends = now);
    else
      again.push_back(message);
  }
  next_end_ = Time::last();
  are_ends_old_ = true;
  ++next_version_;  // what was planned has no rate any more
  for (const uint32_t message : again) find_route(message);
}

void Flows::scale(uint32_t resource, double factor, Time) {
  rates_.set_capacity(resource, capacities_[resource] * factor);
  has_faster_ = has_faster_ || factor > 1;
  // What is slower or as at first again may have been the narrowest of a way that is faster.
  are_caps_old_ = are_caps_old_ || has_faster_;
}

std::vector<Stranded> Flows::stranded() {
  std::vector<Stranded> messages;
  for (const uint32_t message : stranded_)
    messages.push_back({message, flows_[message].what, Stranding::no_way});
  return messages;
}

void Flows::lose(std::span<const uint32_t>, double) {
  throw InputError("", "links lose packets, which are simulated at fidelity packet only");
}

}  // namespace sgdsim

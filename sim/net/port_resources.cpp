// Numbered worker by worker, then way by way, then worker by worker inside nodes; out before in.
#include "sim/net/port_resources.h"

#include <algorithm>

namespace sgdsim {

PortResources::PortResources(const Network& network)
    : network_(network),
      // Of one node there are no others to leave for.
      node_(network.inner_links().node < network.workers() ? network.inner_links().node : 1),
      outer_(2 * static_cast<std::size_t>(network.workers())) {
  for (const SharedWays& shared : network.shared_ways())
    outer_ += 2 * shared.count(network.workers());
}

std::vector<double> PortResources::capacities() const {
  const std::size_t inner = node_ > 1 ? 2 * static_cast<std::size_t>(network_.workers()) : 0;
  return std::vector<double>(outer_ + inner, 1.0);
}

// What a byte takes to another worker of its node.
PerByte PortResources::inner_rate(int worker) const {
  const int other = worker % node_ > 0 ? worker - 1 : worker + 1;
  return other < network_.workers() ? network_.between(other, worker).per_byte : PerByte();
}

// A message that a slower way holds up keeps the ports at its ends no busier than its bytes do: the
// rest of their time is for others. That it is no faster is its own limit.
double PortResources::per_byte(const Parcel& parcel, Duration busy, PerByte port,
                               bool stays) const {
  const double whole = static_cast<double>(busy.ps()) / parcel.size_B;
  const Network& band = network_.at_size(parcel.size_B);
  const auto least = band.least_rates(node_);
  if (!least) return whole;
  const PairCost pair = band.between(parcel.from, parcel.to);
  const PerByte own = std::max(port, stays ? least->inside : least->outside);
  if (own >= pair.per_byte) return whole;
  const double more = 1 + static_cast<double>(parcel.acknowledged);
  // Where flight is no part of what is shared, a start-up keeps ports busy.
  const double start_up_ps =
      parcel.leg.flight == Duration() ? static_cast<double>(pair.latency.ps()) : 0;
  const double alone_ps = start_up_ps + pair.per_byte.ps() * more * parcel.size_B;
  const double jitter =
      parcel.leg.agreed > Duration() ? 1 : static_cast<double>(parcel.leg.transit.ps()) / alone_ps;
  return std::min(whole, jitter * (start_up_ps / parcel.size_B + own.ps() * more));
}

bool PortResources::find(const Parcel& parcel, Part part, std::vector<ResourceUse>& uses) {
  auto add = [&](std::size_t port, double per_byte) {
    if (per_byte > 0) uses.push_back({static_cast<uint32_t>(port), per_byte});
  };
  const bool leaves = part != Part::enters;
  const bool enters = part != Part::leaves;
  const bool stays = node_ > 1 && parcel.from / node_ == parcel.to / node_;
  const std::size_t first = stays ? outer_ : 0;
  const auto port_of = [&](int worker, PairCost Port::*way) {
    const std::vector<Port>& ports = network_.at_size(parcel.size_B).ports();
    return ports.empty() ? PerByte() : (ports[static_cast<std::size_t>(worker)].*way).per_byte;
  };
  if (leaves)
    add(first + 2 * static_cast<std::size_t>(parcel.from),
        per_byte(parcel, parcel.leg.out_busy, port_of(parcel.from, &Port::out), stays));
  if (enters)
    add(first + 2 * static_cast<std::size_t>(parcel.to) + 1,
        per_byte(parcel, parcel.leg.in_busy, port_of(parcel.to, &Port::in), stays));
  if (node_ > 1 && !stays && network_.inner_links().lead_out) {
    if (leaves)
      add(outer_ + 2 * static_cast<std::size_t>(parcel.from), inner_rate(parcel.from).ps());
    if (enters)
      add(outer_ + 2 * static_cast<std::size_t>(parcel.to) + 1, inner_rate(parcel.to).ps());
  }
  std::size_t base = 2 * static_cast<std::size_t>(network_.workers());
  for (const SharedWays& shared : network_.shared_ways()) {
    if (shared.carries(parcel.from, parcel.to)) {
      const std::size_t out = shared.way_out(parcel.from, parcel.to);
      if (leaves) add(base + 2 * out, shared.rate_of(parcel.from).ps());
      if (enters) add(base + 2 * shared.way_in(parcel.to) + 1, shared.rate_of(parcel.to).ps());
    }
    base += 2 * shared.count(network_.workers());
  }
  return true;
}

ResourceName PortResources::name_of(uint32_t resource) const {
  const std::string number = std::to_string(resource / 2);
  return {"port", number, resource % 2 == 0 ? "network" : "worker"};
}

}  // namespace sgdsim

// Pair rules: arithmetic on worker numbers that stands in for a table of routes.
#include "sim/net/network.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdlib>

#include "sim/core/cases.h"

namespace sgdsim {
namespace {

uint32_t groups_apart(const NestedGroups& rule, int from, int to) {
  uint32_t apart = 0;
  for (const int size : rule.group_sizes) apart += from / size != to / size ? 1U : 0U;
  return apart;
}

uint32_t hops_apart(const GridHops& rule, int from, int to) {
  int a = from / rule.per_router;
  int b = to / rule.per_router;
  int hops = 0;
  for (const int size : rule.dimensions) {
    const int way = std::abs(a % size - b % size);
    hops += rule.wraps ? std::min(way, size - way) : way;
    a /= size;
    b /= size;
  }
  return static_cast<uint32_t>(hops);
}

std::size_t kind_on_rails(const Rails& rule, int from, int to) {
  if (from / rule.gpus == to / rule.gpus) return 0;
  const std::size_t kind = from / rule.pod == to / rule.pod ? 1 : 3;
  return from % rule.gpus == to % rule.gpus ? kind : kind + 1;
}

// The largest out latency plus the largest in latency of another worker.
Duration largest_latency_of_two_ports(const std::vector<Port>& ports) {
  Duration best;
  Duration out_before;
  Duration in_before;
  for (const Port& port : ports) {
    best = std::max({best, out_before + port.in.latency, port.out.latency + in_before});
    out_before = std::max(out_before, port.out.latency);
    in_before = std::max(in_before, port.in.latency);
  }
  return best;
}

}  // namespace

double Crowding::efficiency(int senders) const {
  Point before;
  for (const Point& point : points) {
    if (senders <= point.senders) {
      if (senders == point.senders || point.senders <= before.senders) return point.efficiency;
      const double part = std::log(static_cast<double>(senders) / before.senders) /
                          std::log(static_cast<double>(point.senders) / before.senders);
      return before.efficiency * std::pow(point.efficiency / before.efficiency, part);
    }
    before = point;
  }
  return before.efficiency;
}

Network::Network(int workers, PairRule rule, std::vector<PairCost> classes)
    : workers_(workers), rule_(std::move(rule)), classes_(std::move(classes)) {
  assert(workers_ > 0 && !classes_.empty());
}

uint32_t Network::class_of(int from, int to) const {
  return std::visit(
      Cases{[](const OneClass&) { return uint32_t{0}; },
            [&](const NestedGroups& rule) { return groups_apart(rule, from, to); },
            [&](const GridHops& rule) { return hops_apart(rule, from, to); },
            [&](const Rails& rule) { return rule.classes[kind_on_rails(rule, from, to)]; },
            [&](const PairTable& rule) {
              const auto row = static_cast<std::size_t>(from / rule.per_point);
              const auto column = static_cast<std::size_t>(to / rule.per_point);
              return rule.classes[row * static_cast<std::size_t>(rule.points) + column];
            }},
      rule_);
}

// Of classes that occur among the workers.
std::optional<Network::LeastRates> Network::least_rates(int node) const {
  std::optional<PerByte> inside;
  std::optional<PerByte> outside;
  const auto take = [&](std::size_t number, bool is_inside) {
    std::optional<PerByte>& least = is_inside ? inside : outside;
    const PerByte rate = classes_[number].per_byte;
    least = least ? std::min(*least, rate) : rate;
  };
  if (const auto* groups = std::get_if<NestedGroups>(&rule_)) {
    int within = 1;  // the group that pairs of the class before are in
    for (std::size_t number = 0; number <= groups->group_sizes.size(); ++number) {
      const bool is_last = number == groups->group_sizes.size();
      const int size = is_last ? workers_ : std::min(workers_, groups->group_sizes[number]);
      if (size > within) take(number, size <= node);
      within = std::max(within, size);
    }
  } else if (const auto* rails = std::get_if<Rails>(&rule_)) {
    const std::array<bool, 5> occurs = {
        rails->gpus > 1, rails->pod > rails->gpus && workers_ > rails->gpus,
        rails->pod > rails->gpus && rails->gpus > 1, workers_ > rails->pod,
        workers_ > rails->pod && rails->gpus > 1};
    for (std::size_t kind = 0; kind < occurs.size(); ++kind)
      if (occurs[kind]) take(rails->classes[kind], kind == 0 && rails->gpus <= node);
  } else {
    return std::nullopt;
  }
  return LeastRates{inside.value_or(PerByte()), outside.value_or(PerByte())};
}

void Network::set_ports(std::vector<Port> ports) {
  assert(ports.empty() || static_cast<int>(ports.size()) == workers_);
  ports_ = std::move(ports);
}

void Network::set_shared_ways(std::vector<SharedWays> ways) {
  std::erase_if(ways, [&](const SharedWays& shared) {
    return !shared.any_shared() || !shared.may_leave(workers_);
  });
  shared_ways_ = std::move(ways);
}

PerByte Network::through_ways(PerByte alone, int from, int to,
                              const std::vector<double>& loads) const {
  PerByte rate = alone;
  for (std::size_t g = 0; g < shared_ways_.size(); ++g) {
    const SharedWays& shared = shared_ways_[g];
    if (!shared.carries(from, to)) continue;
    rate = std::max(rate, std::max(shared.rate_of(from), shared.rate_of(to)) * loads[g]);
  }
  if (crowding_.any() && from / crowding_.group != to / crowding_.group)
    rate = rate * (1 / crowding_.efficiency(static_cast<int>(loads.back())));
  return rate;
}

PerByte Network::through_slowest_ways(PerByte alone, const std::vector<double>& loads) const {
  PerByte rate = alone;
  for (std::size_t g = 0; g < shared_ways_.size(); ++g)
    rate = std::max(
        rate,
        *std::max_element(shared_ways_[g].rates.begin(), shared_ways_[g].rates.end()) * loads[g]);
  if (crowding_.any()) rate = rate * (1 / crowding_.efficiency(static_cast<int>(loads.back())));
  return rate;
}

// Pairs of nodes that cost what those inside a node cost are taken for such.
void Network::acknowledge(double share, int workers_per_node) {
  // Nodes differ in graphs only.
  const int looked_at = std::holds_alternative<PairTable>(rule_) ? workers_ : workers_per_node;
  std::vector<bool> is_inside(classes_.size());
  for (int from = 0; from < std::min(looked_at, workers_); ++from) {
    const int first = from / workers_per_node * workers_per_node;
    for (int to = first; to < std::min(first + workers_per_node, workers_); ++to)
      if (from != to) is_inside[class_of(from, to)] = true;
  }
  for (std::size_t c = 0; c < classes_.size(); ++c)
    if (!is_inside[c]) classes_[c].acknowledged = share;
  std::vector<SizeBand> bands = this->bands();
  for (SizeBand& band : bands) band.network.acknowledge(share, workers_per_node);
  set_bands(std::move(bands));
}

Network Network::with(const Folding& folding) const {
  Network changed = *this;
  for (PairCost& cost : changed.classes_) cost.reduce = folding.of(cost.reduce);
  for (Port& port : changed.ports_)
    for (PairCost* way : {&port.out, &port.in}) way->reduce = folding.of(way->reduce);
  std::vector<SizeBand> bands = this->bands();
  for (SizeBand& band : bands) band.network = band.network.with(folding);
  changed.set_bands(std::move(bands));
  return changed;
}

void Network::set_bands(std::vector<SizeBand> bands) {
  if (bands.empty()) {
    bands_.reset();
    return;
  }
  for (const SizeBand& band : bands) assert(band.network.workers() == workers_);
  bands_ = std::make_shared<const std::vector<SizeBand>>(std::move(bands));
}

const std::vector<SizeBand>& Network::bands() const {
  static const std::vector<SizeBand> none;
  return bands_ ? *bands_ : none;
}

const Network& Network::band_at(double size_B) const {
  const Network* found = this;
  for (const SizeBand& band : *bands_) {
    if (size_B < band.from_B) break;
    found = &band.network;
  }
  return *found;
}

bool Network::is_uniform() const {
  return ports_.empty() && !has_loads() && classes_.size() == 1 &&
         std::all_of(bands().begin(), bands().end(),
                     [](const SizeBand& band) { return band.network.is_uniform(); });
}

Network Network::first(int workers) const {
  assert(workers > 0 && workers <= workers_);
  Network part = *this;
  part.workers_ = workers;
  std::vector<SizeBand> parts;
  for (const SizeBand& band : bands()) parts.push_back({band.from_B, band.network.first(workers)});
  part.set_bands(std::move(parts));
  if (!part.ports_.empty()) part.ports_.resize(static_cast<std::size_t>(workers));
  part.set_shared_ways(std::move(part.shared_ways_));
  part.drop_unused_classes();
  return part;
}

// So that the worst pair is one of these workers. In nested groups the first worker has pairs of
// all classes that occur; elsewhere all pairs are looked at, and of more than so many workers all
// classes are taken to occur.
void Network::drop_unused_classes() {
  constexpr int most_looked_at = 1024;
  const bool is_nested = std::holds_alternative<NestedGroups>(rule_);
  if (workers_ < 2 || classes_.size() == 1) return;
  if (!is_nested && workers_ > most_looked_at) return;
  const int senders = is_nested ? 1 : workers_;
  std::vector<char> is_used(classes_.size());
  std::size_t used = 0;
  std::size_t last = 0;
  for (int from = 0; from < senders && used < classes_.size(); ++from)
    for (int to = 0; to < workers_; ++to) {
      if (from == to) continue;
      const std::size_t number = class_of(from, to);
      if (is_used[number] != 0) continue;
      is_used[number] = 1;
      ++used;
      last = number;
    }
  if (used == 1) {
    rule_ = OneClass();
    classes_ = {classes_[last]};
    return;
  }
  for (std::size_t i = 0; i < classes_.size(); ++i)
    if (is_used[i] == 0) classes_[i] = classes_[last];
}

PairCost Network::worst() const {
  PairCost worst = worst_of_band();
  for (const SizeBand& band : bands()) worst = worst_of(worst, band.network.worst());
  return worst;
}

PairCost Network::worst_of_band() const {
  PairCost worst;
  for (const PairCost& cost : classes_) worst = worst_of(worst, cost);
  if (ports_.empty()) return worst;
  PairCost ends;
  for (const Port& port : ports_) {
    ends = worst_of(ends, port.out);
    ends = worst_of(ends, port.in);
  }
  ends.latency = largest_latency_of_two_ports(ports_);
  return in_series(ends, worst);
}

}  // namespace sgdsim

// From the graph to resources, and along its shortest routes.
#include "topologies/routed_wires.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "sim/core/cast.h"
#include "sim/core/random.h"

namespace sgdsim {
namespace {

constexpr double most_table_bits = 4e9;

std::vector<double> capacities_of(const Graph& graph) {
  std::vector<double> capacities;
  capacities.reserve(2 * graph.connections().size());
  for (const Connection& one : graph.connections()) {
    const double per_byte = one.link.cost().per_byte.ps();
    const double capacity = per_byte > 0 ? 1 / per_byte : std::numeric_limits<double>::infinity();
    capacities.insert(capacities.end(), 2, capacity);
  }
  return capacities;
}

std::vector<Road> roads_of(const Graph& graph) {
  std::vector<Road> roads;
  roads.reserve(2 * graph.connections().size());
  const auto passing = [&](int vertex) { return graph.vertices()[at(vertex)].delay; };
  for (const Connection& one : graph.connections()) {
    const PairCost cost = one.link.cost();
    roads.push_back({one.to, cost.per_byte.ps(), cost.latency, passing(one.to)});
    roads.push_back({one.from, cost.per_byte.ps(), cost.latency, passing(one.from), one.both_ways});
  }
  return roads;
}

}  // namespace

RoutedWires::RoutedWires(Graph graph, const RouteChoice& choice)
    : graph_(std::move(graph)),
      choice_(choice),
      capacities_(capacities_of(graph_)),
      firsts_(graph_.vertices().size() + 1),
      gates_(at(graph_.workers())),
      search_(graph_),
      closed_(2 * graph_.connections().size()),
      last_(at(graph_.workers())) {
  graph_.shrink_to_fit();
  std::vector<int> links(graph_.vertices().size());
  const std::vector<Connection>& connections = graph_.connections();
  for (const Connection& one : connections) {
    ++links[at(one.from)];
    ++links[at(one.to)];
    ++firsts_[at(one.from) + 1];
    if (one.both_ways) ++firsts_[at(one.to) + 1];
  }
  for (std::size_t i = 1; i < firsts_.size(); ++i) firsts_[i] += firsts_[i - 1];
  outs_.resize(firsts_.back());
  std::vector<uint32_t> next(firsts_.begin(), firsts_.end() - 1);
  for (std::size_t c = 0; c < connections.size(); ++c) {
    const Connection& one = connections[c];
    const auto number = static_cast<int>(c);
    outs_[next[at(one.from)]++] = {one.to, way_number(number, false)};
    if (one.both_ways) outs_[next[at(one.to)]++] = {one.from, way_number(number, true)};
  }
  for (std::size_t i = 0; i + 1 < firsts_.size(); ++i)
    std::stable_sort(outs_.begin() + static_cast<std::ptrdiff_t>(firsts_[i]),
                     outs_.begin() + static_cast<std::ptrdiff_t>(firsts_[i + 1]));
  for (int worker = 0; worker < graph_.workers(); ++worker) {
    const int vertex = graph_.vertex_of(worker);
    gates_[at(worker)] = {vertex, true, 0};
    if (links[at(vertex)] != 1 || outs(vertex).empty()) continue;
    const Out& out = outs(vertex).front();
    if (!connections[out.way / 2].both_ways) continue;
    gates_[at(worker)] = {out.next, false, out.way ^ 1U};
  }
}

std::span<const RoutedWires::Out> RoutedWires::outs(int vertex) const {
  const uint32_t first = firsts_[at(vertex)];
  return {outs_.data() + first, firsts_[at(vertex) + 1] - first};
}

Roads* RoutedWires::roads() {
  if (is_widened_) return nullptr;
  if (roads_.empty()) roads_ = roads_of(graph_);
  return this;
}

void RoutedWires::widen(const Graph& graph) {
  is_widened_ = true;
  const std::vector<double> other = capacities_of(graph);
  for (std::size_t way = 0; way < capacities_.size(); ++way)
    capacities_[way] = std::max(capacities_[way], other[way]);
}

ResourceName RoutedWires::name_of(uint32_t resource) const {
  const Connection& one = graph_.connections()[resource / 2];
  const std::string& from = graph_.vertices()[at(one.from)].name;
  const std::string& to = graph_.vertices()[at(one.to)].name;
  return resource % 2 == 0 ? ResourceName{one.link_class, from, to}
                           : ResourceName{one.link_class, to, from};
}

bool RoutedWires::open(std::span<const uint32_t> resources, bool is_open) {
  bool is_new = false;
  for (const uint32_t resource : resources) {
    is_new = is_new || closed_[resource] == is_open;
    closed_[resource] = !is_open;
  }
  if (!is_new) return false;
  has_closed_ = std::find(closed_.begin(), closed_.end(), true) != closed_.end();
  tables_.clear();
  has_choices_.reset();
  for (LastRoutes& last : last_) last = {};
  return true;
}

Roads::Goal RoutedWires::goal_of(int worker) const {
  const Gate& gate = gates_[at(worker)];
  return {gate.vertex, gate.is_own, gate.way_in};
}

void RoutedWires::next_roads(int vertex, int goal, std::vector<uint32_t>& found) {
  for_each_out(vertex, ways_to(goal, vertex), [&](const Out& out) {
    found.push_back(out.way);
    return true;
  });
}

WaysTo& RoutedWires::table_of(int goal) {
  auto place = tables_.find(goal);
  if (place != tables_.end()) return place->second;
  const std::size_t bits = closed_.size() + graph_.vertices().size();
  if (static_cast<double>(tables_.size()) * static_cast<double>(bits) > most_table_bits)
    tables_.clear();
  WaysTo& table = tables_[goal];
  table.ways = FewOrBits(closed_.size());
  table.known = FewOrBits(graph_.vertices().size());
  table.known.insert(at(goal));
  return table;
}

const FewOrBits& RoutedWires::ways_to(int goal, int from) {
  WaysTo& table = table_of(goal);
  if (table.is_complete || table.known.contains(at(from))) return table.ways;
  // Single searches cost more a link than a full one, which receivers of many senders need anyway.
  constexpr std::size_t part = 16;
  if (table.looked_at * part > closed_.size()) return all_ways_to(goal);
  search_.add(from, goal, closed_, table);
  return table.ways;
}

const FewOrBits& RoutedWires::all_ways_to(int goal) {
  WaysTo& table = table_of(goal);
  if (!table.is_complete) table = {FewOrBits(graph_.ways_to(goal, closed_)), {}, 0, true};
  return table.ways;
}

bool RoutedWires::find(const Parcel& parcel, Part, std::vector<ResourceUse>& uses) {
  if (parcel.from == parcel.to) return true;
  if (const KnownRoute* known = known_route(parcel.from, parcel.to); known != nullptr) {
    uses.insert(uses.end(), known->uses.begin(), known->uses.end());
    return true;
  }
  const std::size_t before = uses.size();
  const Gate& gate = gates_[at(parcel.to)];
  if (!gate.is_own && closed_[gate.way_in]) return false;
  const int from = graph_.vertex_of(parcel.from);
  const FewOrBits& ways = ways_to(gate.vertex, from);
  if (!(choice_.routing == Routing::split ? spread(from, gate.vertex, ways, uses)
                                          : walk(parcel, from, gate.vertex, ways, uses)))
    return false;
  if (!gate.is_own) add(gate.way_in, 1, uses);
  if (choice_.routing != Routing::hashed)
    keep_route(parcel.from, parcel.to, std::span(uses).subspan(before));
  return true;
}

// Of the shortest route by the lowest vertices, as pairs are priced.
std::optional<RoutedWires::RouteLength> RoutedWires::length_of(const Parcel& parcel) {
  const Gate& gate = gates_[at(parcel.to)];
  if (!gate.is_own && closed_[gate.way_in]) return std::nullopt;
  RouteLength length;
  const auto pass = [&](uint32_t way) {
    length.latency += graph_.connections()[way / 2].link.latency;
    length.per_byte_ps = std::max(length.per_byte_ps, 1 / capacities_[way]);
  };
  int here = graph_.vertex_of(parcel.from);
  const FewOrBits& ways = ways_to(gate.vertex, here);
  while (here != gate.vertex) {
    std::optional<Out> first;
    for_each_out(here, ways, [&](const Out& out) {
      first = out;
      return false;
    });
    if (!first) return std::nullopt;
    here = first->next;
    pass(first->way);
    if (here != graph_.vertex_of(parcel.to)) length.latency += graph_.vertices()[at(here)].delay;
  }
  if (!gate.is_own) pass(gate.way_in);
  return length;
}

void RoutedWires::swap_routes() {
  std::swap(closed_, at_first_.closed);
  std::swap(tables_, at_first_.tables);
}

std::optional<Resources::Detour> RoutedWires::detour(const Parcel& parcel) {
  if (!has_closed_ || parcel.from == parcel.to) return std::nullopt;
  KnownRoute* known = known_route(parcel.from, parcel.to);
  if (known != nullptr && known->detour) return known->detour;
  const std::optional<RouteLength> now = length_of(parcel);
  if (!now) return std::nullopt;
  at_first_.closed.resize(closed_.size());
  swap_routes();
  const std::optional<RouteLength> before = length_of(parcel);
  swap_routes();
  Detour detour{.latency = now->latency - before->latency};
  // Where rates are by size, what a message reaches is not the wires'.
  if (!is_widened_ && before->per_byte_ps > 0)
    detour.longer = now->per_byte_ps / before->per_byte_ps;
  if (known != nullptr) known->detour = detour;
  return detour;
}

RoutedWires::KnownRoute* RoutedWires::known_route(int from, int to) {
  for (KnownRoute& one : last_[at(from)].known)
    if (one.to == to) return &one;
  return nullptr;
}

void RoutedWires::keep_route(int from, int to, std::span<const ResourceUse> uses) {
  constexpr std::size_t most_known = 8;
  LastRoutes& last = last_[at(from)];
  if (last.known.size() < most_known) last.known.emplace_back();
  KnownRoute& place = last.known[last.oldest];
  last.oldest = (last.oldest + 1) % most_known;
  place.to = to;
  place.detour.reset();
  place.uses.assign(uses.begin(), uses.end());
}

void RoutedWires::add(uint32_t way, double share, std::vector<ResourceUse>& uses) const {
  if (!std::isinf(capacities_[way])) uses.push_back({way, share});
}

template <class F>
void RoutedWires::for_each_out(int vertex, const FewOrBits& ways, const F& f) const {
  const std::span<const Out> all = outs(vertex);
  if (!ways.is_few() || all.size() <= ways.few().size()) {
    for (const Out& out : all)
      if (ways.contains(out.way) && !f(out)) return;
    return;
  }
  std::vector<Out> here;  // one or two
  for (const uint32_t way : ways.few()) {
    const Connection& one = graph_.connections()[way / 2];
    const bool is_back = way % 2 == 1;
    if ((is_back ? one.to : one.from) == vertex) here.push_back({is_back ? one.from : one.to, way});
  }
  std::stable_sort(here.begin(), here.end());
  for (const Out& out : here)
    if (!f(out)) return;
}

std::size_t RoutedWires::choices_at(int vertex, const FewOrBits& ways) const {
  std::size_t choices = 0;
  for_each_out(vertex, ways, [&](const Out&) {
    ++choices;
    return true;
  });
  return choices;
}

int RoutedWires::digits_of(int worker) const {
  const int digits = graph_.vertices()[at(graph_.vertex_of(worker))].digits;
  return digits < 0 ? worker : digits;
}

bool RoutedWires::walk(const Parcel& parcel, int from, int to, const FewOrBits& ways,
                       std::vector<ResourceUse>& uses) const {
  auto digits = static_cast<std::size_t>(digits_of(parcel.to));
  Random random = choice_.routing == Routing::hashed
                      ? Random(choice_.seed)
                            .stream(static_cast<uint64_t>(parcel.from))
                            .stream(static_cast<uint64_t>(parcel.to))
                            .stream(parcel.flow)
                      : Random(0);
  for (int here = from; here != to;) {
    const std::size_t choices = choices_at(here, ways);
    if (choices == 0) return false;
    std::size_t chosen = 0;
    if (choices > 1 && choice_.routing == Routing::hashed) {
      chosen = static_cast<std::size_t>(random.below(choices));
    } else if (choices > 1) {
      chosen = digits % choices;
      digits /= choices;
    }
    for_each_out(here, ways, [&](const Out& out) {
      if (chosen-- > 0) return true;
      add(out.way, 1, uses);
      here = out.next;
      return false;
    });
  }
  return true;
}

// Each vertex once everything that leads to it has been.
bool RoutedWires::spread(int from, int to, const FewOrBits& ways,
                         std::vector<ResourceUse>& uses) const {
  struct Passed {
    int to_come = 0;
    double share = 0;
  };
  std::map<int, Passed> vertices{{from, {0, 1}}};
  std::queue<int> next({from});
  for (; !next.empty(); next.pop()) {
    if (next.front() == to) continue;
    for_each_out(next.front(), ways, [&](const Out& out) {
      const auto [place, is_new] = vertices.try_emplace(out.next);
      ++place->second.to_come;
      if (is_new) next.push(out.next);
      return true;
    });
  }
  if (!vertices.contains(to)) return false;
  for (next.push(from); !next.empty(); next.pop()) {
    const int here = next.front();
    if (here == to) continue;
    const double share = vertices[here].share / static_cast<double>(choices_at(here, ways));
    for_each_out(here, ways, [&](const Out& out) {
      add(out.way, share, uses);
      Passed& passed = vertices[out.next];
      passed.share += share;
      if (--passed.to_come == 0) next.push(out.next);
      return true;
    });
  }
  return true;
}

std::unique_ptr<Resources> wires_at_one_switch(int workers, const PairCost& cost) {
  Graph graph;
  const int middle = graph.add({.name = "switch"});
  for (int worker = 0; worker < workers; ++worker) {
    const int vertex = graph.add({.name = "node" + std::to_string(worker),
                                  .kind = VertexKind::gpu,
                                  .worker = worker,
                                  .forwards = false});
    graph.connect({.from = vertex,
                   .to = middle,
                   .link_class = "nic",
                   .link = {.latency = Duration::ps(cost.latency.ps() / 2),
                            .per_byte = cost.per_byte,
                            .efficiency = 1,
                            .reduce = {}}});
  }
  return std::make_unique<RoutedWires>(std::move(graph), RouteChoice());
}

}  // namespace sgdsim

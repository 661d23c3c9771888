// Whether a graph is the same when its workers take each other's places.
//
// Who takes the place of a switch is guessed from neighbours whose places are known, in the order
// of their numbers, and then every wire is looked at: a wrong guess finds nothing, and never
// something wrong.
#include <algorithm>
#include <numeric>
#include <vector>

#include "sim/core/cast.h"
#include "sim/play/circles.h"
#include "topologies/routed_wires.h"

namespace sgdsim {

bool RoutedWires::are_like(int vertex, int other) const {
  const Vertex& one = graph_.vertices()[at(vertex)];
  const Vertex& two = graph_.vertices()[at(other)];
  return one.kind == two.kind && (one.worker < 0) == (two.worker < 0) && one.delay == two.delay &&
         one.forwards == two.forwards && outs(vertex).size() == outs(other).size();
}

// The one of `other`, which takes the place of a vertex, that is like an `out` of that; null: none.
const RoutedWires::Out* RoutedWires::out_like(int other, const Out& out,
                                              std::span<const int> images,
                                              const std::vector<bool>& taken) const {
  const std::span<const Out> its_outs = outs(other);
  const auto is_like = [&](const Out& one) {
    const Connection& its = graph_.connections()[one.way / 2];
    const Connection& that = graph_.connections()[out.way / 2];
    return capacities_[one.way] == capacities_[out.way] && its.link.cost() == that.link.cost() &&
           its.both_ways == that.both_ways && its.avoid == that.avoid &&
           its.link_class == that.link_class;
  };
  const int known = images[at(out.next)];
  if (known >= 0) {
    const auto found = std::lower_bound(its_outs.begin(), its_outs.end(), Out{known, 0});
    return found != its_outs.end() && found->next == known && is_like(*found) ? &*found : nullptr;
  }
  const auto found = std::find_if(its_outs.begin(), its_outs.end(), [&](const Out& one) {
    return !taken[at(one.next)] && are_like(out.next, one.next) &&
           graph_.vertices()[at(one.next)].worker < 0 && is_like(one);
  });
  return found != its_outs.end() ? &*found : nullptr;
}

// Of each vertex, who takes its place; empty: nobody that is like it.
std::vector<int> RoutedWires::moved_vertices(std::span<const int> places) const {
  std::vector<int> images(graph_.vertices().size(), -1);
  std::vector<bool> taken(images.size());
  std::vector<int> known;
  const auto place = [&](int vertex, int other) {
    images[at(vertex)] = other;
    taken[at(other)] = true;
    known.push_back(vertex);
  };
  for (int worker = 0; worker < graph_.workers(); ++worker)
    place(graph_.vertex_of(worker), graph_.vertex_of(places[at(worker)]));
  for (std::size_t i = 0; i < known.size(); ++i) {
    const int vertex = known[i];
    if (!are_like(vertex, images[at(vertex)])) return {};
    for (const Out& out : outs(vertex)) {
      const Out* const other = out_like(images[at(vertex)], out, images, taken);
      if (other == nullptr) return {};
      if (images[at(out.next)] < 0) place(out.next, other->next);
    }
  }
  return known.size() == images.size() ? images : std::vector<int>();
}

std::optional<std::vector<uint32_t>> RoutedWires::moved(std::span<const int> places) {
  if (has_closed_) return std::nullopt;
  const std::vector<int> images = moved_vertices(places);
  if (images.empty()) return std::nullopt;
  std::vector<uint32_t> ways(capacities_.size());
  for (uint32_t way = 0; way < ways.size(); ++way) ways[way] = way;  // those that nobody may take
  const std::vector<bool> all(images.size(), true);
  for (std::size_t vertex = 0; vertex < images.size(); ++vertex) {
    const std::span<const Out> from = outs(static_cast<int>(vertex));
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (i > 0 && from[i].next == from[i - 1].next) return std::nullopt;  // which is which?
      const Out* const other = out_like(images[vertex], from[i], images, all);
      if (other == nullptr) return std::nullopt;
      ways[from[i].way] = other->way;
    }
  }
  return ways;
}

// Whether there are several shortest routes anywhere. The wires are the same when workers take
// each other's places, so of those who do in a circle one is looked at.
bool RoutedWires::has_choices(std::span<const int> places) {
  if (has_choices_) return *has_choices_;
  Circles circles(places.size());
  for (std::size_t worker = 0; worker < places.size(); ++worker)
    circles.join(worker, at(places[worker]));
  std::vector<uint32_t> sizes;
  const std::vector<uint32_t> numbers = circles.numbered(sizes);
  std::vector<int> goals(sizes.size());
  for (std::size_t worker = 0; worker < numbers.size(); ++worker)
    goals[numbers[worker]] = gates_[worker].vertex;
  std::sort(goals.begin(), goals.end());
  goals.erase(std::unique(goals.begin(), goals.end()), goals.end());
  has_choices_ = std::any_of(goals.begin(), goals.end(), [&](int goal) {
    const FewOrBits& ways = all_ways_to(goal);
    for (int vertex = 0; vertex < vertices(); ++vertex)
      if (vertex != goal && choices_at(vertex, ways) > 1) return true;
    return false;
  });
  return *has_choices_;
}

// Workers behind the same gate go on alike from there, so one of each is looked at.
bool RoutedWires::keeps_routes(std::span<const int> places, std::span<const uint32_t> ways) {
  if (choice_.routing == Routing::split || !has_choices(places)) return true;
  std::vector<int> senders(graph_.vertices().size(), -1);
  std::size_t gates = 0;
  for (int worker = 0; worker < workers(); ++worker) {
    int& sender = senders[at(gates_[at(worker)].vertex)];
    if (sender < 0) ++gates;
    sender = worker;
  }
  constexpr std::size_t most_routes = 1 << 21;
  if (choice_.routing == Routing::hashed || gates * places.size() > most_routes) return false;
  std::vector<ResourceUse> before;
  std::vector<ResourceUse> after;
  const auto route = [&](int from, int to, std::vector<ResourceUse>& uses) {
    uses.clear();
    const int goal = gates_[at(to)].vertex;
    const int gate = gates_[at(from)].vertex;
    return walk({.from = from, .to = to}, gate, goal, ways_to(goal, gate), uses);
  };
  for (const int sender : senders)
    for (int to = 0; sender >= 0 && to < workers(); ++to) {
      if (!route(sender, to, before) || !route(places[at(sender)], places[at(to)], after) ||
          before.size() != after.size())
        return false;
      for (std::size_t i = 0; i < before.size(); ++i)
        if (ways[before[i].resource] != after[i].resource) return false;
    }
  return true;
}

bool RoutedWires::Branches::add(int vertex) {
  if (is_one[at(vertex)]) return false;
  is_one[at(vertex)] = true;
  vertices.push_back(vertex);
  return true;
}

// False if there is no way, or its choices do not repeat soon.
bool RoutedWires::add_branches(int from, int to, Branches& branches) {
  constexpr int64_t longest_period = 1 << 24;
  const int goal = gates_[at(to)].vertex;
  const FewOrBits& ways = ways_to(goal, graph_.vertex_of(from));
  auto digits = static_cast<std::size_t>(digits_of(to));
  int64_t period = 1;
  for (int here = graph_.vertex_of(from); here != goal;) {
    const std::size_t choices = choices_at(here, ways);
    if (choices == 0) return false;
    std::size_t chosen = digits % choices;
    if (choices > 1) {
      digits /= choices;
      period *= static_cast<int64_t>(choices);
      branches.add(here);
    }
    int next = here;
    for (const Out& out : outs(here)) {
      if (!ways.contains(out.way)) continue;
      if (choices > 1) branches.next.insert(graph_.vertices()[at(out.next)].kind);
      if (chosen-- == 0) next = out.next;
    }
    here = next;
    if (period > longest_period) return false;
  }
  branches.period = std::lcm(branches.period, period);
  return branches.period <= longest_period;
}

// An order is known to leave all wires as they are, so shortest routes become shortest routes. Of
// several the same is chosen if the digits that choose are alike, and those to choose from are in
// the same order wherever an order, or several one after the other, may bring a branch.
std::optional<std::size_t> RoutedWires::first_unkept(std::span<const std::vector<int>> orders,
                                                     const Pairs& pairs) {
  if (choice_.routing == Routing::split || orders.empty()) return std::nullopt;
  Branches branches;
  branches.is_one.resize(graph_.vertices().size());
  for (const auto& [from, to] : pairs)
    if (!add_branches(static_cast<int>(from), static_cast<int>(to), branches)) return 0;
  if (branches.vertices.empty()) return std::nullopt;
  if (choice_.routing == Routing::hashed) return 0;
  std::vector<std::vector<int>> images;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    for (int worker = 0; worker < workers(); ++worker)
      if ((digits_of(orders[i][at(worker)]) - digits_of(worker)) % branches.period != 0) return i;
    images.push_back(moved_vertices(orders[i]));
  }
  for (std::size_t v = 0; v < branches.vertices.size(); ++v) {
    const int vertex = branches.vertices[v];
    for (std::size_t i = 0; i < images.size(); ++i) {
      int last = -1;
      for (const Out& out : outs(vertex)) {
        if (!branches.next.contains(graph_.vertices()[at(out.next)].kind)) continue;
        const int image = images[i][at(out.next)];
        if (image < last) return i;
        last = image;
      }
      branches.add(images[i][at(vertex)]);
    }
  }
  return std::nullopt;
}

}  // namespace sgdsim

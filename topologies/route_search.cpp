// Two searches that meet: what both have seen at the best length lies on a shortest route.
#include "topologies/route_search.h"

#include <algorithm>

#include "sim/core/cast.h"

namespace sgdsim {

std::strong_ordering RouteSearch::Length::operator<=>(const Length& other) const {
  if (const auto by = avoided <=> other.avoided; by != 0) return by;
  if (const auto by = latency <=> other.latency; by != 0) return by;
  return hops <=> other.hops;
}

void RouteSearch::Side::see(int vertex, const Length& length) {
  Length& known = lengths[at(vertex)];
  if (!reaches(known)) seen.push_back(vertex);
  known = length;
}

void RouteSearch::Side::clear() {
  for (const int vertex : seen) lengths[at(vertex)] = unreached;
  seen.clear();
  open.clear();
}

RouteSearch::RouteSearch(const Graph& graph)
    : graph_(graph), firsts_(graph.vertices().size() + 1), ways_(2 * graph.connections().size()) {
  const std::vector<Connection>& connections = graph.connections();
  for (const Connection& one : connections) {
    ++firsts_[at(one.from) + 1];
    ++firsts_[at(one.to) + 1];
  }
  for (std::size_t i = 1; i < firsts_.size(); ++i) firsts_[i] += firsts_[i - 1];
  std::vector<uint32_t> next(firsts_.begin(), firsts_.end() - 1);
  for (std::size_t c = 0; c < connections.size(); ++c) {
    const auto number = static_cast<int>(c);
    ways_[next[at(connections[c].from)]++] = way_number(number, false);
    ways_[next[at(connections[c].to)]++] = way_number(number, true);
  }
  goal_.is_goal = true;
  for (Side* side : {&start_, &goal_}) side->lengths.assign(graph.vertices().size(), unreached);
}

std::span<const uint32_t> RouteSearch::ways_out(int vertex) const {
  const uint32_t first = firsts_[at(vertex)];
  return {ways_.data() + first, firsts_[at(vertex) + 1] - first};
}

int RouteSearch::end_of(uint32_t way) const {
  const Connection& one = graph_.connections()[way / 2];
  return way % 2 == 0 ? one.to : one.from;
}

bool RouteSearch::may_take(uint32_t way, const Ways& closed) const {
  const bool is_there = way % 2 == 0 || graph_.connections()[way / 2].both_ways;
  const int enters = end_of(way);
  return is_there && !closed[way] && (enters == to_ || graph_.vertices()[at(enters)].forwards);
}

RouteSearch::Length RouteSearch::length_of(uint32_t way) const {
  const Connection& one = graph_.connections()[way / 2];
  const int enters = end_of(way);
  const Duration delay = enters == to_ ? Duration() : graph_.vertices()[at(enters)].delay;
  return {one.avoid ? 1 : 0, 1, one.link.latency + delay};
}

std::size_t RouteSearch::work_of(const Side& side) const {
  std::size_t ways = 0;
  for (const int vertex : side.open.begin()->second) ways += ways_out(vertex).size();
  return ways;
}

// A switch of thousands has more ways than those have that were seen.
template <class F>
void RouteSearch::for_each_way(int vertex, const Side& to, const F& f) const {
  const std::span<const uint32_t> all = ways_out(vertex);
  std::size_t others = 0;
  for (const int seen : to.seen) {
    if (seen != vertex) others += ways_out(seen).size();
    if (others >= all.size()) break;
  }
  if (others >= all.size()) {
    for (const uint32_t way : all) f(way);
    return;
  }
  for (const int seen : to.seen) {
    if (seen == vertex) continue;
    for (const uint32_t back : ways_out(seen))
      if (end_of(back) == vertex) f(back ^ 1U);
  }
}

// From the nearest that it has not gone on from.
void RouteSearch::go_on(Side& side, const Side& other, const Ways& closed) {
  const auto nearest = side.open.extract(side.open.begin());
  for (const int vertex : nearest.mapped()) {
    if (side.lengths[at(vertex)] != nearest.key()) continue;  // a shorter way was found since
    looked_at_ += ways_out(vertex).size();
    for (const uint32_t out : ways_out(vertex)) {
      const uint32_t way = side.is_goal ? out ^ 1U : out;
      if (!may_take(way, closed)) continue;
      const int next = end_of(out);
      const Length length = nearest.key() + length_of(way);
      const Length& before = side.lengths[at(next)];
      if (reaches(before) && !(length < before)) continue;
      side.see(next, length);
      side.open[length].push_back(next);
      const Length& rest = other.lengths[at(next)];
      if (reaches(rest) && (!reaches(best_) || length + rest < best_)) best_ = length + rest;
    }
  }
}

// Until nothing that is still open can be as short as the best: then of each shortest route the
// first vertex from which the start has not gone on was seen by both.
void RouteSearch::meet(const Ways& closed) {
  while (!start_.open.empty() && !goal_.open.empty()) {
    const Length least = start_.open.begin()->first + goal_.open.begin()->first;
    if (reaches(best_) && !(least < best_)) return;
    if (work_of(start_) <= work_of(goal_))
      go_on(start_, goal_, closed);
    else
      go_on(goal_, start_, closed);
  }
}

// From where both met towards the start: the rests of routes from there.
void RouteSearch::trace_back(const Ways& closed) {
  std::vector<int> next;
  for (const int vertex : start_.seen) {
    const Length& rest = goal_.lengths[at(vertex)];
    if (reaches(rest) && start_.lengths[at(vertex)] + rest == best_) next.push_back(vertex);
  }
  while (!next.empty()) {
    const int vertex = next.back();
    next.pop_back();
    for_each_way(vertex, start_, [&](uint32_t out) {
      const uint32_t way = out ^ 1U;  // towards the vertex
      const int before = end_of(out);
      const Length& length = start_.lengths[at(before)];
      if (!reaches(length) || !may_take(way, closed) ||
          length + length_of(way) != start_.lengths[at(vertex)])
        return;
      const Length rest = length_of(way) + goal_.lengths[at(vertex)];
      if (goal_.lengths[at(before)] == rest) return;
      goal_.see(before, rest);
      next.push_back(before);
    });
  }
}

// Along all shortest routes.
void RouteSearch::collect(int from, const Ways& closed, WaysTo& known) {
  std::vector<int> next{from};
  known.known.insert(at(from));
  while (!next.empty()) {
    const int vertex = next.back();
    next.pop_back();
    for_each_way(vertex, goal_, [&](uint32_t way) {
      const int enters = end_of(way);
      const Length& rest = goal_.lengths[at(enters)];
      if (!reaches(rest) || !may_take(way, closed) ||
          length_of(way) + rest != goal_.lengths[at(vertex)])
        return;
      known.ways.insert(way);
      if (!known.known.contains(at(enters))) next.push_back(enters);
      known.known.insert(at(enters));
    });
  }
}

void RouteSearch::add(int from, int to, const Ways& closed, WaysTo& known) {
  to_ = to;
  best_ = unreached;
  looked_at_ = 0;
  for (auto [side, vertex] : {std::pair{&start_, from}, std::pair{&goal_, to}}) {
    side->see(vertex, {});
    side->open[Length{}].push_back(vertex);
  }
  meet(closed);
  if (reaches(best_)) {
    trace_back(closed);
    collect(from, closed, known);
  }
  known.known.insert(at(from));
  known.looked_at += looked_at_;
  start_.clear();
  goal_.clear();
}

}  // namespace sgdsim

// The shortest routes from one vertex of a graph to another, looked for from both ends.
//
// A search for all routes to a worker (graph.h) looks at every wire of the machine. Where few
// workers send to it, as where one stands for all that are alike, this looks at what lies around
// both ends: two searches by Dijkstra meet, and what is as long as the best is all found
// (Pohl, Bi-directional search, Machine Intelligence 6, 1971).
#pragma once

#include <compare>
#include <map>
#include <span>
#include <vector>

#include "sim/core/few_or_bits.h"
#include "topologies/graph.h"

namespace sgdsim {

// What is known of the shortest routes to a vertex.
struct WaysTo {
  FewOrBits ways;   // that begin one
  FewOrBits known;  // vertices: all such ways from there, and on from there, are among those
  std::size_t looked_at = 0;  // ways, so far
  bool is_complete = false;   // from everywhere
};

class RouteSearch {
 public:
  explicit RouteSearch(const Graph& graph);
  // Adds the ways of all shortest routes, where those that are `closed` may not be taken. The ends
  // differ, and `to` is known already.
  void add(int from, int to, const Ways& closed, WaysTo& known);

 private:
  // As routes of a graph are compared.
  struct Length {
    int avoided = 0;
    int hops = 0;
    Duration latency;
    std::strong_ordering operator<=>(const Length& other) const;
    bool operator==(const Length&) const = default;
    Length operator+(const Length& other) const {
      return {avoided + other.avoided, hops + other.hops, latency + other.latency};
    }
  };
  static constexpr Length unreached{-1, 0, {}};
  static bool reaches(const Length& length) { return length.avoided >= 0; }

  // One end, and what was seen from there.
  struct Side {
    bool is_goal = false;
    std::vector<Length> lengths;  // by vertex
    std::map<Length, std::vector<int>> open;
    std::vector<int> seen;
    void see(int vertex, const Length& length);
    void clear();
  };
  std::span<const uint32_t> ways_out(int vertex) const;
  int end_of(uint32_t way) const;
  bool may_take(uint32_t way, const Ways& closed) const;
  Length length_of(uint32_t way) const;
  std::size_t work_of(const Side& side) const;
  // Calls f(way) for the ways out of a vertex that lead to what a side has seen, and for others.
  template <class F>
  void for_each_way(int vertex, const Side& to, const F& f) const;
  void go_on(Side& side, const Side& other, const Ways& closed);
  void meet(const Ways& closed);
  void trace_back(const Ways& closed);
  void collect(int from, const Ways& closed, WaysTo& known);

  const Graph& graph_;
  std::vector<uint32_t> firsts_;  // of each vertex, into `ways_`
  std::vector<uint32_t> ways_;    // out of each vertex, and those that nobody may take
  Side start_;
  Side goal_;
  int to_ = 0;
  Length best_ = unreached;
  std::size_t looked_at_ = 0;
};

}  // namespace sgdsim

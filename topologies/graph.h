// The wires of a cluster as a graph, and the routes through it.
//
// Most shapes answer what a pair of workers pays by a formula and never build this graph; it is
// built for export, for routes, for shapes without a formula, and by the test that compares both.
// Boost.Graph is the engine and is known to graph.cpp alone.
//
// A route is shortest in three things, in this order: connections marked `avoid`, the sum of the
// latencies, hops. The first is how a message stays inside its node or its dragonfly group
// whatever the latencies are. Only vertices that forward are passed through. What is still equal
// is an equal-cost choice; where one route is wanted, the next vertex with the lowest number wins.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/named.h"
#include "topologies/link.h"

namespace sgdsim {

enum class VertexKind { gpu, network_switch, router, nic, nvswitch, pcie, cpu };
inline constexpr Named<VertexKind, 7> vertex_kinds{{{"gpu", VertexKind::gpu},
                                                    {"switch", VertexKind::network_switch},
                                                    {"router", VertexKind::router},
                                                    {"nic", VertexKind::nic},
                                                    {"nvswitch", VertexKind::nvswitch},
                                                    {"pcie", VertexKind::pcie},
                                                    {"cpu", VertexKind::cpu}}};
inline const auto& names_of(VertexKind) { return vertex_kinds; }
inline std::string_view to_text(VertexKind kind) { return name_in(vertex_kinds, kind); }

struct Vertex {
  std::string name = {};
  VertexKind kind = VertexKind::network_switch;
  int worker = -1;       // workers are vertices; -1 for the others
  Duration delay = {};   // of passing through
  bool forwards = true;  // whether a route may pass through
  // Of a worker, whose digits choose among routes to it (Routing::by_destination); -1: `worker`.
  int digits = -1;
};

struct Connection {
  int from = 0;
  int to = 0;
  std::string link_class = {};
  Link link = {};
  bool both_ways = true;
  bool avoid = false;
};

// All shortest routes to one worker.
struct RoutesTo {
  int destination = 0;                      // a vertex
  std::vector<std::vector<int>> next_hops;  // by vertex: equal-cost neighbours, lowest first
  std::vector<PairCost> costs;              // by vertex, along the lowest next hops
  bool reaches(int vertex) const {
    return vertex == destination || !next_hops[static_cast<std::size_t>(vertex)].empty();
  }
};

// A way is one direction of a connection. Its number is twice the connection's, and one more for
// the way back. This holds a bit for each.
using Ways = std::vector<bool>;
inline uint32_t way_number(int connection, bool is_back) {
  return 2 * static_cast<uint32_t>(connection) + (is_back ? 1 : 0);
}

class Graph {
 public:
  Graph();
  ~Graph();
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;

  int add(Vertex vertex);  // its number; workers are added in any order, each once
  void connect(Connection connection);
  void shrink_to_fit();

  const std::vector<Vertex>& vertices() const { return vertices_; }
  const std::vector<Connection>& connections() const { return connections_; }
  int workers() const { return static_cast<int>(vertex_of_worker_.size()); }
  int vertex_of(int worker) const { return vertex_of_worker_[static_cast<std::size_t>(worker)]; }

  RoutesTo routes_to(int worker) const;
  // The ways that begin a shortest route to a vertex, from wherever they begin, where those that
  // are `closed` may not be taken.
  Ways ways_to(int vertex, const Ways& closed) const;
  // The vertices from one worker to another, both ends included; empty if there is no way.
  std::vector<int> route(int from_worker, int to_worker) const;
  // What each worker pays to send to this one; nothing where there is no way.
  std::vector<std::optional<PairCost>> costs_to(int worker) const;

 private:
  struct Engine;
  const Engine& engine() const;
  std::vector<Vertex> vertices_;
  std::vector<Connection> connections_;
  std::vector<int> vertex_of_worker_;
  mutable std::unique_ptr<Engine> engine_;  // from the first search on
};

}  // namespace sgdsim

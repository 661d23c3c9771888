// The wires of a cluster as resources that flows share: every direction of every link. Routes are
// the shortest ones of the graph (topologies/graph.h); a RouteChoice says which of them.
//
// What begins a shortest route to a worker is kept as a bit for each way, of each worker or of all
// that hang on the same switch by a single link. Single routes are looked for as they are asked for
// (route_search.h), and all at once where these have taken as long as that.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sim/net/resources.h"
#include "topologies/graph.h"
#include "topologies/route_search.h"

namespace sgdsim {

class RoutedWires : public Resources, private Roads {
 public:
  RoutedWires(Graph graph, const RouteChoice& choice);
  // The same graph as messages of other sizes see it: a wire has the most that any of them gets.
  void widen(const Graph& graph);

  std::vector<double> capacities() const override { return capacities_; }
  bool find(const Parcel& parcel, Part part, std::vector<ResourceUse>& uses) override;
  bool are_routes() const override { return true; }
  ResourceName name_of(uint32_t resource) const override;
  bool open(std::span<const uint32_t> resources, bool is_open) override;
  std::optional<Detour> detour(const Parcel& parcel) override;
  std::optional<std::vector<uint32_t>> moved(std::span<const int> places) override;
  bool keeps_routes(std::span<const int> places, std::span<const uint32_t> ways) override;
  std::optional<std::size_t> first_unkept(std::span<const std::vector<int>> orders,
                                          const Pairs& pairs) override;
  Roads* roads() override;

 private:
  std::span<const Road> all() const override { return roads_; }
  int vertices() const override { return static_cast<int>(graph_.vertices().size()); }
  int workers() const override { return graph_.workers(); }
  int vertex_of(int worker) const override { return graph_.vertex_of(worker); }
  Goal goal_of(int worker) const override;
  void next_roads(int vertex, int goal, std::vector<uint32_t>& found) override;
  bool is_open(uint32_t road) const override { return !closed_[road]; }

  struct Out {
    int next = 0;
    uint32_t way = 0;
    bool operator<(const Out& other) const { return next < other.next; }
  };
  // Those of all routes from a vertex to another one, and of some others.
  const FewOrBits& ways_to(int goal, int from);
  WaysTo& table_of(int goal);
  const FewOrBits& all_ways_to(int goal);
  std::span<const Out> outs(int vertex) const;
  // Calls f(out) for those of these ways that begin at a vertex, in order, until it returns false.
  template <class F>
  void for_each_out(int vertex, const FewOrBits& ways, const F& f) const;
  std::vector<int> moved_vertices(std::span<const int> places) const;
  const Out* out_like(int other, const Out& out, std::span<const int> images,
                      const std::vector<bool>& taken) const;
  bool are_like(int vertex, int other) const;
  bool has_choices(std::span<const int> places);
  // Where messages had several ways to go on.
  struct Branches {
    std::vector<int> vertices;
    std::vector<bool> is_one;   // of each vertex
    std::set<VertexKind> next;  // what they choose among
    int64_t period = 1;         // digits of a receiver that are as much apart choose alike
    bool add(int vertex);
  };
  bool add_branches(int from, int to, Branches& branches);
  int digits_of(int worker) const;
  std::size_t choices_at(int vertex, const FewOrBits& ways) const;
  // From a vertex to another one; false if there is no way.
  bool walk(const Parcel& parcel, int from, int to, const FewOrBits& ways,
            std::vector<ResourceUse>& uses) const;
  bool spread(int from, int to, const FewOrBits& ways, std::vector<ResourceUse>& uses) const;
  void add(uint32_t way, double share, std::vector<ResourceUse>& uses) const;

  Graph graph_;
  RouteChoice choice_;
  bool is_widened_ = false;
  std::vector<double> capacities_;  // of each way
  std::vector<Road> roads_;         // likewise, once packets ask
  std::vector<Out> outs_;           // of all vertices
  std::vector<uint32_t> firsts_;    // of each vertex, into these
  struct Gate {
    int vertex = 0;       // the only neighbour of a worker, or itself
    bool is_own = true;   // itself
    uint32_t way_in = 0;  // else: from there to the worker
  };
  std::vector<Gate> gates_;       // of each worker
  std::map<int, WaysTo> tables_;  // by vertex
  RouteSearch search_;
  std::optional<bool> has_choices_;
  Ways closed_;
  bool has_closed_ = false;  // some way is
  // As routes are where no way is closed, which messages are priced by.
  struct Routes {
    Ways closed;
    std::map<int, WaysTo> tables;
  };
  Routes at_first_;
  void swap_routes();
  struct RouteLength {
    Duration latency;
    double per_byte_ps = 0;
  };
  std::optional<RouteLength> length_of(const Parcel& parcel);
  struct KnownRoute {
    int to = 0;
    std::vector<ResourceUse> uses;
    std::optional<Detour> detour = {};
  };
  // Of each worker to those to whom it sends again and again, where routes do not differ between
  // flows.
  struct LastRoutes {
    std::vector<KnownRoute> known;
    std::size_t oldest = 0;
  };
  KnownRoute* known_route(int from, int to);
  void keep_route(int from, int to, std::span<const ResourceUse> uses);
  std::vector<LastRoutes> last_;
};

// Workers at one switch, each by a link of its own.
std::unique_ptr<Resources> wires_at_one_switch(int workers, const PairCost& cost);

}  // namespace sgdsim

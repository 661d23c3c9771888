// Costs of pairs, and who shares a node.
#include "study/jobs/part_of_cluster.h"

#include <algorithm>
#include <set>
#include <string>

#include "topologies/pair_classes.h"
#include "topologies/wiring.h"

namespace sgdsim {

Network network_at(const Network& all, const std::vector<int>& places) {
  const auto at = [&](int worker) { return places[static_cast<std::size_t>(worker)]; };
  const auto workers = static_cast<int>(places.size());
  const auto seen_in = [&](const Network& network) {
    return table_network(workers, 1,
                         [&](int from, int to) { return network.between(at(from), at(to)); });
  };
  Network network = seen_in(all);
  if (all.has_bands()) {
    std::vector<SizeBand> bands;
    for (const SizeBand& band : all.bands()) bands.push_back({band.from_B, seen_in(band.network)});
    network.set_bands(std::move(bands));
  }
  network.set_start(all.start());
  return network;
}

int places_per_node(const std::vector<int>& places, int per_node) {
  std::set<int> nodes;
  std::size_t count = 0;
  for (std::size_t i = 0; i < places.size();) {
    const int node = places[i] / per_node;
    std::size_t end = i;
    while (end < places.size() && places[end] / per_node == node) ++end;
    if (count == 0) count = end - i;
    if (end - i != count || !nodes.insert(node).second) return 0;
    i = end;
  }
  return static_cast<int>(count);
}

std::size_t nodes_of(const std::vector<int>& places, int per_node) {
  std::set<int> nodes;
  for (const int place : places) nodes.insert(place / per_node);
  return nodes.size();
}

Cluster part_of(const Cluster& all, const std::vector<int>& places, const Value& where) {
  Cluster part = all;
  const bool is_all = static_cast<int>(places.size()) == all.network.workers() &&
                      std::is_sorted(places.begin(), places.end());
  if (is_all) return part;
  if (static_cast<int>(places.size()) > most_table_points)
    where.fail("a part of a cluster has at most " + std::to_string(most_table_points) + " workers");
  part.network = network_at(all.network, places);
  part.grid.clear();
  part.workers_per_node = std::max(1, places_per_node(places, all.workers_per_node));
  return part;
}

}  // namespace sgdsim

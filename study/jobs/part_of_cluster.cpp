// Costs of pairs, and who shares a node.
#include "study/jobs/part_of_cluster.h"

#include <algorithm>
#include <set>
#include <string>

#include "topologies/pair_classes.h"
#include "topologies/wiring.h"

namespace sgdsim {

namespace {

// One network of those that messages of a size see.
Network band_at(const Network& all, const std::vector<int>& places) {
  const auto at = [&](int worker) { return places[static_cast<std::size_t>(worker)]; };
  Network part = table_network(static_cast<int>(places.size()), 1, [&](int from, int to) {
    return all.classes()[all.class_of(at(from), at(to))];
  });
  std::vector<Port> ports;
  for (const int place : places)
    if (!all.ports().empty()) ports.push_back(all.ports()[static_cast<std::size_t>(place)]);
  part.set_ports(std::move(ports));
  std::vector<SharedWays> ways = all.shared_ways();
  for (SharedWays& shared : ways) {
    shared.places = places;
    shared.of_all = all.workers();
  }
  part.set_shared_ways(std::move(ways));
  return part;
}

}  // namespace

Network network_at(const Network& all, const std::vector<int>& places) {
  Network network = band_at(all, places);
  if (all.has_bands()) {
    std::vector<SizeBand> bands;
    for (const SizeBand& band : all.bands())
      bands.push_back({band.from_B, band_at(band.network, places)});
    network.set_bands(std::move(bands));
  }
  Crowding crowding = all.crowding();
  crowding.group = std::max(1, places_per_node(places, crowding.group));
  network.set_crowding(std::move(crowding));
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

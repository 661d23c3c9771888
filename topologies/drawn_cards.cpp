// Every GPU sends to the one in its place in the next node. Links that only GPUs of one node take
// are those of the node and of the next; uplinks of switches are others' as well.
#include "topologies/drawn_cards.h"

#include <algorithm>
#include <map>
#include <vector>

namespace sgdsim {
namespace {

constexpr int most_nodes = 64;  // that are looked at

struct Load {
  int node = 0;
  int workers = 0;
  bool is_of_others = false;
};

void add(std::map<uint32_t, Load>& loads, int node, const std::vector<ResourceUse>& uses) {
  for (const ResourceUse& use : uses) {
    Load& load = loads.try_emplace(use.resource, Load{node}).first->second;
    if (load.node != node) load.is_of_others = true;
    ++load.workers;
  }
}

}  // namespace

int drawn_cards(Resources& wires, int workers, int per_node) {
  const int nodes = (workers + per_node - 1) / per_node;
  std::map<uint32_t, Load> loads;
  for (int node = 0; node < std::min(nodes, most_nodes); ++node)
    for (int member = 0; member < per_node; ++member) {
      Parcel parcel;
      parcel.from = node * per_node + member;
      parcel.to = (node + 1) % nodes * per_node + member;
      std::vector<ResourceUse> uses;
      const bool is_there = std::max(parcel.from, parcel.to) < workers;
      if (is_there && wires.find(parcel, Resources::Part::whole, uses)) add(loads, node, uses);
    }
  int most = 1;
  for (const auto& [resource, load] : loads)
    if (!load.is_of_others) most = std::max(most, load.workers);
  return std::max(1, per_node / most);
}

}  // namespace sgdsim

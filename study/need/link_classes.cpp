// Rates are changed by the efficiency of links, which every form of a rate has.
#include "study/need/link_classes.h"

#include <array>

#include "sim/core/error.h"
#include "sim/core/whole_number.h"
#include "topologies/spare_links.h"

namespace sgdsim {
namespace {

struct Role {
  std::string_view name;
  std::string_view says;
};
constexpr std::array<Role, 7> roles{{{"gpu_link", "NVLink of a GPU (gpu_link)"},
                                     {"pcie", "PCIe to the card (pcie)"},
                                     {"nic", "network card (nic)"},
                                     {"uplink", "uplink of a switch (uplink)"},
                                     {"link", "link between nodes (link)"},
                                     {"local", "link inside a group (local)"},
                                     {"global", "link between groups (global)"}}};

constexpr std::string_view listed = "links.";  // before the name of a class of the file's own

bool has_rails(const Json& cluster) { return cluster.value("shape", "") == "rails"; }
int64_t count_in(const Json& cluster, const char* name) {
  return whole_number_in(cluster.value(name, Json())).value_or(1);
}
// Uplinks whose file may have none: they are as the cards then.
bool has_spines(const Json& cluster) {
  return cluster.value("shape", "") == "leaf_spine" ||
         (has_rails(cluster) && cluster.contains("spines") && count_in(cluster, "spines") > 0);
}

void slow_down(Json& link, double part) {
  Json& efficiency = link["efficiency"];
  if (!efficiency.is_array()) {
    efficiency = (efficiency.is_number() ? efficiency.get<double>() : 1.0) * part;
    return;
  }
  // A list over senders begins with all of the rate for one, said or not.
  if (efficiency.empty() || efficiency.front().value("senders", 0) != 1)
    efficiency.insert(efficiency.begin(), Json{{"senders", 1}, {"efficiency", 1.0}});
  for (Json& one : efficiency) one["efficiency"] = one["efficiency"].get<double>() * part;
}

// Cards that have an efficiency of their own do not take that of the others.
void slow_cards(Json& cluster, double part) {
  slow_down(cluster["nic"], part);
  if (!cluster.contains("ports") || !cluster["ports"].is_array()) return;
  for (Json& port : cluster["ports"])
    if (port.contains("efficiency")) slow_down(port, part);
}

// Where the file has none: those of the cards.
void slow_uplinks(Json& cluster, double part) {
  if (cluster.contains("oversubscription")) {
    cluster["oversubscription"] = cluster["oversubscription"].get<double>() / part;
    return;
  }
  if (!cluster.contains("uplink")) {
    cluster["uplink"] = cluster["nic"];
    cluster["uplink"].erase("reduce");
  }
  slow_down(cluster["uplink"], part);
}

}  // namespace

std::vector<LinkClass> link_classes(const Json& cluster) {
  std::vector<LinkClass> all;
  for (const Role& role : roles) {
    const bool is_uplink = role.name == "uplink" && has_spines(cluster);
    if (is_uplink || (cluster.contains(role.name) && cluster[std::string(role.name)].is_object()))
      all.push_back({std::string(role.name), std::string(role.says)});
  }
  if (cluster.contains("links") && cluster["links"].is_object())
    for (const auto& [name, link] : cluster["links"].items())
      all.push_back({std::string(listed) + name, "link of the class " + name});
  return all;
}

Json with_slower(const Json& cluster, const std::string& name, double part) {
  Json slower = cluster;
  if (name.starts_with(listed))
    slow_down(slower["links"][name.substr(listed.size())], part);
  else if (name == "uplink" && has_spines(cluster))
    slow_uplinks(slower, part);
  else if (name == "nic")
    slow_cards(slower, part);
  else
    slow_down(slower[name], part);
  return slower;
}

std::optional<OneGone> with_one_gone(const Json& cluster, const std::string& name) {
  const int64_t cards = count_in(cluster, "nics_per_node");
  const int64_t spines = count_in(cluster, "spines");
  OneGone gone{{}, cluster};
  if (name == "nic" && cards > 1) {
    gone.says = "one of the " + std::to_string(cards) + " network cards of a node (nic)";
    gone.cluster["nics_per_node"] = cards - 1;
    return gone;
  }
  if (name != "uplink" || !has_spines(cluster) || spines < 2) return {};
  gone.says = "one of the " + std::to_string(spines) + " uplinks of a " +
              (has_rails(cluster) ? "rail switch" : "leaf") + " (uplink)";
  gone.cluster["spines"] = spines - 1;
  if (cluster.contains("oversubscription"))  // each uplink keeps its rate
    gone.cluster["oversubscription"] = cluster["oversubscription"].get<double>() *
                                       static_cast<double>(spines) /
                                       static_cast<double>(spines - 1);
  return gone;
}

std::optional<SpareLink> spare_link(const ClusterFile& cluster, const LinkClass& kind) {
  const std::string name =
      kind.name.starts_with(listed) ? kind.name.substr(listed.size()) : kind.name;
  std::optional<int> first;
  try {
    first = first_spare(cluster.graph(), name);
  } catch (const InputError&) {  // too many links for a graph
  }
  if (!first) return {};
  return SpareLink{"one " + kind.says, {way_number(*first, false), way_number(*first, true)}};
}

void close_link(TrafficFile& traffic, const SpareLink& link) {
  traffic.changes.insert(traffic.changes.begin(),
                         {.at = Time(), .resources = link.ways, .factor = 0});
}

}  // namespace sgdsim

// From a machine to a cluster file. Latencies per link are chosen so that a pair pays NCCL's
// figure: 0.3 us for each of two NVLinks at a switch or 0.6 us for one between two GPUs, 0.5 us for
// the PCIe link of each device and nothing between PCIe switches and CPUs, 0.35 us for each network
// port.
#include "topologies/nccl_xml.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "sim/core/cast.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "topologies/nccl_cards.h"
#include "topologies/nccl_machine.h"
#include "topologies/wiring.h"

namespace sgdsim {
namespace {

using Kind = NcclDevice::Kind;

constexpr double switched_nvlink_us = 0.3;
constexpr double peer_nvlink_us = 0.6;
constexpr double device_pcie_us = 0.5;
constexpr double port_us = 0.35;
constexpr double free_GBps = 5000;  // NCCL's LOC_BW, where nothing limits

constexpr int64_t most_devices = 1 << 18;  // of all nodes together, in a file of some 100 MB

// Sums of links in another order differ in the last bits.
bool alike(double a, double b) { return std::abs(a - b) < 1e-6; }

// Six decimals: 18 links of 20.6 are 370.8 GB/s, not 370.80000000000001.
std::string rounded(double value) { return number_text(std::round(value * 1e6) / 1e6); }

Json link_json(double latency_us, double GBps) {
  return {{"latency", rounded(latency_us) + " us"}, {"bandwidth", rounded(GBps) + " GBps"}};
}

Json head_of(const NcclImportOptions& options, const std::string& file, const char* shape) {
  return {{"schema", "sgdsim/cluster/1"},
          {"name", options.name},
          {"description",
           "Rates from a NCCL topology file; latencies from NCCL's tuning model "
           "(0.6 us over NVLink, 1 us over PCIe, 2.7 us over the network)."},
          {"source", "imported from " + file},
          {"network", "nccl"},
          {"shape", shape},
          {"nodes", options.nodes}};
}

// ---- the regular box

// What a box needs to know beyond its counts.
struct Regular {
  double gpu_link_GBps = 0;
  std::optional<double> pair_GBps;  // where GPUs are joined one to one
  double pcie_GBps = 0;
  std::optional<NcclPort> port;
};

// Between two GPUs, in one direction.
std::map<std::pair<int, int>, double> peer_GBps(const TopologyMachine& machine) {
  std::map<std::pair<int, int>, double> one_way;
  for (const NcclPeerLink& link : machine.peer_links) one_way[{link.from, link.to}] += link.GBps;
  return one_way;
}

// Whether every GPU reaches all others alike: by NVSwitches, or by a link to each. Rings and
// all-to-alls over all of these links are then as fast as over a switch.
bool has_regular_links(const TopologyMachine& machine, Regular& box) {
  box.gpu_link_GBps = device_at(machine, machine.gpus.front()).nvswitch_GBps;
  for (const int gpu : machine.gpus) {
    const NcclDevice& device = device_at(machine, gpu);
    if (!alike(device.nvswitch_GBps, box.gpu_link_GBps) || device.cpu_nvlink_GBps > 0) return false;
  }
  if (machine.peer_links.empty()) return box.gpu_link_GBps > 0;
  if (box.gpu_link_GBps > 0) return false;
  const auto one_way = peer_GBps(machine);
  const std::size_t others = machine.gpus.size() - 1;
  if (one_way.size() != machine.gpus.size() * others) return false;
  box.pair_GBps = one_way.begin()->second;
  box.gpu_link_GBps = *box.pair_GBps * static_cast<double>(others);
  return std::all_of(one_way.begin(), one_way.end(),
                     [&](const auto& pair) { return alike(pair.second, *box.pair_GBps); });
}

// Whether GPU g sends by card g * cards / gpus, every GPU over a way like the others', and what the
// box is then to say of its cards.
bool has_regular_cards(const TopologyMachine& machine, Regular& box) {
  const std::size_t gpus = machine.gpus.size();
  const std::size_t cards = machine.nics.size();
  if (gpus % cards != 0) return false;
  const std::size_t behind_one = gpus / cards;
  std::set<int> seen;
  for (std::size_t i = 0; i < gpus; ++i) {
    const int number = device_at(machine, machine.gpus[i]).card;
    const bool is_next = i % behind_one == 0;
    if (is_next != seen.insert(number).second) return false;
    if (!is_next && number != device_at(machine, machine.gpus[i - 1]).card) return false;
    const NcclDevice& card = device_at(machine, number);
    NcclPort port = card.ports.front();
    // What GPUs share is the slot of their card, too.
    if (behind_one > 1) port.GBps = std::min(port.GBps, card.up_GBps);
    const double pcie_GBps = way_between(machine, machine.gpus[i], number).GBps;
    if (i == 0) {
      box.port = port;
      box.pcie_GBps = pcie_GBps;
    }
    if (!alike(pcie_GBps, box.pcie_GBps) || !alike(port.GBps, box.port->GBps) ||
        !alike(port.latency_us, box.port->latency_us))
      return false;
  }
  return true;
}

// The machine as a regular box, if it is one: every GPU and every card alike.
std::optional<Regular> as_regular(const TopologyMachine& machine) {
  Regular box;
  if (!has_regular_links(machine, box)) return std::nullopt;
  if (!machine.nics.empty() && !has_regular_cards(machine, box)) return std::nullopt;
  return box;
}

Json box_json(const TopologyMachine& machine, const Regular& box, const NcclImportOptions& options,
              const std::string& file) {
  Json cluster = head_of(options, file, "nvlink_box");
  cluster["gpus_per_node"] = machine.gpus.size();
  if (box.port) cluster["nics_per_node"] = machine.nics.size();
  cluster["gpu_link"] = link_json(switched_nvlink_us, box.gpu_link_GBps);
  if (box.port) {
    cluster["pcie"] = link_json(2 * device_pcie_us, box.pcie_GBps);
    cluster["nic"] = link_json(port_us + box.port->latency_us, box.port->GBps);
  }
  return cluster;
}

// ---- any other machine

class Writer {
 public:
  Writer(const TopologyMachine& machine, const NcclImportOptions& options)
      : machine_(machine), options_(options) {}
  void write(Json& cluster);

 private:
  void name_devices();
  void group_at_cards();
  void add_groups(const std::string& prefix);
  void add_node(const std::string& prefix);
  void add_nvlinks(const std::string& prefix);
  void add_vertex(const std::string& name, const char* kind) {
    vertices_.push_back({{"name", name}, {"kind", kind}});
  }
  void connect(const std::string& from, const std::string& to, const std::string& kind,
               double latency_us, double GBps, bool one_way = false);

  const TopologyMachine& machine_;
  const NcclImportOptions& options_;
  std::vector<std::string> names_;   // by device
  std::vector<std::string> groups_;  // by device: the vertex between it and its parent, if any
  Json vertices_ = Json::array();
  Json links_ = Json::object();
  Json edges_ = Json::array();
};

void Writer::name_devices() {
  int cpus = 0;
  int switches = 0;
  names_.resize(machine_.devices.size());
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (machine_.devices[i].kind == Kind::cpu) names_[i] = "cpu" + std::to_string(cpus++);
    if (machine_.devices[i].kind == Kind::pcie_switch)
      names_[i] = "pcie" + std::to_string(switches++);
  }
  for (std::size_t i = 0; i < machine_.gpus.size(); ++i)
    names_[static_cast<std::size_t>(machine_.gpus[i])] = "gpu" + std::to_string(i);
  for (std::size_t i = 0; i < machine_.nics.size(); ++i)
    names_[static_cast<std::size_t>(machine_.nics[i])] = "nic" + std::to_string(i);
}

// Of several cards at one switch a route would take the first, whichever GPU it comes from. So a
// card and the GPUs that send by it meet at a vertex of their own, below the switch: their way is
// then the one with the fewest hops, and shares what it shared.
void Writer::group_at_cards() {
  groups_.resize(machine_.devices.size());
  std::map<int, int> cards_at;  // by parent
  for (const int card : machine_.nics) ++cards_at[device_at(machine_, card).parent];
  for (const int gpu : machine_.gpus) {
    const NcclDevice& device = device_at(machine_, gpu);
    if (device.card < 0 || cards_at[device.parent] < 2) continue;
    if (device_at(machine_, device.card).parent != device.parent) continue;
    const auto card = static_cast<std::size_t>(device.card);
    groups_[card] = "at_" + names_[card];
    groups_[static_cast<std::size_t>(gpu)] = groups_[card];
  }
}

void Writer::add_groups(const std::string& prefix) {
  for (const int card : machine_.nics) {
    const std::string& group = groups_[static_cast<std::size_t>(card)];
    if (group.empty()) continue;
    const auto parent = static_cast<std::size_t>(device_at(machine_, card).parent);
    add_vertex(prefix + group, "pcie");
    connect(prefix + group, prefix + names_[parent], "inside a switch", 0, free_GBps);
  }
}

void Writer::connect(const std::string& from, const std::string& to, const std::string& kind,
                     double latency_us, double GBps, bool one_way) {
  std::string link_class = kind + " " + rounded(GBps) + " GBps";
  if (latency_us > 0) link_class += ", " + rounded(latency_us) + " us";
  links_[link_class] = link_json(latency_us, GBps);
  Json edge = {{"from", from}, {"to", to}, {"link", link_class}};
  if (one_way) edge["one_way"] = true;
  edges_.push_back(std::move(edge));
}

void Writer::add_nvlinks(const std::string& prefix) {
  const bool has_nvswitch = std::any_of(machine_.gpus.begin(), machine_.gpus.end(), [&](int gpu) {
    return device_at(machine_, gpu).nvswitch_GBps > 0;
  });
  if (has_nvswitch) add_vertex(prefix + "nvswitch", "nvswitch");
  auto name_of = [&](int device) { return prefix + names_[static_cast<std::size_t>(device)]; };
  for (const int gpu : machine_.gpus) {
    const NcclDevice& device = device_at(machine_, gpu);
    if (device.nvswitch_GBps > 0)
      connect(name_of(gpu), prefix + "nvswitch", "nvlink", switched_nvlink_us,
              device.nvswitch_GBps);
    int cpu = gpu;
    while (device_at(machine_, cpu).parent >= 0) cpu = device_at(machine_, cpu).parent;
    if (device.cpu_nvlink_GBps > 0)
      connect(name_of(gpu), name_of(cpu), "nvlink to cpu", device_pcie_us, device.cpu_nvlink_GBps);
  }
  const std::map<std::pair<int, int>, double> one_way_GBps = peer_GBps(machine_);
  for (const auto& [pair, GBps] : one_way_GBps) {
    const auto back = one_way_GBps.find({pair.second, pair.first});
    const bool is_even = back != one_way_GBps.end() && alike(back->second, GBps);
    if (is_even && pair.first > pair.second) continue;  // written with its other direction
    connect(name_of(pair.first), name_of(pair.second), "nvlink", peer_nvlink_us, GBps, !is_even);
  }
}

void Writer::add_node(const std::string& prefix) {
  for (const int gpu : machine_.gpus) {
    add_vertex(prefix + names_[static_cast<std::size_t>(gpu)], "gpu");
    vertices_.back()["forwards"] = false;  // a GPU does not pass on what is meant for another
  }
  std::vector<int> cpus;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const NcclDevice& device = machine_.devices[i];
    const std::string name = prefix + names_[i];
    if (device.kind == Kind::cpu) {
      add_vertex(name, "cpu");
      for (const int other : cpus)
        connect(prefix + names_[static_cast<std::size_t>(other)], name, "cpu to cpu", 0,
                std::min(device.cpu_GBps, device_at(machine_, other).cpu_GBps));
      cpus.push_back(static_cast<int>(i));
      continue;
    }
    if (device.kind == Kind::nic && names_[i].empty()) continue;  // nobody sends by it
    if (device.kind == Kind::pcie_switch) add_vertex(name, "pcie");
    if (device.kind == Kind::nic) add_vertex(name, "nic");
    const std::string& group = groups_[i];
    const std::string& parent = names_[static_cast<std::size_t>(device.parent)];
    connect(name, prefix + (group.empty() ? parent : group), "pcie",
            device.kind == Kind::pcie_switch ? 0 : device_pcie_us, device.up_GBps);
    if (device.kind == Kind::nic && options_.nodes > 1)
      for (const NcclPort& port : device.ports)
        connect(name, "switch", "net", port_us + port.latency_us, port.GBps);
  }
  add_groups(prefix);
  add_nvlinks(prefix);
}

// GPUs whose route takes another card than NCCL would, as nothing but the order of the cards tells
// the two apart.
std::size_t gpus_at_wrong_cards(const TopologyMachine& machine) {
  return static_cast<std::size_t>(
      std::count_if(machine.gpus.begin(), machine.gpus.end(), [&](int gpu) {
        const NcclDevice& device = device_at(machine, gpu);
        if (device.card < 0 || device_at(machine, device.card).parent == device.parent)
          return false;
        const int hops = way_between(machine, gpu, device.card).hops;
        return std::any_of(machine.nics.begin(), machine.nics.end(), [&](int card) {
          return card < device.card && way_between(machine, gpu, card).hops <= hops;
        });
      }));
}

void Writer::write(Json& cluster) {
  name_devices();
  group_at_cards();
  if (options_.nodes > 1) add_vertex("switch", "switch");
  for (int node = 0; node < options_.nodes; ++node)
    add_node(options_.nodes > 1 ? "node" + std::to_string(node) + "/" : "");
  cluster["gpus_per_node"] = machine_.gpus.size();
  cluster["vertices"] = std::move(vertices_);
  cluster["links"] = std::move(links_);
  cluster["edges"] = std::move(edges_);
}

// What the file says of NCCL on this machine, which its own model asks for.
Json nccl_json(const TopologyMachine& machine, bool is_box) {
  Json nccl = Json::object();
  if (machine.generation) nccl["generation"] = name_in(gpu_generations, *machine.generation);
  const bool has_switches = std::any_of(machine.gpus.begin(), machine.gpus.end(), [&](int gpu) {
    return device_at(machine, gpu).nvswitch_GBps > 0;
  });
  const bool has_nvlink = has_switches || !machine.peer_links.empty();
  if (machine.generation && !has_nvlink && machine.gpus.size() > 1) nccl["gpu_link"] = "pci";
  const bool is_early = machine.generation && machine.generation < GpuGeneration::hopper;
  if (machine.gpus.size() > 1 && !machine.is_input() && !has_switches && !is_early)
    nccl["nvls"] = "off";
  const std::size_t cards = machine.nics.size();
  if (!is_box && cards > 0 && cards < machine.gpus.size() && at(most_nccl_nics) >= cards)
    nccl["nics"] = cards;
  if (machine.cpu) nccl["cpu"] = name_in(cpu_vendors, *machine.cpu);
  return nccl;
}

// NCCL writes compute capabilities and AMD's architectures, which several GPUs have: the usual one.
// Layouts show by which GPU they are priced.
std::string usual_gpu(const TopologyMachine& machine) {
  constexpr std::array<std::pair<int, const char*>, 7> by_capability{{{70, "v100"},
                                                                      {80, "a100"},
                                                                      {89, "l40s"},
                                                                      {90, "h100"},
                                                                      {100, "b200"},
                                                                      {103, "b300"},
                                                                      {120, "rtx5090"}}};
  constexpr std::array<std::pair<const char*, const char*>, 7> by_architecture{{{"900", "mi25"},
                                                                                {"906", "mi50"},
                                                                                {"908", "mi100"},
                                                                                {"90a", "mi250x"},
                                                                                {"910", "mi250x"},
                                                                                {"942", "mi300x"},
                                                                                {"950", "mi355x"}}};
  for (const auto& [capability, gpu] : by_capability)
    if (machine.capability == capability) return gpu;
  for (const auto& [architecture, gpu] : by_architecture)
    if (machine.architecture.ends_with(architecture)) return gpu;
  return "";
}

[[noreturn]] void refuse_nodes(const TopologyMachine& machine, int nodes, const std::string& file) {
  std::string sentence = "the machine has no network card by which " + std::to_string(nodes) +
                         " of it could be joined";
  if (machine.bare_cards > 0) {
    sentence += "; of its " + std::to_string(machine.bare_cards) +
                " cards the file names no ports, because it is an input for NCCL: import what NCCL "
                "writes with NCCL_TOPO_DUMP_FILE=machine.xml, or one machine with --nodes 1";
  } else {
    sentence += "; import one with --nodes 1, or add cards to the file: <nic><net speed=...>";
  }
  throw InputError(file, sentence);
}

}  // namespace

NcclImport import_nccl_xml(std::string_view text, const std::string& file,
                           const NcclImportOptions& options) {
  TopologyMachine machine = read_nccl_machine(text, file);
  const auto gpus = static_cast<int64_t>(machine.gpus.size());
  if (options.nodes < 1)
    throw InputError(file, "expected at least one node, got " + std::to_string(options.nodes));
  if (options.nodes > 1 && machine.nics.empty()) refuse_nodes(machine, options.nodes, file);
  join_cards(machine);
  NcclImport import;
  import.notes = std::move(machine.notes);
  const std::optional<Regular> box = as_regular(machine);
  const int64_t most = box ? most_workers : most_table_points;
  if (gpus * options.nodes > most)
    throw InputError(file, std::to_string(options.nodes) + " nodes of " + std::to_string(gpus) +
                               " GPUs are more than " + std::to_string(most) + " workers");
  if (!box && static_cast<int64_t>(machine.devices.size()) * options.nodes > most_devices)
    throw InputError(file, std::to_string(options.nodes) + " nodes of " +
                               std::to_string(machine.devices.size()) + " devices are more than " +
                               std::to_string(most_devices) + " vertices");
  if (box) {
    import.cluster = box_json(machine, *box, options, file);
    if (box->pair_GBps && gpus > 2)
      import.notes.push_back(
          "every GPU has links to all others, and sends what these carry "
          "together, " +
          rounded(box->gpu_link_GBps) + " GB/s, as rings over all of them do; a single pair has " +
          rounded(*box->pair_GBps) + " GB/s");
  } else {
    import.cluster = head_of(options, file, "explicit");
    Writer(machine, options).write(import.cluster);
    if (const std::size_t gpus = gpus_at_wrong_cards(machine); gpus > 0 && options.nodes > 1)
      import.notes.push_back(std::to_string(gpus) +
                             " GPUs are not at the PCIe switch of their network card, and share "
                             "the first one of those that are as near; NCCL takes turns");
  }
  if (Json nccl = nccl_json(machine, box.has_value()); !nccl.empty())
    import.cluster["nccl"] = std::move(nccl);
  if (const std::string gpu = usual_gpu(machine); !gpu.empty()) import.cluster["gpu"] = gpu;
  return import;
}

}  // namespace sgdsim

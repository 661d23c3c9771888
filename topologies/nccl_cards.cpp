// First every GPU chooses, then those with the same choice divide it, then cards that belong
// together become one. When it is wrong: see the header.
#include "topologies/nccl_cards.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace sgdsim {
namespace {

using Kind = NcclDevice::Kind;
using Numbers = std::vector<int>;  // of devices

int root_of(const TopologyMachine& machine, int number) {
  while (device_at(machine, number).parent >= 0) number = device_at(machine, number).parent;
  return number;
}

// The fastest port decides, because NCCL looks at ports one by one.
double fastest_port_GBps(const NcclDevice& card) {
  double GBps = 0;
  for (const NcclPort& port : card.ports) GBps = std::max(GBps, port.GBps);
  return GBps;
}

double all_ports_GBps(const NcclDevice& card) {
  double GBps = 0;
  for (const NcclPort& port : card.ports) GBps += port.GBps;
  return GBps;
}

Numbers choice_of(const TopologyMachine& machine, int gpu) {
  constexpr double same_GBps = 1e-6;
  Numbers choice;
  double best_GBps = 0;
  NcclDistance nearest = NcclDistance::cpus;
  for (const int card : machine.nics) {
    const NcclWay way = way_between(machine, gpu, card);
    const double GBps = std::min(way.GBps, fastest_port_GBps(device_at(machine, card)));
    const bool is_faster = GBps > best_GBps + same_GBps;
    const bool is_slower = GBps < best_GBps - same_GBps;
    if (is_slower || (!is_faster && way.distance > nearest)) continue;
    if (is_faster || way.distance < nearest) choice.clear();
    best_GBps = std::max(best_GBps, GBps);
    nearest = way.distance;
    choice.push_back(card);
  }
  return choice;
}

// Member i of so many who have these cards in common.
Numbers share_of(const Numbers& cards, std::size_t member, std::size_t members) {
  if (cards.size() < members) return {cards[member * cards.size() / members]};
  const auto each = static_cast<std::ptrdiff_t>(cards.size() / members);
  const auto first = cards.begin() + static_cast<std::ptrdiff_t>(member) * each;
  return {first, first + each};
}

// By GPU. A GPU has several cards only where nobody else has one of them.
std::map<int, Numbers> cards_of_gpus(const TopologyMachine& machine) {
  std::map<Numbers, Numbers> gpus_by_choice;
  for (const int gpu : machine.gpus) gpus_by_choice[choice_of(machine, gpu)].push_back(gpu);
  std::map<int, Numbers> cards;
  std::map<int, int> users;
  for (const auto& [choice, gpus] : gpus_by_choice) {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      cards[gpus[i]] = share_of(choice, i, gpus.size());
      for (const int card : cards[gpus[i]]) ++users[card];
    }
  }
  for (auto& [gpu, own] : cards) {
    const bool are_own = std::all_of(own.begin(), own.end(), [&](int c) { return users[c] == 1; });
    if (!are_own) own.resize(1);
  }
  return cards;
}

bool is_above(const TopologyMachine& machine, int above, int number) {
  while (number > above) number = device_at(machine, number).parent;  // parents come first
  return number == above;
}

// The ports of one card, which share its slot.
void join_ports(NcclDevice& card) {
  NcclPort joined{all_ports_GBps(card), 0};
  for (const NcclPort& port : card.ports)
    joined.latency_us = std::max(joined.latency_us, port.latency_us);
  card.ports = {joined};
}

// Several cards of one GPU become the first of them, below what they have in common. False if they
// have nothing in common.
bool join_into_first(TopologyMachine& machine, const Numbers& cards) {
  int common = device_at(machine, cards.front()).parent;
  const auto holds_all = [&] {
    return std::all_of(cards.begin(), cards.end(),
                       [&](int card) { return is_above(machine, common, card); });
  };
  while (common >= 0 && !holds_all()) common = device_at(machine, common).parent;
  if (common < 0) return false;
  NcclPort joined;
  double slots_GBps = 0;
  for (const int number : cards) {
    const NcclDevice& card = device_at(machine, number);
    double slot_GBps = HUGE_VAL;
    for (int at = number; at != common; at = device_at(machine, at).parent)
      slot_GBps = std::min(slot_GBps, device_at(machine, at).up_GBps);
    slots_GBps += slot_GBps;
    joined.GBps += std::min(slot_GBps, card.ports.front().GBps);
    joined.latency_us = std::max(joined.latency_us, card.ports.front().latency_us);
  }
  NcclDevice& first = device_at(machine, cards.front());
  first.parent = common;
  first.up_GBps = slots_GBps;
  first.ports = {joined};
  return true;
}

std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

NcclWay way_between(const TopologyMachine& machine, int from, int to) {
  // Parents come before children, so the later one of two devices is never above the other.
  NcclWay way{NcclDistance::one_switch, 0, HUGE_VAL};
  int cpus = root_of(machine, from) == root_of(machine, to) ? 0 : 2;
  while (from != to) {
    int& lower = from > to ? from : to;
    const NcclDevice& device = device_at(machine, lower);
    if (device.kind == Kind::cpu) {
      const int root = root_of(machine, from > to ? to : from);
      way.GBps = std::min({way.GBps, device.cpu_GBps, device_at(machine, root).cpu_GBps});
      lower = root;
    } else {
      way.GBps = std::min(way.GBps, device.up_GBps);
      lower = device.parent;
    }
    ++way.hops;
  }
  if (cpus == 0 && device_at(machine, from).kind == Kind::cpu) cpus = 1;
  way.distance = cpus == 2      ? NcclDistance::cpus
                 : cpus == 1    ? NcclDistance::cpu
                 : way.hops > 2 ? NcclDistance::switches
                                : NcclDistance::one_switch;
  return way;
}

void join_cards(TopologyMachine& machine) {
  if (machine.nics.empty()) return;
  const std::map<int, Numbers> cards = cards_of_gpus(machine);
  for (const int card : machine.nics) join_ports(device_at(machine, card));
  std::map<int, std::size_t> joined;  // by the card that is left: of so many
  for (const auto& [gpu, own] : cards) {
    device_at(machine, gpu).card = own.front();
    const bool are_one = own.size() > 1 && join_into_first(machine, own);
    joined[own.front()] = are_one ? own.size() : 1;
  }
  Numbers kept;
  std::size_t idle = machine.nics.size();
  for (const int card : machine.nics) {
    const auto of = joined.find(card);
    if (of == joined.end()) continue;
    kept.push_back(card);
    idle -= of->second;
  }
  machine.nics = std::move(kept);
  if (idle > 0)
    machine.notes.push_back("left out " + counted(idle, "network card") +
                            " by which no GPU sends: others are faster or nearer (as cards of "
                            "storage are not), or the GPUs there have as many each without it");
}

}  // namespace sgdsim

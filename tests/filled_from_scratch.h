// Max-min fair rates by their definition, for tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "sim/net/resources.h"

namespace sgdsim {

// What is here, for the reading that knows no increments.
struct PlainNetwork {
  std::vector<double> capacities;
  struct PlainFlow {
    std::vector<ResourceUse> uses;
    double cap = 1e30;
  };
  std::map<uint32_t, PlainFlow> flows;
};

// Raises all rates together; who meets a limit stays there.
inline std::map<uint32_t, double> filled_from_scratch(const PlainNetwork& network) {
  std::map<uint32_t, double> rates;
  std::map<uint32_t, bool> is_fixed;
  for (const auto& [number, flow] : network.flows) rates[number] = 0;
  while (is_fixed.size() < rates.size()) {
    double level = std::numeric_limits<double>::infinity();
    std::vector<double> levels(network.capacities.size(), level);
    for (std::size_t r = 0; r < network.capacities.size(); ++r) {
      double room = network.capacities[r];
      double asked = 0;
      for (const auto& [number, flow] : network.flows)
        for (const ResourceUse& use : flow.uses)
          if (use.resource == r) {
            if (is_fixed.contains(number))
              room -= use.share * rates[number];
            else
              asked += use.share;
          }
      if (asked > 0) levels[r] = std::max(0.0, room) / asked;
      level = std::min(level, levels[r]);
    }
    for (const auto& [number, flow] : network.flows)
      if (!is_fixed.contains(number)) level = std::min(level, flow.cap);
    for (const auto& [number, flow] : network.flows) {
      if (is_fixed.contains(number)) continue;
      bool stays = flow.cap <= level;
      for (const ResourceUse& use : flow.uses)
        if (levels[use.resource] <= level * (1 + 1e-12)) stays = true;
      if (!stays) continue;
      is_fixed[number] = true;
      rates[number] = level;
    }
  }
  return rates;
}

}  // namespace sgdsim

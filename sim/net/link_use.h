// How much of what they can carry wires have carried.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/net/resources.h"

namespace sgdsim {

struct LinkUse {
  uint32_t resource = 0;
  ResourceName name;
  double carried_B = 0;
  double utilisation = 0;  // 1: all the time
};
struct KindUse {
  std::string kind;  // of link
  std::size_t ways = 0;
  double mean = 0;
  double most = 0;
};
struct WireUse {
  std::vector<LinkUse> busiest;  // most used first
  std::vector<KindUse> kinds;
};

// Of bytes that were carried in so much time, by wire; where nothing was sent there may be none.
// Wires that cost nothing are left out. `changed`: wires that could carry more or less than at
// first, on average of the time, and so many times as much.
WireUse use_of(const Resources& wires, const std::vector<double>& carried_B, Duration time,
               std::size_t count, const std::map<uint32_t, double>& changed = {});

}  // namespace sgdsim

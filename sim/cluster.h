// A cluster as every engine sees it: workers, how they are grouped, what their messages cost.
#pragma once

#include <string>
#include <vector>

#include "sim/network.h"

namespace sgdsim {

struct Cluster {
  std::string name;
  Network network = Network::uniform(1, {});
  int workers_per_node = 1;        // consecutive workers share a node
  std::vector<int> grid;           // torus dimensions in workers, first fastest; empty if no grid
  std::vector<std::string> notes;  // what a result must repeat as a warning
};

}  // namespace sgdsim

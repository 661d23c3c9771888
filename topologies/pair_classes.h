// Tidying of pair classes: a network should know only classes that some pair is in, because the
// worst class is what a closed form charges, and a single class opens the fastest paths.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "sim/net/network.h"

namespace sgdsim {

// Numbers costs in the order of their first appearance.
class ClassList {
 public:
  uint32_t number(const PairCost& cost);
  const std::vector<PairCost>& costs() const { return costs_; }

 private:
  using Key = std::tuple<Duration, PerByte, PerByte, bool>;
  std::map<Key, uint32_t> numbers_;
  std::vector<PairCost> costs_;
  uint32_t last_ = 0;
};

// Groups of `sizes` consecutive workers, ascending; costs[i] between workers that share a group of
// sizes[i] and none smaller, costs.back() beyond. Sizes may exceed the number of workers.
Network nested_network(int workers, const std::vector<int64_t>& sizes,
                       const std::vector<PairCost>& costs);

// `cost_between` two of `points`, each with `per_point` workers; asked for a point and itself only
// if it has several workers.
Network table_network(int points, int per_point,
                      const std::function<PairCost(int, int)>& cost_between);

}  // namespace sgdsim

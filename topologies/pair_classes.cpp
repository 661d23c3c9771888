// Classes without pairs are dropped, and a rule with one class left becomes OneClass.
#include "topologies/pair_classes.h"

#include <algorithm>
#include <cassert>

namespace sgdsim {

uint32_t ClassList::number(const PairCost& cost) {
  if (!costs_.empty() && costs_[last_] == cost) return last_;  // neighbours are often alike
  const Key key{cost.latency, cost.per_byte, cost.reduce, cost.rendezvous};
  const auto [found, is_new] = numbers_.try_emplace(key, static_cast<uint32_t>(costs_.size()));
  if (is_new) costs_.push_back(cost);
  return last_ = found->second;
}

Network nested_network(int workers, const std::vector<int64_t>& sizes,
                       const std::vector<PairCost>& costs) {
  assert(costs.size() == sizes.size() + 1);
  NestedGroups rule;
  std::vector<PairCost> used;
  int64_t inner = 1;  // workers of one group of the class before
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const int64_t outer = i < sizes.size() ? std::min<int64_t>(sizes[i], workers) : workers;
    if (outer <= inner) continue;
    if (!used.empty()) rule.group_sizes.push_back(static_cast<int>(inner));
    used.push_back(costs[i]);
    inner = outer;
  }
  if (used.empty()) used.push_back(costs.front());  // a single worker has no pairs
  if (used.size() == 1) return {workers, OneClass{}, std::move(used)};
  return {workers, std::move(rule), std::move(used)};
}

Network table_network(int points, int per_point,
                      const std::function<PairCost(int, int)>& cost_between) {
  PairTable table;
  table.per_point = per_point;
  table.points = points;
  table.classes.reserve(static_cast<std::size_t>(points) * static_cast<std::size_t>(points));
  ClassList list;
  for (int from = 0; from < points; ++from)
    for (int to = 0; to < points; ++to) {
      const bool has_pairs = from != to || per_point > 1;
      table.classes.push_back(has_pairs ? list.number(cost_between(from, to)) : 0);
    }
  std::vector<PairCost> costs = list.costs();
  if (costs.empty()) costs.emplace_back();
  const int workers = points * per_point;
  if (costs.size() == 1) return {workers, OneClass{}, std::move(costs)};
  return {workers, std::move(table), std::move(costs)};
}

}  // namespace sgdsim

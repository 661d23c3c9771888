// Sorted by use.
#include "sim/net/link_use.h"

#include <algorithm>
#include <cmath>

namespace sgdsim {

WireUse use_of(const Resources& wires, const std::vector<double>& carried_B, Duration time,
               std::size_t count, const std::map<uint32_t, double>& changed) {
  std::vector<double> capacities = wires.capacities();
  for (const auto& [way, factor] : changed) capacities[way] *= factor;
  const auto time_ps = static_cast<double>(std::max<int64_t>(1, time.ps()));
  const auto carried = [&](uint32_t way) { return way < carried_B.size() ? carried_B[way] : 0; };
  auto utilisation = [&](uint32_t way) { return carried(way) / (capacities[way] * time_ps); };
  std::vector<uint32_t> order;
  std::map<std::string, KindUse> kinds;
  for (uint32_t way = 0; way < capacities.size(); ++way) {
    if (std::isinf(capacities[way])) continue;
    const double used = utilisation(way);
    KindUse& kind = kinds[wires.name_of(way).kind];
    ++kind.ways;
    kind.mean += used;
    kind.most = std::max(kind.most, used);
    if (used > 0) order.push_back(way);
  }
  WireUse use;
  for (auto& [name, kind] : kinds) {
    kind.kind = name;
    kind.mean /= static_cast<double>(kind.ways);
    use.kinds.push_back(kind);
  }
  count = std::min(order.size(), count);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](uint32_t a, uint32_t b) {
                      const double one = utilisation(a);
                      const double other = utilisation(b);
                      return one != other ? one > other : a < b;
                    });
  order.resize(count);
  for (const uint32_t way : order)
    use.busiest.push_back({way, wires.name_of(way), carried(way), utilisation(way)});
  return use;
}

}  // namespace sgdsim

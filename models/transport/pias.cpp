// PIAS (Bai et al., NSDI 2015): DCTCP whose messages begin in the first queue and sink to lower
// ones as they send; marks look at the whole port.
#include <algorithm>

#include "models/transport/dctcp.h"
#include "sim/core/nearest_rank.h"

namespace sgdsim::transport::pias {
namespace {

constexpr std::size_t levels = packet_queues - 1;  // one is for answers

// Where as many messages end in one level as in the next.
std::vector<double> by_sizes(std::vector<double> sizes_B) {
  std::vector<double> thresholds;
  if (sizes_B.empty()) return thresholds;
  std::sort(sizes_B.begin(), sizes_B.end());
  for (std::size_t level = 1; level < levels; ++level)
    thresholds.push_back(
        nearest_rank(sizes_B, static_cast<double>(level) / static_cast<double>(levels)));
  return thresholds;
}

void read(Object& fields, const std::vector<double>& sizes_B, PacketSetup& setup) {
  WindowRules rules = read_dctcp(fields, setup);
  setup.queues.marks_by_port = true;
  rules.lower_after_B = by_sizes(sizes_B);
  // Messages that nobody knows before they begin: by those so far.
  if (sizes_B.empty() && !fields.has("thresholds")) rules.lower_after_of = by_sizes;
  if (const auto field = fields.find("thresholds")) {
    rules.lower_after_B.clear();
    for (const Value& item : field->items()) {
      const auto size_B = static_cast<double>(item.bytes().count());
      if (!rules.lower_after_B.empty() && size_B < rules.lower_after_B.back())
        item.fail("thresholds grow");
      rules.lower_after_B.push_back(size_B);
    }
    if (rules.lower_after_B.size() >= levels)
      field->fail("there are " + std::to_string(levels) + " queues, so at most " +
                  std::to_string(levels - 1) + " thresholds");
  }
  connect_windows(setup, std::move(rules));
}

}  // namespace

Transport describe() {
  return {"pias", "DCTCP in queues that a message sinks through as it sends", set_dctcp_defaults,
          read};
}

}  // namespace sgdsim::transport::pias

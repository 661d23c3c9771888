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

struct Options {
  DctcpOptions dctcp;
  std::vector<Bytes> thresholds;
};

void check_thresholds(const Value& list) {
  Bytes last;
  for (const Value& item : list.items()) {
    if (item.bytes() < last) item.fail("thresholds grow");
    last = item.bytes();
  }
  if (list.size() >= levels)
    list.fail("there are " + std::to_string(levels) + " queues, so at most " +
              std::to_string(levels - 1) + " thresholds");
}

Fields fields_of(Options& o) {
  return fields_of(o.dctcp) +
         Fields{Field("thresholds", o.thresholds,
                      "bytes that a message has sent when it sinks to the next queue")
                    .also(check_thresholds)
                    .otherwise("as many messages end in one queue as in the next")};
}

void read(Object& fields, const std::vector<double>& sizes_B, PacketSetup& setup) {
  const auto options = read_record<Options>(fields);
  WindowRules rules = dctcp_rules(options.dctcp, setup);
  setup.queues.marks_by_port = true;
  if (fields.has("thresholds"))
    for (const Bytes size : options.thresholds)
      rules.lower_after_B.push_back(static_cast<double>(size.count()));
  else
    rules.lower_after_B = by_sizes(sizes_B);
  // Messages that nobody knows before they begin: by those so far.
  if (sizes_B.empty() && !fields.has("thresholds")) rules.lower_after_of = by_sizes;
  connect_windows(setup, std::move(rules));
}

}  // namespace

Transport describe() {
  return {"pias", "DCTCP in queues that a message sinks through as it sends", set_dctcp_defaults,
          options_of<Options>, read};
}

}  // namespace sgdsim::transport::pias

// Many send to one at the same moment: `from` (all others), each `flows_each` times (1).
#include "models/traffic/flow_sizes.h"
#include "models/traffic/registry.h"

namespace sgdsim::traffic::incast {
namespace {

struct Options {
  FlowSizes size;
  int to = 0;
  std::string from;
  int64_t flows_each = 1;
  Duration start;
};

Fields fields_of(Options& o) {
  return {size_field(o.size), Field("to", o.to, "worker that all send to").from(0, 1 << 24),
          Field("from", o.from, "who sends, as 0-3,7").otherwise("all others"),
          Field("flows_each", o.flows_each, "number of flows of each sender").from(1, most_flows),
          start_field(o.start)};
}

void add(Object& fields, const TrafficScene& scene, std::vector<PlainFlow>& flows) {
  const auto options = read_record<Options>(fields);
  const FlowSizes& sizes = options.size;
  const int to = options.to;
  if (const auto target = fields.find("to")) target->whole(0, scene.network->workers() - 1);
  const bool is_named = fields.has("from");
  const std::vector<int> workers = read_ranks(fields, "from", *scene.network);
  const int64_t each = options.flows_each;
  check_room(fields.value(), flows,
             static_cast<double>(workers.size()) * static_cast<double>(each));
  const Time start = Time() + options.start;
  Random random = scene.random;
  const std::size_t before = flows.size();
  for (int64_t i = 0; i < each; ++i)
    for (const int from : workers) {
      if (from == to && is_named)
        fields.value().fail("worker " + std::to_string(to) + " would send to itself");
      if (from != to) flows.push_back({start, sizes.draw(random), from, to});
    }
  if (flows.size() == before) fields.value().fail("nobody sends");
}

}  // namespace

TrafficGenerator describe() {
  return {"incast", "many workers send to one (`to`, 0) at the same moment", options_of<Options>,
          add};
}

}  // namespace sgdsim::traffic::incast

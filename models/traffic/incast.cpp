// Many send to one at the same moment: `from` (all others), each `flows_each` times (1).
#include "models/traffic/flow_sizes.h"
#include "models/traffic/registry.h"

namespace sgdsim::traffic::incast {
namespace {

void add(Object& fields, const TrafficScene& scene, std::vector<PlainFlow>& flows) {
  const FlowSizes sizes(fields.at("size"));
  const auto target = fields.find("to");
  const int to = target ? static_cast<int>(target->whole(0, scene.network->workers() - 1)) : 0;
  const bool is_named = fields.has("from");
  const std::vector<int> workers = read_ranks(fields, "from", *scene.network);
  const auto times = fields.find("flows_each");
  const int64_t each = times ? times->whole(1, most_flows) : 1;
  check_room(fields.value(), flows,
             static_cast<double>(workers.size()) * static_cast<double>(each));
  const Time start = read_start(fields);
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
  return {"incast", "many workers send to one (`to`, 0) at the same moment", add};
}

}  // namespace sgdsim::traffic::incast

// Everybody sends to everybody else at the same moment, the next one first.
#include "models/traffic/flow_sizes.h"
#include "models/traffic/registry.h"

namespace sgdsim::traffic::all_to_all {
namespace {

struct Options {
  FlowSizes size;
  std::string among;
  Duration start;
};

Fields fields_of(Options& o) {
  return {size_field(o.size), among_field(o.among), start_field(o.start)};
}

void add(Object& fields, const TrafficScene& scene, std::vector<PlainFlow>& flows) {
  const auto options = read_record<Options>(fields);
  const FlowSizes& sizes = options.size;
  const std::vector<int> workers = read_ranks(fields, "among", *scene.network);
  if (workers.size() < 2) fields.value().fail("traffic needs two workers");
  const auto count = static_cast<double>(workers.size());
  check_room(fields.value(), flows, count * (count - 1));
  const Time start = Time() + options.start;
  Random random = scene.random;
  for (std::size_t shift = 1; shift < workers.size(); ++shift)
    for (std::size_t i = 0; i < workers.size(); ++i)
      flows.push_back(
          {start, sizes.draw(random), workers[i], workers[(i + shift) % workers.size()]});
}

}  // namespace

TrafficGenerator describe() {
  return {"all_to_all", "everybody sends to everybody else at the same moment", options_of<Options>,
          add};
}

}  // namespace sgdsim::traffic::all_to_all

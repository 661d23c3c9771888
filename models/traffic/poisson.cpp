// Flows that come by chance: starts by a Poisson process, between workers drawn evenly.
//
// `load` is the part of the workers' bandwidth that they ask for together. A worker has the
// bandwidth that a message between the first and the last worker gets alone, or `bandwidth`.
#include <algorithm>

#include "models/traffic/flow_sizes.h"
#include "models/traffic/registry.h"

namespace sgdsim::traffic::poisson {
namespace {

constexpr double most_load = 10;

double bytes_per_s(Object& fields, const Network& network, double mean_B) {
  if (const auto field = fields.find("bandwidth")) return field->bandwidth().Bps();
  const PerByte rate = network.at_size(mean_B).between(0, network.workers() - 1).per_byte;
  if (rate.ps() <= 0)
    fields.value().fail("links that cost nothing have no load; give a `bandwidth`");
  return 1e12 / rate.ps();
}

void add(Object& fields, const TrafficScene& scene, std::vector<PlainFlow>& flows) {
  const Value load = fields.at("load");
  const FlowSizes sizes(fields.at("size"));
  const std::vector<int> workers = read_ranks(fields, "among", *scene.network);
  if (workers.size() < 2) fields.value().fail("traffic needs two workers");
  const double worker_rate = bytes_per_s(fields, *scene.network, sizes.mean_B());
  const double part = load.number(0, most_load);
  if (part <= 0) load.fail("a load of 0 brings no flows");
  const double flows_per_s =
      part * static_cast<double>(workers.size()) * worker_rate / sizes.mean_B();
  const auto count = fields.find("count");
  const auto length = fields.find("duration");
  if (count.has_value() == length.has_value())
    fields.value().fail("expected either a `count` of flows or a `duration`");
  const double most = count ? static_cast<double>(count->whole(1, most_flows))
                            : length->duration().s() * flows_per_s;
  check_room(fields.value(), flows, most);
  const Time start = read_start(fields);
  Random random = scene.random;
  double now_ps = 0;
  for (int64_t i = 0; !count || i < count->whole(1, most_flows); ++i) {
    now_ps += random.exponential(1e12 / flows_per_s);
    const Duration since = Duration::nearest_ps(now_ps);
    if (length && since > length->duration()) break;
    const auto from = static_cast<std::size_t>(random.below(workers.size()));
    auto to = static_cast<std::size_t>(random.below(workers.size() - 1));
    if (to >= from) ++to;
    flows.push_back({start + since, sizes.draw(random), workers[from], workers[to]});
  }
}

}  // namespace

TrafficGenerator describe() {
  return {"poisson", "flows of some `size` that come by chance, with `load` of all bandwidth", add};
}

}  // namespace sgdsim::traffic::poisson

// Reading by name.
#include "models/traffic/traffic.h"

#include <numeric>

#include "models/traffic/registry.h"
#include "sim/core/error.h"
#include "sim/core/number_list.h"

namespace sgdsim {
namespace {

void add_flows(const Value& value, const TrafficScene& scene, std::vector<PlainFlow>& flows) {
  Object fields(value);
  const Value name = fields.at("generator");
  std::vector<std::string> known;
  for (const TrafficGenerator& generator : traffic_generators()) {
    known.emplace_back(generator.name);
    if (generator.name != name.text()) continue;
    TrafficScene own = scene;
    if (const auto seed = fields.find("seed"))
      own.random = Random(static_cast<uint64_t>(seed->whole(0, int64_t{1} << 62)));
    generator.add(fields, own, flows);
    fields.done();
    return;
  }
  name.fail(unknown_name("generator", name.text(), known));
}

}  // namespace

std::vector<PlainFlow> read_flows(const Value& value, const Network& network, uint64_t seed) {
  std::vector<PlainFlow> flows;
  if (network.workers() < 2)
    value.fail("traffic needs two workers; the cluster has " + std::to_string(network.workers()));
  const Random random(seed);
  if (!is_list(value.json())) {
    add_flows(value, {&network, random}, flows);
  } else {
    uint64_t number = 0;
    value.for_each_item([&](const Value& item) {
      add_flows(item, {&network, random.stream(number++)}, flows);
    });
  }
  if (flows.empty()) value.fail("no flows");
  sort_by_start(flows);
  return flows;
}

void check_room(const Value& value, const std::vector<PlainFlow>& flows, double more) {
  if (static_cast<double>(flows.size()) + more > static_cast<double>(most_flows))
    value.fail("more than " + std::to_string(most_flows) + " flows");
}

std::vector<int> read_ranks(Object& fields, const std::string& name, const Network& network) {
  const auto field = fields.find(name);
  if (field) return parse_numbers(field->text(), network.workers(), field->where(), "worker");
  std::vector<int> all(static_cast<std::size_t>(network.workers()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Time read_start(Object& fields) {
  const auto field = fields.find("start");
  return field ? Time() + field->duration() : Time();
}

}  // namespace sgdsim

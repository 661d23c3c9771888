// Reading by name.
#include "models/traffic/traffic.h"

#include <numeric>

#include "models/traffic/registry.h"
#include "sim/core/number_list.h"

namespace sgdsim {
namespace {

struct OfAll {
  std::optional<int64_t> seed;
};

Fields fields_of(OfAll& o) {
  return {Field("seed", o.seed, "seed of this generator")
              .from(0, int64_t{1} << 62)
              .otherwise("the file's and its place")};
}

void add_flows(const Value& value, const TrafficScene& scene, OwnSeeds own_seeds,
               std::vector<PlainFlow>& flows) {
  Object fields(value);
  const Value name = fields.at("generator");
  const TrafficGenerator& generator =
      part_named(traffic_generators(), "generator", name.text(), name.where());
  TrafficScene own = scene;
  const auto of_all = read_record<OfAll>(fields);
  if (of_all.seed && own_seeds == OwnSeeds::hold)
    own.random = Random(static_cast<uint64_t>(*of_all.seed));
  generator.add(fields, own, flows);
  fields.done();
}

}  // namespace

std::vector<PlainFlow> read_flows(const Value& value, const Network& network, uint64_t seed,
                                  OwnSeeds own_seeds) {
  std::vector<PlainFlow> flows;
  if (network.workers() < 2)
    value.fail("traffic needs two workers; the cluster has " + std::to_string(network.workers()));
  const Random random(seed);
  if (!is_list(value.json())) {
    add_flows(value, {&network, random}, own_seeds, flows);
  } else {
    uint64_t number = 0;
    value.for_each_item([&](const Value& item) {
      add_flows(item, {&network, random.stream(number++)}, own_seeds, flows);
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

Field start_field(Duration& start) { return {"start", start, "when it begins"}; }

Field among_field(std::string& among) {
  return Field("among", among, "workers that take part, as 0-3,7").otherwise("all");
}

Json schema_of_flows() {
  OfAll usual;
  Json one =
      schema_of_parts_by("generator", texts_of(traffic_generators()), schema_of(fields_of(usual)));
  Json list = list_schema(one, 1);
  return any_of({std::move(one), std::move(list)});
}

}  // namespace sgdsim

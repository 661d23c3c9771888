// Flows one by one: {"start": "3 us", "from": 0, "to": 5, "size": "1 MB"}.
#include "models/traffic/flow_sizes.h"
#include "models/traffic/registry.h"

namespace sgdsim::traffic::listed {
namespace {

void add(Object& fields, const TrafficScene& scene, std::vector<PlainFlow>& flows) {
  const Value list = fields.at("list");
  check_room(list, flows, static_cast<double>(list.size()));
  const int last = scene.network->workers() - 1;
  list.for_each_item([&](const Value& item) {
    Object one(item);
    const int from = static_cast<int>(one.at("from").whole(0, last));
    const int to = static_cast<int>(one.at("to").whole(0, last));
    if (from == to) item.fail("worker " + std::to_string(to) + " would send to itself");
    const Bytes size = one.at("size").bytes();
    if (size.count() == 0) item.fail("a flow has at least one byte");
    flows.push_back({read_start(one), size, from, to});
    one.done();
  });
}

}  // namespace

TrafficGenerator describe() {
  return {"listed", "the flows of a `list`, each with its start, from, to and size", add};
}

}  // namespace sgdsim::traffic::listed

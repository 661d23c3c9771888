// Flows one by one: {"start": "3 us", "from": 0, "to": 5, "size": "1 MB"}.
#include "models/traffic/flow_sizes.h"
#include "models/traffic/registry.h"

namespace sgdsim::traffic::listed {
namespace {

struct Listed {
  Duration start;
  int from = 0;
  int to = 0;
  Bytes size;
};

Fields fields_of(Listed& flow) {
  return {{"start", flow.start, "when it is sent"},
          Field("from", flow.from, "worker that sends").needed().from(0, 1 << 24),
          Field("to", flow.to, "worker that receives").needed().from(0, 1 << 24),
          Field("size", flow.size, "how much").needed()};
}

Json schema_of_list() { return list_schema(schema_of_record<Listed>(), 1); }

struct Options {
  std::optional<Value> list;
};

Fields fields_of(Options& o) {
  return {Field("list", o.list, "the flows").needed().like(schema_of_list)};
}

void add(Object& fields, const TrafficScene& scene, std::vector<PlainFlow>& flows) {
  const Value list = *read_record<Options>(fields).list;
  check_room(list, flows, static_cast<double>(list.size()));
  const int last = scene.network->workers() - 1;
  for_each_record<Listed>(list, [&](const Listed& flow, Object& object) {
    for (const char* end : {"from", "to"}) object.at(end).whole(0, last);
    if (flow.from == flow.to)
      object.value().fail("worker " + std::to_string(flow.to) + " would send to itself");
    if (flow.size.count() == 0) object.value().fail("a flow has at least one byte");
    flows.push_back({Time() + flow.start, flow.size, flow.from, flow.to});
  });
}

}  // namespace

TrafficGenerator describe() {
  return {"listed", "the flows of a `list`, each with its start, from, to and size",
          options_of<Options>, add};
}

}  // namespace sgdsim::traffic::listed

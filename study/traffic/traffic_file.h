// Reading traffic: a file of schema sgdsim/traffic/1, or a table of flows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/core/json.h"
#include "sim/net/cluster.h"
#include "sim/play/play_flows.h"
#include "study/question_fields.h"

namespace sgdsim {

struct TrafficFile {
  std::string name;
  uint64_t seed = 1;            // of all that is drawn
  bool has_generators = false;  // which may draw
  std::vector<PlainFlow> flows;
  std::vector<WireChange> changes;
  Meanwhile meanwhile() const { return {flows, changes}; }
};

// `wires`: whose names the changes of links give. `seed`: in place of the file's.
TrafficFile read_traffic(const std::string& file, const Cluster& cluster, const Resources& wires,
                         std::optional<uint64_t> seed);
// The same inside another file, where there may be changes without flows.
TrafficFile read_traffic(const Value& value, const Cluster& cluster, const Resources& wires,
                         std::optional<uint64_t> seed);
Json schema_of_traffic_files();
// The same beside something else that is played: a file, or JSON itself.
TrafficFile read_meanwhile(const std::string& traffic, const std::string& option,
                           const Cluster& cluster, const Resources& wires);
// Its JSON, or for a file of JSON its name: the value of the field `traffic` of an experiment. A
// table becomes a list.
std::string traffic_field(const std::string& traffic, const std::string& option);
// InputError if the option is given where there are no messages.
void check_traffic_option(const std::string& traffic, bool has_messages);
Field traffic_beside_field(std::string& traffic);

}  // namespace sgdsim

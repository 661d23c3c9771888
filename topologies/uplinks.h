// The links between switches of a shape whose uplinks may be said by an oversubscription.
#pragma once

#include <optional>

#include "sim/core/fields.h"
#include "topologies/link.h"

namespace sgdsim {

struct UplinkFields {
  std::optional<Value> uplink = {};
  std::optional<double> oversubscription = {};
};
Fields uplink_fields(UplinkFields& uplinks);

// What is below a switch that has the uplinks.
struct BelowSwitch {
  Link nic;
  int nics_per_node = 1;  // of those that lead to this switch
  int nodes = 1;
};
// Without "uplink" the cables between switches are of the same class as the nodes' cards; switches
// do not fold. `uplinks`: of a switch.
Link uplink_of(const UplinkFields& given, const BelowSwitch& below, int uplinks);

}  // namespace sgdsim

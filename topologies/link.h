// A link class: what one traversal of one link costs, in one direction.
//
// In a cluster file a link is an object under the name of its role ("nic", "uplink", ...):
//   {"latency": "1 us", "bandwidth": "100 Gbps", "efficiency": 0.92, "reduce": "50 ps/B"}
// Both directions of a link have the full bandwidth at the same time. `per_byte` may stand for
// `bandwidth`, because a fitted beta is a time per byte and not a round rate.
//
// A calibrated link may have `segments`, whose costs replace those of the link for messages from
// some size on, and a range of sizes in which all of that is `valid`; see segments.h.
#pragma once

#include <optional>
#include <vector>

#include "sim/core/fields.h"
#include "sim/net/network.h"

namespace sgdsim {

struct Link {
  Duration latency;       // of one traversal
  PerByte per_byte;       // as written, before efficiency; 0 is a wire that costs nothing
  double efficiency = 1;  // the part of the bandwidth that payload gets, (0, 1]
  PerByte reduce;         // folding a received byte into the receiver's data
  // Through the host's memory: a copy there, and behind it one from there.
  bool staged = false;
  bool rendezvous = false;  // of messages as large as those that it is read for (segments.h)

  // What a message pays, efficiency included.
  PairCost cost() const {
    return {latency, PerByte::ps((staged ? 2 : 1) * per_byte.ps() / efficiency), reduce,
            rendezvous};
  }
  bool operator==(const Link&) const = default;
};

// The fields of a link, each of which may be missing.
struct LinkFields {
  std::optional<Duration> latency;
  std::optional<PerByte> per_byte;
  std::optional<double> efficiency;
  std::optional<PerByte> reduce;
  std::optional<bool> staged;
  std::optional<bool> rendezvous;
  std::vector<Crowding::Point> over_senders;  // an efficiency that depends on who else sends
};

// Latency and rate are required, the rest is not.
Link read_link(const Value& value);
inline void read_value(const Value& value, Link& link) { link = read_link(value); }
inline Json schema_of_value(const Link&) { return reference("../cluster/1#/$defs/link"); }
// The card of a node, whose efficiency may be a list over the number of messages that nodes send at
// once:
//   "efficiency": [{"senders": 8, "efficiency": 0.77}, {"senders": 32, "efficiency": 0.095}]
Link read_nic(const Value& value, std::vector<Crowding::Point>& over_senders);
// Reads the fields of a link among the others of `fields`, each of which may be missing; and the
// schema of those.
LinkFields read_link_fields(Object& fields);
Json port_properties();
// Links, cards of nodes and uplinks, as definitions of the schema of clusters.
Json schemas_of_links();
// InputError if the efficiency is a list over senders.
void check_one_efficiency(const Object& fields, const LinkFields& link);
Link changed(Link base, const LinkFields& by);

// A latency in a cluster file; at most 1 s, so that no route through 2^20 links overflows 64 bits.
Duration read_latency(const Value& value);

}  // namespace sgdsim

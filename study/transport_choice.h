// `--transport "NAME FIELD=VALUE ..."`: how packets are sent, on command lines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/collective/simulate.h"
#include "sim/core/json.h"
#include "sim/net/carrier.h"
#include "sim/net/cluster.h"
#include "study/question_fields.h"

namespace sgdsim {

Field transport_field(std::string& transport);
// Of an answer: how messages were sent; empty: they shared wires evenly, or there were none.
Field transport_taken_field(const std::string& transport);
// Of an answer for people: "flow, tcp".
std::string sent_text(Fidelity fidelity, const std::string& transport);
// The same as the field `transport` of a file has; null: not given.
Json transport_in(const std::string& text);
// How messages are sent on this cluster: as was asked for, else by TCP where its network sends over
// it, else ideally. Null where they share wires evenly, or there are no wires.
Json transport_on(const Cluster& cluster, Fidelity fidelity, Routing routing, const Json& asked);

// InputError if it is none.
void check_transport(const Value& transport);
// What to say where a transport leaves out what it may lose; empty where everything arrived.
std::string delivered_warning(double least_delivered);
// Packets of a transport: its name, or an object; `sizes_B`: of messages, as far as known. None for
// null.
MakeCarrier carrier_of(const Value& transport, const std::vector<double>& sizes_B, uint64_t seed);

inline constexpr char packets_have_spray[] = "packets go as their transport says, not by routing";

struct Sent {
  std::string transport;  // its name; empty: messages share wires evenly, or there are none
  MakeCarrier carrier;
  Payload payload = {};  // of its packets
};
// As --transport says it, or null.
Sent sent_on(const Cluster& cluster, Fidelity fidelity, const RouteChoice& routes,
             const Json& asked);
// As a file says it, which is at `root`. InputError for a transport without packets.
Sent sent_on(const Cluster& cluster, Fidelity fidelity, const RouteChoice& routes,
             const std::optional<Value>& asked, const Value& root);

}  // namespace sgdsim

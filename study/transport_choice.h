// `--transport "NAME FIELD=VALUE ..."`: how packets are sent, on command lines.
#pragma once

#include <string>
#include <vector>

#include "sim/core/json.h"
#include "sim/net/carrier.h"
#include "study/question_fields.h"

namespace sgdsim {

Field transport_field(std::string& transport);
// The same as the field `transport` of a file has.
Json transport_in(const std::string& text);

// InputError if it is none.
void check_transport(const Value& transport);
// Packets of a transport. `value`: its name, or an object; `sizes_B`: of messages, as far as known.
// What a packet of it carries at most.
double payload_B_of(const Value& transport);
// What to say where a transport leaves out what it may lose; empty where everything arrived.
std::string delivered_warning(double least_delivered);
MakeCarrier carrier_of(const Value& transport, const std::vector<double>& sizes_B, uint64_t seed);

}  // namespace sgdsim

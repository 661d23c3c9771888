// The use of wires, for people and for notebooks; and which routes messages take.
#pragma once

#include <ostream>
#include <string>

#include "sim/core/json.h"
#include "sim/net/link_use.h"

namespace CLI {
class App;
}

namespace sgdsim {

// Adds `kinds` and `busiest`.
void add_use(Json& json, const WireUse& use);
void print_use(std::ostream& out, const WireUse& use);
// "uplink leaf0 -> spine0, in use 58.6 % of the time".
std::string link_text(const LinkUse& link);

void add_routing_option(CLI::App& command, std::string& routing);

}  // namespace sgdsim

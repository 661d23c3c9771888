// Which routes messages take over wires, as the command line and files say it.
#pragma once

#include <string>
#include <string_view>

#include "sim/net/resources.h"

namespace CLI {
class App;
}

namespace sgdsim {

std::string_view name_of(Routing routing);
// Empty: the usual one.
RouteChoice route_choice_named(const std::string& name, const std::string& where);
void add_routing_option(CLI::App& command, std::string& routing);

}  // namespace sgdsim

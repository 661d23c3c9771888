// Names of routings.
#include "sim/net/resources.h"

namespace sgdsim {
std::string_view name_of(Routing routing) { return name_in(routings, routing); }

Routing routing_named(const std::string& name, const std::string& where) {
  return named_in(routings, "routing", name, where);
}

}  // namespace sgdsim

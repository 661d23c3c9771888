// Names of routings.
#include "sim/net/resources.h"

#include "sim/core/named.h"

namespace sgdsim {
namespace {

constexpr Named<Routing, 3> routings{{{"by_destination", Routing::by_destination},
                                      {"hashed", Routing::hashed},
                                      {"split", Routing::split}}};

}  // namespace

std::string_view name_of(Routing routing) { return name_in(routings, routing); }

Routing routing_named(const std::string& name, const std::string& where) {
  return named_in(routings, "routing", name, where);
}

}  // namespace sgdsim

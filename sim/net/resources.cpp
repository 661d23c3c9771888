// Names of routings.
#include "sim/net/resources.h"

#include <array>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/json.h"

namespace sgdsim {
namespace {

constexpr std::array<std::pair<std::string_view, Routing>, 3> routings{
    {{"by_destination", Routing::by_destination},
     {"hashed", Routing::hashed},
     {"split", Routing::split}}};

}  // namespace

std::string_view name_of(Routing routing) {
  for (const auto& [name, one] : routings)
    if (one == routing) return name;
  return "";
}

Routing routing_named(const std::string& name, const std::string& where) {
  std::vector<std::string> known;
  for (const auto& [text, routing] : routings) {
    if (text == name) return routing;
    known.emplace_back(text);
  }
  throw InputError(where, unknown_name("routing", name, known));
}

}  // namespace sgdsim

// Names of routings.
#include "app/routing.h"

#include <CLI/CLI.hpp>
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

RouteChoice route_choice_named(const std::string& name, const std::string& where) {
  if (name.empty()) return {};
  std::vector<std::string> known;
  for (const auto& [text, routing] : routings) {
    if (text == name) return {.routing = routing};
    known.emplace_back(text);
  }
  throw InputError(where, unknown_name("routing", name, known));
}

void add_routing_option(CLI::App& command, std::string& routing) {
  command.add_option("--routing", routing,
                     "of several shortest routes: by_destination (the receiver's number chooses), "
                     "hashed (equal-cost multipath), split (over all) (default: by_destination)");
}

}  // namespace sgdsim

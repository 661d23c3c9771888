// Remembering fields of the cluster until somebody reads the experiment.
#include "study/step/stated_costs.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "study/step/override.h"

namespace sgdsim {
namespace {

// What says nothing of links and counts, and what else than exchanges reads: how programs overlap
// them depends on the network's kind.
constexpr std::array<std::string_view, 7> beside_exchanges = {
    "schema", "name", "description", "source", "gpu", "gpu_memory", "network"};

bool is_within(const std::string& path, const std::string& part) {
  return path == part || path.starts_with(part + ".");
}

bool is_beside_exchanges(const std::string& path) {
  return std::any_of(beside_exchanges.begin(), beside_exchanges.end(), [&](std::string_view name) {
    return is_within(path, "cluster." + std::string(name));
  });
}

// The field has this value already, in the same words.
bool is_as_it_was(const Json& experiment, const std::string& setting) {
  const std::string path = path_of_setting(setting);
  if (path.size() == setting.size()) return false;  // without a value
  const Json* there = &experiment;
  for (const std::string& step : steps_of(path, "")) {
    if (!there->is_object() || !there->contains(step)) return false;
    there = &(*there)[step];
  }
  return *there == value_in(setting.substr(path.size() + 1), "");
}

// Compressions may have a collective of their own.
bool may_state_costs(const std::string& setting) {
  const std::string path = path_of_setting(setting);
  if (path == "compression") return setting.find("\"collective\"") != std::string::npos;
  return is_within(path, "collective") || is_within(path, "compression.collective");
}

}  // namespace

void ClusterChanges::set(const Json& experiment, const std::vector<std::string>& settings) {
  if (std::any_of(settings.begin(), settings.end(), may_state_costs)) return void(*this = {});
  for (const std::string& setting : settings) {
    const std::string path = path_of_setting(setting);
    if (!is_within(path, "cluster") || is_beside_exchanges(path)) continue;
    if (is_as_it_was(experiment, setting)) continue;
    if (path != "cluster" || experiment.contains("cluster")) settings_.push_back(setting);
  }
}

void ClusterChanges::replace(const Json& experiment) {
  is_replaced_ = experiment.contains("cluster");
}

std::string ClusterChanges::check(const MessageCost& cost) const {
  // Formulas of NCCL know the cluster, and have messages to stand for them; constants have none.
  if (settings_.empty() && !is_replaced_) return {};
  if (cost.with_messages().plays()) return {};
  if (!settings_.empty())
    throw StatedCosts("--set " + settings_.front().substr(0, 80),
                      path_of_setting(settings_.front()));
  return "the cluster is another one than the experiment's, and exchanges cost what they did "
         "there: " +
         std::string(costs_are_stated);
}

}  // namespace sgdsim

// Two experiments field by field. What differs says of which kind a change is.
#include "study/advise/own_change.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "models/strategy/strategy.h"
#include "sim/core/error.h"
#include "sim/core/foreign_json.h"
#include "study/step/collective_field.h"

namespace sgdsim {
namespace {

using KindList = std::vector<ChangeKind>;

void add_kind(KindList& kinds, ChangeKind kind) {
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
}

Json member_of(const Json& json, const std::string& name) {
  return json.is_object() && json.contains(name) ? json[name] : Json();
}

std::set<std::string> names_in_either(const Json& one, const Json& other) {
  std::set<std::string> names;
  for (const Json* json : {&one, &other})
    if (json->is_object())
      for (const auto& [name, value] : json->items()) names.insert(name);
  return names;
}

template <std::size_t count>
bool is_among(const std::string& name, const std::array<std::string_view, count>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// ---- the cluster: all of it has to be bought, but for what programs do and what no step reads

constexpr std::array<std::string_view, 5> words_of_cluster = {"schema", "name", "description",
                                                              "source", "gpu"};
constexpr std::array<std::string_view, 6> programs_of_cluster = {
    "network", "sharing", "window", "acknowledgements", "start", "nccl"};

ChangeKind kind_of_part(const std::string& field) {
  if (field == "bandwidth" || field == "per_byte" || field == "oversubscription")
    return ChangeKind::bandwidth;
  if (field == "latency") return ChangeKind::latency;
  return field == "nodes" ? ChangeKind::nodes : ChangeKind::hardware;
}

void add_hardware(KindList& kinds, const std::string& field, const Json& before,
                  const Json& after) {
  if (before == after) return;
  if (before.is_object() && after.is_object()) {
    for (const std::string& name : names_in_either(before, after))
      add_hardware(kinds, name, member_of(before, name), member_of(after, name));
  } else if (before.is_array() && after.is_array() && before.size() == after.size()) {
    for (std::size_t i = 0; i < before.size(); ++i) add_hardware(kinds, field, before[i], after[i]);
  } else {
    add_kind(kinds, kind_of_part(field));
  }
}

void add_cluster(KindList& kinds, const Json& before, const Json& after) {
  for (const std::string& field : names_in_either(before, after)) {
    const Json then = member_of(before, field);
    const Json now = member_of(after, field);
    if (then == now || is_among(field, words_of_cluster)) continue;
    if (is_among(field, programs_of_cluster))
      add_kind(kinds, ChangeKind::own);
    else
      add_hardware(kinds, field, then, now);
  }
}

// ---- the other parts

// "ddp" as {"name": "ddp"}; that of the experiment where none is given.
Json strategy_in(const Json& json, const Experiment& experiment) {
  const Json strategy = json.value("strategy", Json(experiment.strategy.name));
  return strategy.is_object() ? strategy : Json({{"name", strategy}});
}

void add_strategy(KindList& kinds, const Json& before, const Json& after) {
  if (before == after) return;
  const bool is_same = text_member(before, "name") == text_member(after, "name");
  add_kind(kinds, is_same ? ChangeKind::buckets : ChangeKind::strategy);
}

// The algorithm that is named, or that is usual; none where costs or servers are given.
std::string algorithm_in(const Json& json, const Experiment& experiment) {
  const Json collective = json.value("collective", Json::object());
  if (gives_costs(json) || !collective.is_object() || collective.contains("parameter_server"))
    return "";
  return collective.contains("algorithm") ? text_member(collective, "algorithm")
                                          : experiment.collective;
}

void add_collective(KindList& kinds, const Json& before, const Json& after,
                    const Experiment& experiment) {
  const Json then = before.value("collective", Json::object());
  const Json now = after.value("collective", Json::object());
  const std::string former = algorithm_in(before, experiment);
  const std::string algorithm = algorithm_in(after, experiment);
  if (!former.empty() && !algorithm.empty() && former != algorithm)
    return add_kind(kinds, ChangeKind::algorithm);
  for (const std::string& field : names_in_either(then, now)) {
    if (member_of(then, field) == member_of(now, field)) continue;
    const bool is_named = field == "algorithm" && !algorithm.empty() && former == algorithm;
    if (is_named) continue;  // as is usual here
    add_kind(kinds, field == "per_byte"   ? ChangeKind::bandwidth
                    : field == "start_up" ? ChangeKind::latency
                                          : ChangeKind::own);
  }
}

void add_trace(KindList& kinds, const Json& before, const Json& after) {
  for (const std::string& field : names_in_either(before, after))
    if (member_of(before, field) != member_of(after, field))
      add_kind(kinds, kind_of_field("trace." + field));
}

KindList kinds_between(const Json& before, const Json& after, const Experiment& experiment) {
  KindList kinds;
  add_strategy(kinds, strategy_in(before, experiment), strategy_in(after, experiment));
  add_collective(kinds, before, after, experiment);
  constexpr std::array<std::string_view, 4> parts = {"strategy", "collective", "cluster", "trace"};
  for (const std::string& field : names_in_either(before, after)) {
    if (is_among(field, parts) || member_of(before, field) == member_of(after, field)) continue;
    add_kind(kinds, kind_of_field(field));
  }
  add_cluster(kinds, member_of(before, "cluster"), member_of(after, "cluster"));
  add_trace(kinds, member_of(before, "trace"), member_of(after, "trace"));
  if (kinds.empty()) kinds = {ChangeKind::own};
  return kinds;
}

}  // namespace

ChangeKind kind_of_field(const std::string& path) {
  const std::string part = path.substr(0, path.find('.'));
  if (part == "compression") return ChangeKind::compression;
  if (part == "synchronization") return ChangeKind::staleness;
  if (part == "accumulation" || path == "trace.batch") return ChangeKind::batch;
  return path == "trace.compute_scale" ? ChangeKind::compute : ChangeKind::own;
}

Change with_kinds(Change own, const ResolvedExperiment& base, const Experiment& experiment,
                  const std::vector<Change>& known) {
  try {
    const Json after = with_settings(base, own.settings).json;
    own.kinds = kinds_between(base.json, after, experiment);
    own.is_bound = is_bound(text_member(strategy_in(after, experiment), "name")) &&
                   !is_bound(experiment.strategy.name);
    for (const Change& change : known) {
      if (with_settings(base, change.settings).json != after) continue;
      own.kinds = change.kinds;
      own.how = change.how;
      own.assumes = change.assumes;
    }
  } catch (const InputError&) {
    // Whoever plays it is told why it cannot be.
  }
  return own;
}

}  // namespace sgdsim

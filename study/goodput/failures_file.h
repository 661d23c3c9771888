// What fails how often: a source that ships, or a file of schema sgdsim/failures/1.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/goodput/player.h"
#include "sim/core/fields.h"
#include "study/layout/shipped.h"

namespace sgdsim {

std::span<const ShippedFile> shipped_failures();

// Whose failures a rate counts.
enum class FailureUnit : uint8_t { gpu, node, link, leaf, job };
inline constexpr Named<FailureUnit, 5> failure_units{{{"gpu", FailureUnit::gpu},
                                                      {"node", FailureUnit::node},
                                                      {"link", FailureUnit::link},
                                                      {"leaf", FailureUnit::leaf},
                                                      {"job", FailureUnit::job}}};
inline const auto& names_of(FailureUnit) { return failure_units; }
FailureUnit failure_unit_named(const std::string& name, const std::string& where);

struct FailureCause {
  std::string name;
  FailureUnit unit = FailureUnit::node;
  double per_day = 0;  // of one unit
  int64_t events = 0;  // that were counted; 0: only the rate is known
  double shape = 1;    // of a Weibull law
  std::vector<double> at_s = {};
  goodput::Effect effect = goodput::Effect::stop;
  double factor = 1;
  bool is_simulated = false;  // the factor: a step with what is degraded
  double lasts_s = 0;
  bool lasts_varies = true;
  std::optional<double> detect_s = {};
  std::optional<double> repair_s = {};
  bool needs_node = false;
  bool memory_survives = true;
};

// Units that fail too often to be like the others: their part of all units, and of all failures.
struct LemonShare {
  double of_units = 0;
  double of_failures = 0;
};
Fields fields_of(LemonShare& share);

struct FailureSource {
  std::string name;
  std::string description;
  int64_t gpus_per_node = 8;
  bool says_gpus_per_node = false;
  double observed_unit_days = 0;  // 0: not said
  std::optional<LemonShare> lemons = {};
  std::vector<FailureCause> causes;
};

// The machine whose units fail.
struct FailingMachine {
  int64_t nodes = 1;
  int64_t gpus_per_node = 8;
  int64_t links_per_node = 0;  // 0: not said
  int64_t nodes_per_leaf = 0;  // 0: not said
};

// How a cause is dealt with where it does not say.
struct FailureDefaults {
  double detect_s = 0;
  double repair_s = 0;
  double rate_factor = 1;
};

// How many times as long a step takes with what a cause says is `degraded`.
using DegradedFactor = std::function<double(const Value& degraded)>;

inline constexpr char failures_schema[] = "sgdsim/failures/1";
Json schema_of_failures();
FailureSource read_failures(const Value& value, const DegradedFactor& factor = {});
// The text behind the name of one that ships, or the name of a file.
Document failures_document(const Value& name);
// A name of these, or the source itself.
FailureSource load_failures(const Value& value, const DegradedFactor& factor = {});
// How many times as often a node of the machine fails as one of the source: as many as it has times
// the GPUs, where the source says how many its nodes have, and counts failures of nodes. What is
// counted by GPU, link, leaf or job is the same on any node, and recorded times stay.
double node_size(const FailureSource& source, const FailingMachine& machine);
// InputError names the field `where` if a cause counts units of which the machine says nothing.
std::vector<goodput::Cause> causes_on(const FailureSource& source, const FailingMachine& machine,
                                      const FailureDefaults& defaults, const std::string& where);
// Stops and corruptions per node and day, those of leaves and links included where the machine has
// them.
double stops_per_node_day(const std::vector<goodput::Cause>& causes, int64_t nodes);

}  // namespace sgdsim

// What `sgdsim goodput` is asked: a training, a machine that fails, saves, restarts, and what all
// that costs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/goodput/player.h"
#include "sim/core/json.h"
#include "study/goodput/failures_file.h"

namespace sgdsim {

// What the job does when something stops it.
enum class FailurePolicy : uint8_t { restart, shrink };
inline constexpr Named<FailurePolicy, 2> failure_policies{
    {{"restart", FailurePolicy::restart}, {"shrink", FailurePolicy::shrink}}};
inline const auto& names_of(FailurePolicy) { return failure_policies; }

struct PowerUse {
  double busy_W = 0;  // of a GPU that computes
  double idle_W = 0;  // of one that does not
  double node_W = 0;  // further, of a node
  double pue = 1;     // what the building takes for each W of the machine
  std::optional<double> kg_per_kWh = {};
};
Fields fields_of(PowerUse& use);

struct GoodputQuestion {
  std::string name;
  goodput::Plan plan;
  bool wants_best_interval = false;
  bool saves_by_copy = false;  // their times follow from bytes and rates
  FailingMachine machine;
  FailureSource source;
  FailureDefaults defaults;
  std::optional<double> until_s = {};
  double risk = 0.01;  // that spares are not enough
  int64_t runs = 10'000;
  uint64_t seed = 1;
  std::string formula = {};  // an approximation to be told beside the answer
  std::optional<double> gpu_hour = {};
  std::optional<PowerUse> power = {};
  std::string step_from = {};  // where the step is simulated; empty: a number
  std::vector<std::string> step_notes = {};
  bool has_other_samples = false;         // a step, than the experiment's has
  std::vector<std::string> assumed = {};  // what the question did not say

  int64_t gpus() const { return machine.nodes * machine.gpus_per_node; }
  int64_t spare_gpus() const { return plan.spares.value_or(0) * machine.gpus_per_node; }
  double work_s() const { return plan.work_s(); }
  double interval_s() const { return plan.interval_s(); }
};

// InputError with file, field and what to type, also for runs that would never end.
// `look`: called now and then while a step is simulated; what it throws ends that.
GoodputQuestion read_goodput_question(const Value& value, const std::function<void()>& look = {});
Json schema_of_goodput_questions();

// Sets it where the question leaves it open.
void choose_interval(GoodputQuestion& question);

}  // namespace sgdsim

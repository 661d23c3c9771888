// What `sgdsim goodput` is asked: a training, a machine that fails, saves, restarts, and what all
// that costs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/goodput/closed_forms.h"
#include "models/goodput/player.h"
#include "sim/core/json.h"
#include "study/goodput/failures_file.h"

namespace sgdsim {

struct PowerUse {
  double busy_W = 0;  // of a GPU that computes
  double idle_W = 0;  // of one that does not
  double node_W = 0;  // further, of a node
  double pue = 1;     // what the building takes for each W of the machine
  std::optional<double> kg_per_kWh = {};
};

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
  std::string step_from = {};             // where the step is simulated; empty: a number
  std::vector<std::string> assumed = {};  // what the question did not say

  int64_t gpus() const { return machine.nodes * machine.gpus_per_node; }
  double work_s() const { return static_cast<double>(plan.steps) * plan.step_s; }
  double interval_s() const { return static_cast<double>(plan.interval) * plan.step_s; }
};

// InputError with file, field and what to type, also for runs that would never end.
GoodputQuestion read_goodput_question(const Value& value);

// ---- what formulas say of a plan

// The mean time between failures that stop the job; longest where there are none.
double mean_to_stop_s(const goodput::Plan& plan);
// Nodes that fail and are repaired, each by itself, in the long run.
struct NodesDown {
  double part = 0;      // of all nodes
  double mean = 0;      // nodes
  double repair_s = 0;  // the mean
};
NodesDown nodes_down_of(const goodput::Plan& plan);
// Whether there are so few spares that it hardly ever runs.
bool waits_for_ever(const goodput::Plan& plan);
// Ways in which it goes down, where nodes need not be waited for.
goodput::Downtimes downtimes_of(const goodput::Plan& plan);
// Does the formula hold exactly for this plan?
bool has_closed_form(const goodput::Plan& plan);
double closed_form_s(const goodput::Plan& plan);
// The best number of whole steps between saves: that of the exact formula.
int64_t best_interval_steps(const goodput::Plan& plan);
// Is each save durable before the next, and does it end in sensible time? The same that a question
// is refused for.
bool can_save_and_end(const goodput::Plan& plan);
// Sets it where the question leaves it open.
void choose_interval(GoodputQuestion& question);

}  // namespace sgdsim

// What becomes of a training that fails: its end, its hours, its cost, and what would help.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/goodput/runs.h"
#include "study/goodput/goodput_question.h"
#include "study/goodput/intervals.h"
#include "study/goodput/plan_formulas.h"

namespace sgdsim {

struct DeadlineAnswer {
  double until_s = 0;
  double late = 0;
  double standard_error = 0;
  bool by_strata = false;              // else runs were counted
  std::optional<double> at_most = {};  // where none of them was late
};
Fields fields_of(const DeadlineAnswer& o);

struct SparesAnswer {
  double mean_down = 0;  // nodes
  int64_t spares = 0;    // so that more are down with at most this risk
  double risk = 0;
};
Fields fields_of(const SparesAnswer& o);

// A percent more of it makes the time so many percent longer.
struct Lever {
  std::string field;
  std::string now;
  double elasticity = 0;
  double error = 0;  // of Monte Carlo; 0 by formula
};
Fields fields_of(const Lever& o);

// The same training with the failures of another machine.
struct SourceAnswer {
  std::string name;
  double per_node_day = 0;
  double wall_s = 0;  // infinite: it would not end
  double productive = 0;
};
Fields fields_of(const SourceAnswer& o);

struct CostAnswer {
  double gpu_hours = 0;
  std::optional<double> money = {};
  std::optional<double> kWh = {};
  std::optional<double> kg = {};
};

struct FormulaAnswer {
  std::string name;
  double interval_s = 0;
  std::optional<double> productive = {};  // RSC's only
};
Fields fields_of(const FormulaAnswer& o);

struct GoodputAnswer {
  goodput::Runs runs;
  std::optional<double> closed_form_s = {};
  double mean_to_stop_s = 0;
  double per_node_day = 0;
  std::optional<IntervalAdvice> interval = {};
  std::vector<IntervalEnd> intervals;            // around the best one
  std::vector<goodput::Progress> progress = {};  // from the start to the longest run's end
  std::optional<DeadlineAnswer> deadline = {};
  std::optional<SparesAnswer> spares = {};
  std::vector<Lever> levers;  // the strongest first
  std::vector<SourceAnswer> sources;
  CostAnswer cost;
  std::optional<FormulaAnswer> formula = {};
  std::vector<std::string> warnings = {};
};

// Nothing where no node has to be repaired.
std::optional<SparesAnswer> spares_for(const GoodputQuestion& question);

// Of a question with `until`, by runs of it.
DeadlineAnswer meet_deadline(const GoodputQuestion& question, const goodput::Runs& runs,
                             int threads, const std::function<void()>& look);
// Spares wait from start to end, whichever nodes they are.
CostAnswer cost_of(const GoodputQuestion& question, const goodput::Runs& runs);

GoodputAnswer answer_goodput(GoodputQuestion question, int threads,
                             const std::function<void()>& look);

}  // namespace sgdsim

// When a training ends on a machine that fails, where somebody else than the question of `sgdsim
// goodput` knows the step, the work and the nodes: a layout, or an experiment.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/json.h"
#include "sim/core/units.h"
#include "study/goodput/goodput_answer.h"

namespace sgdsim {

struct TrainingEnd {
  double days = 0;
  double productive = 0;  // part of them
  double interval_s = 0;  // of work, between saves
  double stall_s = 0;     // of each save
  std::optional<double> cost = {};
  // Of questions with `power` and `until`, by runs.
  std::optional<double> kWh = {};
  std::optional<double> kg = {};
  std::optional<DeadlineAnswer> deadline = {};
};
// What it says beyond the days, as ", 1.2e+06 kWh"; empty: nothing.
std::string beyond_days(const TrainingEnd& end);
Fields fields_of(const TrainingEnd& end);

class FailingTraining {
 public:
  // A field that somebody else knows, so that the question must not say it.
  struct Known {
    const char* field;
    Json value;       // null: known, and not a field of the whole question
    std::string who;  // "the layout"
  };

  // A file, or JSON itself. InputError where it says what others know.
  FailingTraining(std::string file_or_json, const std::vector<Known>& known);
  // With a step of this time and further fields, as of `--set`.
  GoodputQuestion question(Duration step, const std::vector<std::string>& settings = {}) const;
  // By formula where one holds, else the mean of some hundred runs, which what `look` throws ends.
  TrainingEnd end(Duration step, const std::vector<std::string>& settings = {},
                  const std::function<void()>& look = {}) const;
  // The command that asks the same.
  std::string command(Duration step, const std::vector<std::string>& settings = {}) const;

  // Whether a replica that fails is left out, and the question does not say of how many.
  bool needs_replicas() const;
  // Whether saves take what they have to copy, and the question does not say how much that is.
  bool needs_bytes() const;
  // Where there is room; how much, the question does not say either.
  bool keeps_copies_on_gpus() const;
  const Json& json() const { return json_; }  // but the step
  const std::string& file() const { return file_; }

 private:
  // Saves that are copied; null where the question says how long that takes.
  Json copied() const;
  std::vector<std::string> with_step(Duration step, const std::vector<std::string>& settings) const;

  std::string asked_;
  Json json_;
  std::string file_;
  std::vector<std::string> settings_;  // that make the question whole
};

}  // namespace sgdsim

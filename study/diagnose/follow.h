// A job that is watched: its records as they come, a line a step, and an alarm that names the part.
#pragma once

#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "models/diagnose/alarm.h"
#include "study/diagnose/compare_answer.h"

namespace sgdsim {

class Follower {
 public:
  Follower(const PredictedSteps& prediction, const diagnose::AlarmRule& rule, std::ostream& out)
      : prediction_(prediction), alarm_(rule), rule_(rule), out_(out) {}

  // The steps of a record; true if one of them raised the alarm.
  bool add(FoundRecord found);
  int64_t steps() const { return static_cast<int64_t>(numbers_.size()); }
  bool has_alarm() const { return !alarm_text_.empty(); }
  const std::string& alarm_text() const { return alarm_text_; }
  void print_prometheus(std::ostream& out) const;

 private:
  bool add_step(const diagnose::StepTimes& step);
  int64_t first_since() const;  // the alarm's sum last was 0: the number of that step
  std::string blamed() const;

  const PredictedSteps& prediction_;
  diagnose::Alarm alarm_;
  diagnose::AlarmRule rule_;
  std::ostream& out_;
  DiagnoseAnswer names_;                     // of workers and parts
  std::vector<diagnose::Part> causes_;       // what can be blamed
  std::vector<double> usual_;                // of each, summed over the reference
  std::vector<std::vector<double>> recent_;  // since the alarm's sum last was 0
  double last_s_ = 0;
  std::vector<int64_t> numbers_;  // of all steps
  std::string alarm_text_;
};

// Files of the folder that are records or profiles' folders, by name, without those that were seen.
std::vector<std::string> new_files(const std::string& folder, std::set<std::string>& seen);

}  // namespace sgdsim

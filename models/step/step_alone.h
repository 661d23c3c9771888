// A step that has its network to itself, iteration by iteration. What repeats is not simulated
// again: where nothing is drawn anew and nothing else is on the network, what follows an iteration
// of which no message is under way any more follows from the state of the workers. Once that is
// what it was a period before, only later, all that is to come goes as what came in between.
#pragma once

#include <optional>
#include <vector>

#include "models/step/jobs_in_time.h"

namespace sgdsim {

class StepAlone {
 public:
  // `shares_ports`: see JobsQuestion.
  StepAlone(const StepQuestion& question, const StepSoFar& so_far, bool shares_ports);

  // To be asked for in order.
  IterationTimes times_of(int iteration);

  // Simulates what follows the last iteration that was asked for, and returns how many that are:
  // then nothing is under way. None if they repeat.
  int finish();

  // As JobsInTime has them; what was not simulated counts.
  std::vector<double> carried_B() const;
  Time now() const { return step_.now() + skipped(); }
  Time end() const { return step_.end() + skipped(); }
  std::shared_ptr<const PacketReport> packets() const { return step_.packets(); }
  std::optional<Time> end_of_traffic() const { return step_.end_of_traffic(); }

  // The iteration behind which everything repeats, if that was seen.
  std::optional<int> repeats_behind() const { return repeats_behind_; }

 private:
  struct Simulated {
    std::optional<std::vector<int64_t>> state;
    std::vector<double> carried_B;
    Time now;
  };
  StepAlone(const StepQuestion& question, const JobsQuestion& alone);
  static bool may_repeat(const StepQuestion& question);
  int64_t periods_skipped() const;
  Duration skipped() const;

  JobsInTime step_;
  bool may_repeat_;
  int behind_ = 0;     // iterations that are not asked for
  int period_ = 1;     // iterations, of which the last sends something
  int asked_for_ = 0;  // the last iteration
  Simulated before_;   // a period before the last one that was simulated
  Simulated last_;
  std::optional<int> repeats_behind_;
  IterationTimes repeated_;  // of that iteration
};

}  // namespace sgdsim

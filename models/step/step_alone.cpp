// When a step repeats.
#include "models/step/step_alone.h"

#include <algorithm>
#include <utility>

namespace sgdsim {

StepAlone::StepAlone(const StepQuestion& question, const StepSoFar& so_far, bool shares_ports)
    : StepAlone(question, [&] {
        JobsQuestion alone = alone_in_time(question, so_far);
        alone.shares_ports = shares_ports;
        return alone;
      }()) {}

StepAlone::StepAlone(const StepQuestion& question, const JobsQuestion& alone)
    : step_(alone),
      may_repeat_(may_repeat(question)),
      behind_(alone.jobs.front().goes_on ? iterations_behind(question) : 0) {
  if (const PipelineRule* pipeline = pipeline_rule(question)) period_ = pipeline->every;
}

bool StepAlone::may_repeat(const StepQuestion& question) {
  const Compression* compression = question.cost.compression();
  const PipelineRule* pipeline = pipeline_rule(question);
  return !question.workers.is_random() && !question.carrier && !question.meanwhile.any() &&
         !plans_anew(question) && (compression == nullptr || compression->densities.size() <= 1) &&
         (pipeline == nullptr || pipeline->synchronous <= 1);
}

IterationTimes StepAlone::times_of(int iteration) {
  asked_for_ = iteration;
  if (repeats_behind_) {
    if ((iteration - *repeats_behind_) % period_ != 0) return {};
    IterationTimes times = repeated_;
    for (ExchangeTimes& one : times) {
      for (Time& start : one.starts) start += skipped();
      for (Time& end : one.ends) end += skipped();
    }
    return times;
  }
  IterationTimes times = step_.times_of(0, iteration);
  if (!may_repeat_ || times.empty()) return times;
  before_ = std::exchange(last_, {step_.state_after(0, iteration), step_.carried_B(), step_.now()});
  if (!last_.state || last_.state != before_.state) return times;
  repeats_behind_ = iteration;
  repeated_ = times;
  return times;
}

int StepAlone::finish() {
  if (repeats_behind_) return 0;
  for (int more = 1; more <= behind_; ++more) step_.times_of(0, asked_for_ + more);
  return behind_;
}

int64_t StepAlone::periods_skipped() const {
  return repeats_behind_ ? (asked_for_ - *repeats_behind_) / period_ : 0;
}

Duration StepAlone::skipped() const {
  return Duration::ps((last_.now - before_.now).ps() * periods_skipped());
}

std::vector<double> StepAlone::carried_B() const {
  std::vector<double> carried_B = step_.carried_B();
  const auto periods = static_cast<double>(periods_skipped());
  for (std::size_t wire = 0; periods > 0 && wire < carried_B.size(); ++wire)
    carried_B[wire] += periods * (last_.carried_B[wire] - before_.carried_B[wire]);
  return carried_B;
}

}  // namespace sgdsim

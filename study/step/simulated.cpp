// What `sgdsim run` asks of a step.
#include "study/step/simulated.h"

#include "sim/core/error.h"
#include "sim/core/number_list.h"
#include "sim/net/stuck.h"
#include "study/step/timeline_json.h"

namespace sgdsim {

StepResult simulated(const Experiment& experiment, Timeline* timeline, Stopper* stopper) {
  try {
    StepQuestion question = experiment.question();
    question.timeline = timeline;
    question.wants_reason = true;
    question.stopper = stopper;
    StepResult result = simulate_step(question);
    if (timeline != nullptr) clip_waiting(*timeline);
    return result;
  } catch (const NetworkStuck&) {
    throw;
  } catch (const InputError& error) {
    throw InputError(experiment.file, error.what());
  }
}

namespace {

// Forward and backward of each layer; messages come on top. As many as of a layout are shown.
void check_size(const Timeline& timeline, const Experiment& experiment) {
  constexpr double most_passes = 2e6;
  const double iterations = timeline.last_iteration - timeline.first_iteration + 1;
  const double passes = 2 * static_cast<double>(experiment.trace.layers.size()) * iterations *
                        static_cast<double>(timeline.workers.size());
  if (passes <= most_passes) return;
  throw InputError("--timeline-workers",
                   "a timeline of " + std::to_string(timeline.workers.size()) + " workers and " +
                       std::to_string(static_cast<int64_t>(iterations)) +
                       (iterations == 1 ? " iteration" : " iterations") +
                       " has more than 2 million passes of layers, the most that are shown; choose "
                       "fewer, as --timeline-workers 0-7 --timeline-iterations " +
                       std::to_string(experiment.warm_up));
}

}  // namespace

Timeline timeline_of(const Experiment& experiment, const std::string& workers,
                     const std::string& iterations) {
  Timeline timeline;
  timeline.workers =
      parse_numbers(workers, experiment.cluster.network.workers(), "--timeline-workers", "worker");
  timeline.first_iteration = timeline.last_iteration = experiment.warm_up;
  if (iterations.empty()) {
    check_size(timeline, experiment);
    return timeline;
  }
  const std::vector<int> chosen = parse_numbers(
      iterations, experiment.warm_up + experiment.iterations, "--timeline-iterations", "iteration");
  timeline.first_iteration = chosen.front();
  timeline.last_iteration = chosen.back();
  if (chosen.size() != static_cast<std::size_t>(chosen.back() - chosen.front()) + 1)
    throw InputError("--timeline-iterations", "\"" + iterations +
                                                  "\" leaves some out; a timeline is of one "
                                                  "range, as " +
                                                  std::to_string(chosen.front()) + "-" +
                                                  std::to_string(chosen.back()));
  check_size(timeline, experiment);
  return timeline;
}

}  // namespace sgdsim

// Action by action.
#include "models/step/step_in_time.h"

#include <algorithm>

#include "models/step/jobs_in_time.h"
#include "models/step/step_now.h"
#include "sim/core/error.h"
#include "sim/core/scaled.h"

namespace sgdsim {

StepInTime::StepInTime(const StepQuestion& question)
    : question_(&question),
      pipeline_(pipeline_rule(question)),
      plan_(profiled_plan(question, question.cost)),
      traced_(backward_work(*question.trace)),
      shares_(gradient_shares(*question.trace)),
      fixed_(fixed_factors(question.workers, workers())) {
  check_plan(question, plan_);
  if (const std::string why = JobsInTime::why_not(question, plan_); !why.empty())
    throw InputError("", "jobs that share a network are played without " + why);
  for (const PlannedMessage& message : plan_.messages)
    encoded_.push_back(question.cost.encoded(message.group()));
  const std::vector<Layer>& layers = question.trace->layers;
  for (std::size_t l = 0; plan_.bsp_broadcasts && l < layers.size(); ++l) {
    const int layer = static_cast<int>(l);
    encoded_.push_back(question.broadcast.encoded({layers[l].gradient, layer, layer}));
  }
  make(exchanging_, pipeline_ != nullptr ? pipeline_->synchronous : 0, true);
  make(first_, -1, true);
  make(alone_, 0, false);
}

const MessageCost& StepInTime::cost_of(std::size_t message) const {
  if (message >= plan_.messages.size()) return question_->broadcast;
  return plan_.bsp_broadcasts ? question_->reduce : question_->cost;
}

Freight StepInTime::freight_of(std::size_t message) const {
  const std::size_t sums = plan_.messages.size();
  const bool is_parameters =
      message >= sums || (pipeline_ != nullptr && pipeline_->averages_parameters);
  const double layer =
      message < sums ? plan_.messages[message].first_layer : static_cast<double>(message - sums);
  return {.depth = layer / static_cast<double>(question_->trace->layers.size()),
          .cargo = is_parameters ? Cargo::parameters : Cargo::gradients};
}

const StepInTime::Graph& StepInTime::graph_of(int iteration) const {
  if (!exchanges(iteration)) return alone_;
  return pipeline_ != nullptr && iteration + 1 < pipeline_->synchronous ? first_ : exchanging_;
}

void StepInTime::make(Graph& graph, int iteration, bool sends) const {
  make_step_graph({.trace = question_->trace,
                   .plan = &plan_,
                   .pipeline = pipeline_,
                   .iteration = iteration,
                   .exchanges = sends,
                   .compressed = question_->cost.compression() != nullptr,
                   .together = true},
                  graph.step);
  graph.actions.resize(messages());
  const std::span<const Action> actions = graph.step.graph.actions();
  for (uint32_t number = 0; number < actions.size(); ++number) {
    const Action& action = actions[number];
    if (action.stream != network_stream) continue;
    const std::size_t first = first_message(action);
    for (int i = action.first; i <= action.last; ++i)
      graph.actions[first + static_cast<std::size_t>(i - action.first)] = number;
  }
}

WorkerInTime::WorkerInTime(const StepInTime& step, int number, Time start)
    : step_(&step), number_(number), computed_(start), loaded_(start), sent_(start) {
  waits_.resize(step.exchanging_.step.graph.places());
  start_iteration();
}

void WorkerInTime::start_iteration() {
  const StepQuestion& question = *step_->question_;
  graph_ = &step_->graph_of(iteration_);
  next_ = 0;
  next_wait_ = 0;
  if (!work_.forward.empty() && !question.workers.is_random()) return;
  work_ = draw_work(*question.trace, step_->traced_, question.workers,
                    step_->fixed_[static_cast<std::size_t>(number_)],
                    {question.seed, number_, iteration_});
}

std::size_t WorkerInTime::go_on() {
  const std::size_t before = to_send.size();
  while (iteration_ < step_->iterations()) {
    const std::span<const Action> actions = graph_->step.graph.actions();
    while (next_ < actions.size() && play(actions[next_])) ++next_;
    if (next_ < actions.size()) break;
    left_decompress_ = decompress();
    left_update_ = scaled(step_->question_->trace->update, work_.factor);
    ++iteration_;
    start_iteration();
  }
  return to_send.size() - before;
}

// For the actions that wait for this one.
template <class Change>
void WorkerInTime::change_waits(uint32_t action, int iteration, const Change& change) {
  const std::span<const WorkGraph::Release> all = step_->graph_of(iteration).step.graph.releases();
  auto release = std::lower_bound(
      all.begin(), all.end(), action,
      [](const WorkGraph::Release& one, uint32_t number) { return one.from < number; });
  for (; release != all.end() && release->from == action; ++release)
    change(waits_[release->to.place(static_cast<uint32_t>(iteration) + release->ahead)]);
}

// False if it has to wait for messages.
bool WorkerInTime::play(const Action& action) {
  const std::span<const WorkGraph::Waits> all = graph_->step.graph.waits();
  Wait* wait = nullptr;
  if (next_wait_ < all.size() && all[next_wait_].action == next_)
    wait = &waits_[all[next_wait_].place(static_cast<uint32_t>(iteration_))];
  if (wait != nullptr && wait->missing > 0) return false;
  if (action.follows == network_stream && under_way_ > 0) return false;
  Time ready;
  if (action.follows == network_stream) ready = sent_;
  if (action.follows == compute_stream) ready = computed_;
  if (wait != nullptr) {
    ready = std::max(ready, wait->until);
    *wait = {};
    ++next_wait_;
  }
  if (action.stream == network_stream) {
    send(action, ready);
    return true;
  }
  Time& stream = action.stream == loader_stream ? loaded_ : computed_;
  stream = std::max(stream, ready) + work_of(action);
  change_waits(next_, iteration_, [&](Wait& it) { it.until = std::max(it.until, stream); });
  return true;
}

void WorkerInTime::send(const Action& action, Time ready) {
  const std::size_t first = step_->first_message(action);
  const int count = action.last - action.first + 1;
  to_send.push_back({first, first + static_cast<std::size_t>(count) - 1, iteration_, ready});
  under_way_ += count;
  change_waits(next_, iteration_, [&](Wait& wait) { wait.missing += count; });
}

void WorkerInTime::end(std::size_t message, int iteration, Time now) {
  --under_way_;
  sent_ = now;
  change_waits(step_->graph_of(iteration).actions[message], iteration, [&](Wait& wait) {
    --wait.missing;
    wait.until = std::max(wait.until, now);
  });
}

Duration WorkerInTime::decompress() const {
  Duration sum;
  for (const Encoded& encoded : step_->encoded_) sum += scaled(encoded.decompress, work_.factor);
  return sum;
}

Duration WorkerInTime::work_of(const Action& action) const {
  const Trace& trace = *step_->question_->trace;
  const bool is_late = step_->plan_.gate == Gate::per_layer;
  const auto first = static_cast<std::size_t>(action.first);
  Duration length;
  switch (action.activity) {
    case Activity::forward:
      for (int l = action.first; l <= action.last; ++l)
        length += work_.forward[static_cast<std::size_t>(l)];
      return length;
    case Activity::backward:
      for (int l = action.first; l <= action.last; ++l)
        length += work_.backward[static_cast<std::size_t>(l)];
      return length;
    case Activity::compress:
      return scaled(step_->encoded_[first].compress, work_.factor);
    case Activity::decompress:
      return is_late ? scaled(left_decompress_, step_->shares_[first]) : decompress();
    case Activity::update:
      return is_late ? scaled(left_update_, step_->shares_[first])
                     : scaled(trace.update, work_.factor);
    case Activity::load:
      return trace.load;
    case Activity::begin:
    case Activity::message:
    case Activity::broadcast:
    case Activity::waiting:
      return length;
  }
  return length;
}

}  // namespace sgdsim

// Action by action.
#include "models/step/step_in_time.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/scaled.h"

namespace sgdsim {

int iterations_behind(const StepQuestion& question) {
  const PipelineRule* pipeline = pipeline_rule(question);
  return pipeline == nullptr ? 1 : std::max(pipeline->width, pipeline->every);
}

StepInTime::StepInTime(const StepQuestion& question, const StepSoFar& so_far, bool goes_on)
    : question_(&question),
      pipeline_(pipeline_rule(question)),
      first_iteration_(so_far.iteration),
      traced_(backward_work(*question.trace)),
      parts_(*question.trace),
      fixed_(fixed_factors(question.workers, workers())),
      exchange_(question.cluster->network) {
  if (goes_on) behind_ = iterations_behind(question);
  if (const Compression* compression = question.cost.compression())
    for (std::size_t i = 1; i < compression->densities.size(); ++i)
      other_costs_.push_back(question.cost.at_density(compression->densities[i].density));
  if (plans_anew(question)) {
    replanner_.emplace(question, so_far.wakes);
    planned_iteration_ = first_iteration_ - 1;
    has_cycles_ = true;
    take({}, question.cost, planned_.emplace_back());
    return;
  }
  for (std::size_t i = 0; i <= other_costs_.size(); ++i) {
    GradientPlan plan = profiled_plan(question, cost_at(i));
    check_plan(question, plan);
    take(std::move(plan), cost_at(i), planned_.emplace_back());
  }
}

// What its messages are made into, and when they go.
void StepInTime::take(GradientPlan plan, const MessageCost& cost, Planned& planned) {
  planned.plan = std::move(plan);
  planned.encoded = encoded_messages(planned.plan, cost);
  const bool broadcasts = planned.plan.bsp_broadcasts;
  const bool has_programs = cost.is_algorithm();
  planned.sent.clear();
  for (const Encoded& sums : planned.encoded)
    if (has_programs)
      planned.sent.push_back(exchange_.joined(broadcasts ? question_->reduce : cost, sums));
  const std::vector<Layer>& layers = question_->trace->layers;
  for (std::size_t l = 0; broadcasts && l < layers.size(); ++l) {
    const int layer = static_cast<int>(l);
    planned.encoded.push_back(question_->broadcast.encoded({layers[l].gradient, layer, layer}));
    if (has_programs)
      planned.sent.push_back(exchange_.joined(question_->broadcast, planned.encoded.back()));
  }
  for (const PlannedMessage& message : planned.plan.messages)
    has_cycles_ = has_cycles_ || message.not_before > Duration();
  make(planned, planned.exchanging, pipeline_ != nullptr ? pipeline_->synchronous : 0, true);
  if (pipeline_ == nullptr) return;
  make(planned, planned.first, -1, true);
  make(planned, planned.alone, 0, false);
}

void StepInTime::begins(int iteration, const WorkerWork& work, Time start) {
  if (replanner_) replanner_->begins(work, start);
  if (!has_cycles_) return;
  const auto place = static_cast<std::size_t>(iteration);
  if (place >= origins_.size()) origins_.resize(place + 1, Time::last());
  origins_[place] = std::min(origins_[place], start);
}

// All workers have ended the messages of the iteration before. What they have done of this one is
// the same for all plans: it has begun.
bool StepInTime::plan_anew() {
  if (!replanner_ || replanner_->begun() < workers()) return false;
  const MessageCost& cost = cost_at(density_step(++planned_iteration_));
  GradientPlan plan = replanner_->plan(cost);
  assert(plan.order == Order::first_ready && plan.gate == Gate::all && plan.bsp == BspForm::none);
  take(std::move(plan), cost, planned_.front());
  return true;
}

std::size_t StepInTime::density_step(int iteration) const {
  if (other_costs_.empty()) return 0;
  return density_step_at(question_->cost.compression()->densities,
                         std::max(0, iteration - question_->warm_up));
}

Freight StepInTime::freight_of(int iteration, std::size_t message) const {
  const std::vector<PlannedMessage>& sums = planned(iteration).plan.messages;
  const bool is_parameters =
      message >= sums.size() || (pipeline_ != nullptr && pipeline_->averages_parameters);
  const double layer = message < sums.size() ? sums[message].first_layer
                                             : static_cast<double>(message - sums.size());
  return {.depth = layer / static_cast<double>(question_->trace->layers.size()),
          .cargo = is_parameters ? Cargo::parameters : Cargo::gradients};
}

Time StepInTime::not_before(int iteration, std::size_t message) const {
  if (!has_cycles_) return {};
  return origins_[static_cast<std::size_t>(iteration)] +
         planned(iteration).plan.messages[message].not_before;
}

const StepInTime::Graph& StepInTime::graph_of(int iteration) const {
  const Planned& it = planned(iteration);
  if (!exchanges(iteration)) return it.alone;
  return pipeline_ != nullptr && iteration + 1 < pipeline_->synchronous ? it.first : it.exchanging;
}

void StepInTime::make(const Planned& planned, Graph& graph, int iteration, bool sends) const {
  make_step_graph({.trace = question_->trace,
                   .plan = &planned.plan,
                   .pipeline = pipeline_,
                   .iteration = iteration,
                   .exchanges = sends,
                   .compressed = question_->cost.compression() != nullptr,
                   .together = true},
                  graph.step);
  graph.actions.resize(planned.encoded.size());
  const std::span<const Action> actions = graph.step.graph.actions();
  for (uint32_t number = 0; number < actions.size(); ++number) {
    const Action& action = actions[number];
    if (action.stream != network_stream) continue;
    const std::size_t first = first_message(planned.plan, action);
    for (int i = action.first; i <= action.last; ++i)
      graph.actions[first + static_cast<std::size_t>(i - action.first)] = number;
  }
}

void StepInTime::add_state(int iteration, Time now, std::vector<int64_t>& state) const {
  for (auto i = static_cast<std::size_t>(iteration) + 1; i < origins_.size(); ++i)
    state.push_back((origins_[i] - now).ps());
}

WorkerInTime::WorkerInTime(StepInTime& step, int number, Time start)
    : step_(&step),
      number_(number),
      iteration_(step.first_iteration()),
      computed_(start),
      loaded_(start),
      sent_(start) {
  waits_.resize(step.graph_of(iteration_).step.graph.places());
  start_iteration();
  // As many updates as iterations: that behind the last one is played before the first.
  if (iteration_ == 0) left_update_ = scaled(step.question().trace->update, work_.factor);
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
  while (iteration_ < step_->all_iterations()) {
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

void WorkerInTime::add_state(int iteration, Time now, std::vector<int64_t>& state) const {
  const auto add = [&](Time time) { state.push_back((time - now).ps()); };
  state.insert(state.end(), {iteration_ - iteration, int64_t{next_}, left_decompress_.ps(),
                             left_update_.ps(), int64_t{parts_left_}});
  add(computed_);
  add(sent_);
  if (step_->question().trace->load > Duration()) add(loaded_);
  if (has_part()) add(due());
  for (const WorkGraph::Waits& waits : graph_->step.graph.waits())
    for (uint32_t ring = 0; ring < waits.rings; ++ring) {
      const Wait& wait = waits_[waits.place(static_cast<uint32_t>(iteration_) + ring)];
      state.push_back(wait.missing);
      if (wait.until > Time()) add(wait.until);
    }
  for (const MessagesToSend& message : to_send) {
    state.push_back(static_cast<int64_t>(message.first));
    add(message.ready);
  }
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

// False if it has to wait: for messages, for its plan, or for what it computes.
bool WorkerInTime::play(const Action& action) {
  if (has_part()) return false;
  if (next_ > graph_->step.begin && !step_->is_planned(iteration_)) return false;
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
  const bool is_load = action.stream == loader_stream;
  const Time start = std::max(is_load ? loaded_ : computed_, ready);
  const Duration work = work_of(action);
  if (!is_load && work > Duration() && step_->question().interference != 1) {
    start_parts(action, start);
    return false;
  }
  finish(action, start + work);
  return true;
}

void WorkerInTime::finish(const Action& action, Time end) {
  (action.stream == loader_stream ? loaded_ : computed_) = end;
  if (action.activity == Activity::begin) step_->begins(iteration_, work_, end);
  change_waits(next_, iteration_, [&](Wait& it) { it.until = std::max(it.until, end); });
}

void WorkerInTime::start_parts(const Action& action, Time start) {
  const bool is_pass =
      action.activity == Activity::forward || action.activity == Activity::backward;
  parts_left_ = is_pass ? action.last - action.first + 1 : 1;
  begins_ = start;
}

void WorkerInTime::turn(Time now, bool is_slow) {
  if (!part_) {
    if (begins_ > now) return;
    const Action& action = graph_->step.graph.actions()[next_];
    const int layer = action.activity == Activity::backward ? action.first + parts_left_ - 1
                                                            : action.last - parts_left_ + 1;
    part_.emplace(begins_, work_of_layer(action, layer), step_->question().interference);
  }
  part_->turn(now, is_slow);
}

void WorkerInTime::end_part(Time now) {
  part_.reset();
  begins_ = now;
  if (--parts_left_ > 0) return;
  finish(graph_->step.graph.actions()[next_], now);
  ++next_;
}

void WorkerInTime::send(const Action& action, Time ready) {
  const std::size_t first = StepInTime::first_message(step_->plan(iteration_), action);
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
  for (const Encoded& encoded : step_->planned(iteration_).encoded)
    sum += scaled(encoded.decompress, work_.factor);
  return sum;
}

// Of a pass: of one of its layers.
Duration WorkerInTime::work_of_layer(const Action& action, int layer) const {
  const auto place = static_cast<std::size_t>(layer);
  if (action.activity == Activity::forward) return work_.forward[place];
  if (action.activity == Activity::backward) return work_.backward[place];
  return work_of(action);
}

Duration WorkerInTime::work_of(const Action& action) const {
  const Trace& trace = *step_->question_->trace;
  const StepInTime::Planned& planned = step_->planned(iteration_);
  const bool is_late = planned.plan.gate == Gate::per_layer;
  const auto first = static_cast<std::size_t>(action.first);
  Duration length;
  switch (action.activity) {
    case Activity::forward:
    case Activity::backward:
      for (int l = action.first; l <= action.last; ++l) length += work_of_layer(action, l);
      return length;
    case Activity::compress:
      return scaled(planned.encoded[first].compress, work_.factor);
    case Activity::decompress:
      return is_late ? step_->parts_.of(left_decompress_, first) : decompress();
    case Activity::update:
      return is_late ? step_->parts_.of(left_update_, first) : scaled(trace.update, work_.factor);
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

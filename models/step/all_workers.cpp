// Message fidelity: every worker has its own clock, every message of every collective is played.
//
// Messages go in the order of the plan. A worker enters a collective when its gradients are ready
// and it has left the one before; the collective's program then moves everybody's clock. Memory is
// per worker: arrays of clocks, and one program per message of the plan, which is small.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <queue>

#include "models/step/compute.h"
#include "models/step/step.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

struct Span {
  Time start, end;
};

struct WorkerState {
  Time start;  // of the iteration
  Time forward_end;
  Time backward_now;  // as far as backward has been played
  Time last_end;      // of the messages so far
  Duration communication;
  Duration waiting;
  Duration update;
  Duration forward_work;
  BusyTimes busy;
};

class AllWorkers {
 public:
  explicit AllWorkers(const StepQuestion& question)
      : question_(question),
        trace_(*question.trace),
        network_(question.cluster->network),
        work_(backward_work(trace_)),
        fixed_(fixed_factors(question.workers, network_.workers())) {
    const bool alike = question.workers.all_alike();
    // One entry stands for all workers as long as all are at the same point.
    states_.resize(alike ? 1 : fixed_.size());
    allowed_.resize(states_.size());
  }

  StepResult run();

 private:
  int workers() const { return network_.workers(); }
  bool alike() const { return states_.size() == 1 && workers() > 1; }
  void expand();
  template <class F>
  void record(const F& slice_of);
  void start_iteration(int iteration);
  void plan_messages();
  std::vector<Time> ready_of(const PlannedMessage& message);
  void exchange(const PlannedMessage& message, std::vector<Time>& channel,
                const std::vector<Time>& ready, Time earliest);
  std::vector<Time> play_message(Bytes size, const std::vector<Time>& starts);
  void play_in_order();
  void play_by_priority();
  Breakdown breakdown_of(const WorkerState& state, Time next_start) const;
  void finish_iteration(bool measured);

  const StepQuestion& question_;
  const Trace& trace_;
  const Network& network_;
  std::vector<Duration> work_;
  std::vector<double> fixed_;
  std::vector<WorkerState> states_;
  std::vector<std::vector<Duration>> allowed_;     // per worker and layer, after its start
  std::vector<std::vector<Span>> forward_;         // per layer and worker; only for the timeline
  std::vector<std::vector<Duration>> layer_work_;  // per worker, if its factor is not 1
  std::vector<std::vector<Time>> complete_;        // per worker and layer; gate per layer only
  std::map<int64_t, Program> programs_;            // by message size
  GradientPlan plan_;
  bool planned_ = false;
  int next_layer_ = 0;
  int iteration_ = 0;
  int channel_ = 0;  // that the current message uses
  Time origin_;      // of the iteration: its first worker's start
  Time last_iteration_end_;
  std::vector<MessageRecord> records_;
  Traffic traffic_;
  PathTaken path_ = PathTaken::none;
  StepResult result_;
  std::vector<Breakdown> sums_;
};

// From one that stands for all to all.
void AllWorkers::expand() {
  if (!alike()) return;
  states_.resize(static_cast<std::size_t>(workers()), states_.front());
  allowed_.resize(states_.size(), allowed_.front());
  if (!complete_.empty()) complete_.resize(states_.size(), complete_.front());
  if (!layer_work_.empty()) layer_work_.resize(states_.size(), layer_work_.front());
  if (!sums_.empty()) sums_.resize(states_.size(), sums_.front());
}

StepResult AllWorkers::run() {
  const int count = question_.warm_up + question_.iterations;
  for (int iteration = 0; iteration < count; ++iteration) {
    start_iteration(iteration);
    plan_messages();
    if (plan_.bsp != BspForm::none)
      throw InputError("", "bsp_lp is a closed form; use fidelity closed_form");
    if (plan_.order == Order::priority)
      play_by_priority();
    else
      play_in_order();
    finish_iteration(iteration >= question_.warm_up);
  }
  result_.messages = std::move(records_);
  result_.message_count = traffic_.messages;
  result_.wire_B = traffic_.wire_B;
  result_.path = name_of(path_);
  Breakdown total;
  for (const Breakdown& sum : sums_) {
    result_.workers.push_back(sum / question_.iterations);
    total += result_.workers.back();
  }
  result_.mean = total / static_cast<int64_t>(sums_.size());
  return std::move(result_);
}

Duration scaled(Duration length, double factor) {
  return factor == 1 ? length
                     : Duration::ps(std::llrint(static_cast<double>(length.ps()) * factor));
}

// Adds a slice for every worker that the timeline wants; `slice_of` gets its place in states_.
template <class F>
void AllWorkers::record(const F& slice_of) {
  if (question_.timeline == nullptr || !question_.timeline->wants(iteration_)) return;
  for (const int worker : question_.timeline->workers) {
    Slice slice = slice_of(states_.size() == 1 ? std::size_t{0} : static_cast<std::size_t>(worker));
    slice.worker = worker;
    slice.iteration = iteration_;
    question_.timeline->add(slice);
  }
}

// Draws this iteration's factors and plays the forward passes.
void AllWorkers::start_iteration(int iteration) {
  iteration_ = iteration;
  const std::size_t layers = work_.size();
  layer_work_.resize(states_.size());
  origin_ = Time::last();
  const bool recorded = question_.timeline != nullptr && question_.timeline->wants(iteration);
  forward_.assign(recorded ? layers : 0, std::vector<Span>(states_.size()));
  for (std::size_t i = 0; i < states_.size(); ++i) {
    WorkerState& state = states_[i];
    WorkerFactors factors(question_.workers, fixed_[i], question_.seed, static_cast<int>(i),
                          iteration);
    Time now = state.start;
    state.forward_work = Duration();
    for (std::size_t l = 0; l < layers; ++l) {
      if (!allowed_[i].empty()) now = std::max(now, state.start + allowed_[i][l]);
      const Duration work = scaled(trace_.layers[l].forward, factors.next_layer());
      state.forward_work += work;
      now += work;
      if (forward_.size() == layers) forward_[l][i] = {now - work, now};
    }
    state.forward_end = state.backward_now = now;
    layer_work_[i].resize(layers);
    for (std::size_t l = layers; l-- > 0;)
      layer_work_[i][l] = scaled(work_[l], factors.next_layer());
    state.update = scaled(trace_.update, factors.of_iteration());
    state.last_end = state.start;
    state.communication = state.waiting = Duration();
    state.busy.clear();
    origin_ = std::min(origin_, state.start);
  }
  next_layer_ = static_cast<int>(layers) - 1;
  records_.clear();
  traffic_ = {};
  for (std::size_t l = 0; l < forward_.size(); ++l)
    record([&](std::size_t i) {
      return Slice{.activity = Activity::forward,
                   .index = static_cast<int>(l),
                   .size = {},
                   .start = forward_[l][i].start,
                   .end = forward_[l][i].end};
    });
}

// The plan depends on when gradients are ready on the last worker, without any interference.
void AllWorkers::plan_messages() {
  if (planned_ && !question_.strategy->replans) return;
  std::vector<Duration> ready(work_.size());
  if (question_.strategy->replans) {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      Time now = states_[i].forward_end;
      for (std::size_t l = work_.size(); l-- > 0;) {
        now += layer_work_[i][l];
        ready[l] = std::max(ready[l], now - origin_);
      }
    }
  } else {  // as profiled: from the trace
    Duration now = trace_.forward();
    for (std::size_t l = work_.size(); l-- > 0;) ready[l] = now += work_[l];
  }
  plan_ = question_.strategy->plan({trace_, question_.cost, ready});
  planned_ = true;
}

// When each worker has all gradients of a message.
std::vector<Time> AllWorkers::ready_of(const PlannedMessage& message) {
  std::vector<Time> begin(states_.size());
  for (; next_layer_ >= message.first_layer; --next_layer_) {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      WorkerState& state = states_[i];
      const Duration work = layer_work_[i][static_cast<std::size_t>(next_layer_)];
      begin[i] = state.backward_now;
      if (question_.interference == 1) {
        state.backward_now += work;
      } else {
        const Duration since = state.backward_now - Time();
        state.backward_now = Time() + state.busy.finish(since, work, question_.interference);
      }
    }
    record([&](std::size_t i) {
      return Slice{.activity = Activity::backward,
                   .index = next_layer_,
                   .size = trace_.layers[static_cast<std::size_t>(next_layer_)].gradient,
                   .start = begin[i],
                   .end = states_[i].backward_now};
    });
  }
  std::vector<Time> ready(states_.size());
  for (std::size_t i = 0; i < states_.size(); ++i) ready[i] = states_[i].backward_now;
  return ready;
}

// Where the cost is a constant or a curve, a message takes it from the moment the last one is
// there.
std::vector<Time> AllWorkers::play_message(Bytes size, const std::vector<Time>& starts) {
  if (!question_.cost.is_algorithm()) {
    const Time last = *std::max_element(starts.begin(), starts.end());
    return std::vector<Time>(starts.size(), last + question_.cost.of(size));
  }
  auto [place, is_new] = programs_.try_emplace(size.count());
  if (is_new) {
    Job job = question_.cost.job();
    job.share.total = size;
    place->second = schedule_of(*question_.cost.algorithm(), job);
  }
  PlayOptions options;
  options.alpha = question_.cost.job().options.alpha;
  std::vector<Time> all = starts;
  if (alike()) all.assign(static_cast<std::size_t>(workers()), starts.front());
  Played played = play(place->second, network_, options, std::move(all));
  traffic_.messages += played.traffic.messages;
  traffic_.wire_B += played.traffic.wire_B;
  path_ = std::max(path_, played.path);
  return std::move(played.ends);
}

void AllWorkers::exchange(const PlannedMessage& message, std::vector<Time>& channel,
                          const std::vector<Time>& ready, Time earliest) {
  std::vector<Time> starts(ready.size());
  for (std::size_t i = 0; i < ready.size(); ++i)
    starts[i] = std::max({ready[i], channel[i], earliest});
  const std::vector<Time> ends = play_message(message.size, starts);
  const Time everybody = *std::max_element(starts.begin(), starts.end());
  const bool one_end = ends.size() == 1;
  if (!one_end) {
    expand();
    starts.resize(ends.size(), starts.front());
    channel.resize(ends.size(), channel.front());
  }
  Time last_end;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    WorkerState& state = states_[i];
    const Time end = one_end ? ends.front() : ends[i];
    const Duration waits = std::min(everybody, end) - starts[i];
    state.waiting += waits;
    state.communication += end - starts[i] - waits;
    state.busy.add(starts[i] + waits - Time(), end - Time());
    state.last_end = std::max(state.last_end, end);
    channel[i] = end;
    last_end = std::max(last_end, end);
    if (complete_.empty()) continue;
    for (int l = message.first_layer; l <= message.last_layer; ++l) {
      Time& complete = complete_[i][static_cast<std::size_t>(l)];
      complete = std::max(complete, end);
    }
  }
  auto slice_of = [&](Activity activity, Time start, Time end) {
    return Slice{.activity = activity,
                 .channel = channel_,
                 .index = static_cast<int>(records_.size()),
                 .first_layer = message.first_layer,
                 .last_layer = message.last_layer,
                 .size = message.size,
                 .start = start,
                 .end = end};
  };
  record([&](std::size_t i) {
    return slice_of(Activity::waiting, starts[i], std::min(everybody, channel[i]));
  });
  record([&](std::size_t i) {
    return slice_of(Activity::message, std::min(everybody, channel[i]), channel[i]);
  });
  const Time last_ready = *std::max_element(ready.begin(), ready.end());
  records_.push_back({message.first_layer, message.last_layer, message.size, last_ready - origin_,
                      everybody - origin_, last_end - origin_});
}

void AllWorkers::play_in_order() {
  const PlannedMessage everything{0, 0, {}, {}, 0};
  if (plan_.after_backward) ready_of(everything);
  std::vector<std::vector<Time>> channels(static_cast<std::size_t>(question_.channels));
  std::size_t turn = 0;
  for (const PlannedMessage& message : plan_.messages) {
    channel_ = static_cast<int>(turn++ % channels.size());
    std::vector<Time>& channel = channels[static_cast<std::size_t>(channel_)];
    const std::vector<Time> ready = ready_of(message);
    channel.resize(ready.size(), channel.empty() ? Time() : channel.front());
    exchange(message, channel, ready, origin_ + message.not_before);
  }
  ready_of(everything);
}

// One coordinator decides for all: the most urgent message that is ready everywhere when the
// channel is free on the last worker. Messages within the credit are committed ahead.
void AllWorkers::play_by_priority() {
  if (question_.interference != 1)
    throw InputError("", "interference is not defined for strategies that go by priority");
  complete_.assign(states_.size(), std::vector<Time>(work_.size()));
  std::vector<std::vector<Time>> ready;
  std::vector<Time> ready_everywhere;
  for (const PlannedMessage& message : plan_.messages) {
    ready.push_back(ready_of(message));
    ready_everywhere.push_back(*std::max_element(ready.back().begin(), ready.back().end()));
  }
  ready_of({0, 0, {}, {}, 0});
  using Urgent = std::pair<int, std::size_t>;
  std::priority_queue<Urgent, std::vector<Urgent>, std::greater<>> waiting;
  std::queue<std::pair<Time, Bytes>> committed;
  std::vector<Time> channel(states_.size());
  Bytes in_flight;
  Time now;
  std::size_t next = 0;
  while (next < ready.size() || !waiting.empty()) {
    for (; next < ready.size() && ready_everywhere[next] <= now; ++next)
      waiting.push({plan_.messages[next].priority, next});
    for (; !committed.empty() && committed.front().first <= now; committed.pop())
      in_flight = in_flight - committed.front().second;
    while (!waiting.empty()) {
      const std::size_t index = waiting.top().second;
      const PlannedMessage& message = plan_.messages[index];
      if (!committed.empty() && in_flight + message.size > plan_.credit) break;
      waiting.pop();
      std::vector<Time>& there = ready[index];
      there.resize(states_.size(), there.front());
      exchange(message, channel, there, now);
      committed.push({*std::max_element(channel.begin(), channel.end()), message.size});
      in_flight += message.size;
    }
    Time wake = Time::last();
    if (next < ready.size()) wake = ready_everywhere[next];
    if (!waiting.empty() && !committed.empty()) wake = std::min(wake, committed.front().first);
    if (wake == Time::last()) break;
    now = wake;
  }
}

// Where the worker's time went, up to the start of its next iteration.
Breakdown AllWorkers::breakdown_of(const WorkerState& state, Time next_start) const {
  Breakdown one;
  one.forward = state.forward_work;
  one.backward = state.backward_now - state.forward_end;
  one.communication = state.communication;
  one.waiting = state.waiting;
  if (plan_.gate == Gate::all) one.update = state.update;
  one.exposed = next_start - state.start - one.forward - one.backward - one.update;
  if (plan_.gate == Gate::all) {
    const Duration backward_end = state.backward_now - Time();
    one.overlapped = state.busy.within(state.start - Time(), backward_end);
    one.idle = one.exposed - state.busy.within(backward_end, Duration::longest()) - one.waiting;
  } else {  // the rest of the messages goes on into the next forward
    one.overlapped = one.communication - std::min(one.communication, one.exposed);
    one.idle = one.exposed - one.communication - one.waiting;
  }
  one.idle = std::max(Duration(), one.idle);
  return one;
}

void AllWorkers::finish_iteration(bool measured) {
  const auto total_B = static_cast<double>(std::max<int64_t>(1, trace_.gradient().count()));
  if (measured) sums_.resize(states_.size(), sums_.empty() ? Breakdown() : sums_.front());
  Time end;
  if (plan_.gate == Gate::all)
    record([&](std::size_t i) {
      const Time begin = std::max(states_[i].last_end, states_[i].backward_now);
      return Slice{.activity = Activity::update,
                   .size = {},
                   .start = begin,
                   .end = begin + states_[i].update};
    });
  for (std::size_t i = 0; i < states_.size(); ++i) {
    WorkerState& state = states_[i];
    Time next_start;
    if (plan_.gate == Gate::all) {
      next_start = std::max(std::max(state.last_end, state.backward_now) + state.update,
                            state.start + trace_.load);
    } else {  // an iteration reaches from one backward end to the next
      next_start = state.backward_now;
      allowed_[i].resize(work_.size());
      for (std::size_t l = 0; l < work_.size(); ++l) {
        const double share = static_cast<double>(trace_.layers[l].gradient.count()) / total_B;
        const Time there = complete_[i][l] + scaled(state.update, share);
        allowed_[i][l] = std::max(Duration(), there - next_start);
      }
    }
    if (measured) sums_[i] += breakdown_of(state, next_start);
    state.start = next_start;
    end = std::max(end, next_start);
  }
  if (measured) result_.iterations.push_back(end - last_iteration_end_);
  last_iteration_end_ = end;
}

}  // namespace

StepResult simulate_all_workers(const StepQuestion& question) { return AllWorkers(question).run(); }

StepResult simulate_step(const StepQuestion& question) {
  if (question.trace->layers.empty()) throw InputError("", "the trace has no layers");
  if (question.fidelity == Fidelity::message) return simulate_all_workers(question);
  if (question.workers.is_random()) throw InputError("", "random workers need fidelity message");
  return simulate_representative(question);
}

}  // namespace sgdsim

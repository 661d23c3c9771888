// Closed form: one worker stands for all, a message costs its formula.
//
// With alike workers nothing changes from one iteration to the next, except where the next forward
// starts before all messages have ended. There the forward of the steady state is longer, and
// everything after it is the same, only later: every message has ended when the forward has.
#include <algorithm>
#include <array>
#include <utility>

#include "models/step/bsp.h"
#include "models/step/compute.h"
#include "models/step/priority.h"
#include "models/step/step.h"

namespace sgdsim {
namespace {

class Representative {
 public:
  explicit Representative(const StepQuestion& question)
      : question_(question),
        trace_(*question.trace),
        work_(backward_work(trace_)),
        cost_(question.cost),
        reduce_(question.reduce) {
    double slowest = 1;
    const int workers = question.cluster->network.workers();
    const std::vector<double> factors = fixed_factors(question.workers, workers);
    slowest = *std::max_element(factors.begin(), factors.end());
    for (Duration& work : work_) work = scaled(work, slowest);
    for (const Layer& layer : trace_.layers) forward_.push_back(scaled(layer.forward, slowest));
    update_ = scaled(trace_.update, slowest);
  }

  StepResult run() {
    StepResult result;
    play_iteration();
    if (question_.timeline != nullptr) fill(*question_.timeline);
    result.iterations.assign(static_cast<std::size_t>(question_.iterations), iteration_);
    result.mean = breakdown_;
    result.workers = {breakdown_};
    result.messages = std::move(records_);
    result.path = "formula";
    return result;
  }

 private:
  void play_iteration();
  void play_in_order(Duration forward_end);
  void play_by_priority(Duration forward_end);
  void play_bsp();
  Duration record(const PlannedMessage& message, Duration ready, Duration start);
  Duration cost_of(Bytes size);
  void finish_iteration(Duration forward_end);
  std::vector<Duration> forward_starts() const;
  void fill(Timeline& timeline) const;

  const StepQuestion& question_;
  const Trace& trace_;
  std::vector<Duration> work_;
  std::vector<Duration> forward_;
  Duration update_;
  GradientPlan plan_;
  std::vector<Duration> complete_;  // when each layer's messages have ended
  std::vector<MessageRecord> records_;
  BusyTimes busy_;
  Duration backward_end_;
  std::vector<Duration> backward_ends_;  // of each layer
  std::vector<Slice> in_turn_;           // BSP: computation and broadcasts, for the timeline
  Duration last_message_end_;
  Duration communication_;
  Duration iteration_;
  Breakdown breakdown_;
  RepeatedCost cost_;
  RepeatedCost reduce_;
  std::array<CostSample, 2> recent_{};
};

// Pieces of one size follow each other, with the rest of a layer in between: two costs are kept.
Duration Representative::cost_of(Bytes size) {
  if (size != recent_[0].size) {
    std::swap(recent_[0], recent_[1]);
    if (size != recent_[0].size) {
      const Bytes on_channel = size * question_.channels;
      recent_[0] = {size, (plan_.bsp_broadcasts ? reduce_ : cost_).of(on_channel)};
    }
  }
  return recent_[0].time;
}

Duration Representative::record(const PlannedMessage& message, Duration ready, Duration start) {
  const Duration end = start + cost_of(message.size);
  records_.push_back({message.first_layer, message.last_layer, message.size, ready, start, end});
  for (int l = message.first_layer; l <= message.last_layer; ++l) {
    Duration& complete = complete_[static_cast<std::size_t>(l)];
    complete = std::max(complete, end);
  }
  if (plan_.gate == Gate::all && plan_.bsp == BspForm::none) busy_.add(start, end);
  communication_ += end - start;
  last_message_end_ = std::max(last_message_end_, end);
  return end;
}

void Representative::play_iteration() {
  complete_.assign(work_.size(), Duration());
  Duration forward_end;
  for (const Duration length : forward_) forward_end += length;
  std::vector<Duration> ready(work_.size());
  Duration now = forward_end;
  for (std::size_t l = work_.size(); l-- > 0;) ready[l] = now += work_[l];
  plan_ = question_.strategy->plan({trace_, question_.cost, ready});
  check_plan(question_, plan_);
  records_.reserve(plan_.messages.size());
  if (plan_.bsp != BspForm::none)
    play_bsp();
  else if (plan_.order == Order::priority)
    play_by_priority(forward_end);
  else
    play_in_order(forward_end);
  finish_iteration(forward_end);
}

void Representative::play_in_order(Duration forward_end) {
  Backward backward(work_, question_.interference);
  backward.start(forward_end);
  std::vector<Duration> channel_free(static_cast<std::size_t>(question_.channels));
  if (plan_.after_backward) backward.ready(0, busy_);
  std::size_t turn = 0;
  for (const PlannedMessage& message : plan_.messages) {
    const Duration ready = backward.ready(message.first_layer, busy_);
    Duration& channel = channel_free[turn++ % channel_free.size()];
    channel = record(message, ready, std::max({ready, channel, message.not_before}));
  }
  backward_end_ = backward.ready(0, busy_);
  backward_ends_ = backward.ends();
}

void Representative::play_by_priority(Duration forward_end) {
  Backward backward(work_, 1);
  backward.start(forward_end);
  std::vector<Duration> ready;
  ready.reserve(plan_.messages.size());
  for (const PlannedMessage& message : plan_.messages)
    ready.push_back(backward.ready(message.first_layer, busy_));
  backward_end_ = backward.ready(0, busy_);
  backward_ends_ = backward.ends();
  Duration channel_free;
  send_by_priority(plan_, ready, Duration::longest(), [&](std::size_t index, Duration now) {
    return channel_free = record(plan_.messages[index], ready[index], std::max(now, channel_free));
  });
}

// Where messages go on in the next forward, each layer waits for its own of the iteration before,
// which ended some time after that one's backward, and for its share of the update.
std::vector<Duration> Representative::forward_starts() const {
  const auto total_B = static_cast<double>(std::max<int64_t>(1, trace_.gradient().count()));
  std::vector<Duration> starts(forward_.size());
  Duration now;
  for (std::size_t l = 0; l < forward_.size(); ++l) {
    if (plan_.gate == Gate::per_layer) {
      const double share = static_cast<double>(trace_.layers[l].gradient.count()) / total_B;
      const Duration there = complete_[l] + scaled(update_, share);
      now = std::max(now, there - backward_end_);
    }
    starts[l] = now;
    now += forward_[l];
  }
  return starts;
}

void Representative::finish_iteration(Duration forward_end) {
  const bool in_turn = plan_.bsp != BspForm::none;
  Duration backward = backward_end_ - forward_end;
  if (in_turn) {  // it waits for messages between its layers
    backward = Duration();
    for (const Duration work : work_) backward += work;
  }
  breakdown_ = {.forward = forward_end,
                .backward = backward,
                .update = update_,
                .communication = communication_,
                .waiting = {},
                .exposed = {},
                .overlapped = {},
                .idle = {}};
  if (plan_.gate == Gate::all) {
    const Duration end = std::max(backward_end_, last_message_end_);
    iteration_ = std::max(end + update_, trace_.load);
  } else {  // an iteration reaches from one backward end to the next
    const Duration later = forward_starts().back() + forward_.back() - forward_end;
    iteration_ = backward_end_ + later;
    for (Duration& end : backward_ends_) end += later;
    for (MessageRecord& message : records_) {
      message.ready += later;
      message.start += later;
      message.end += later;
    }
    breakdown_.update = {};
  }
  breakdown_.exposed = iteration_ - breakdown_.forward - breakdown_.backward - breakdown_.update;
  if (plan_.gate == Gate::all && !in_turn) {
    breakdown_.overlapped = busy_.within(Duration(), backward_end_);
    breakdown_.idle =
        iteration_ - update_ - backward_end_ - busy_.within(backward_end_, Duration::longest());
  } else {  // messages go on in the forward
    breakdown_.overlapped = communication_ - std::min(communication_, breakdown_.exposed);
    breakdown_.idle = breakdown_.exposed - std::min(communication_, breakdown_.exposed);
  }
}

// One iteration of the steady state, the same for every worker that is wanted.
void Representative::fill(Timeline& timeline) const {
  std::vector<Slice> slices = in_turn_;
  if (plan_.bsp == BspForm::none) {
    const std::vector<Duration> starts = forward_starts();
    for (std::size_t l = 0; l < starts.size(); ++l)
      slices.push_back({.activity = Activity::forward,
                        .index = static_cast<int>(l),
                        .size = {},
                        .start = Time() + starts[l],
                        .end = Time() + starts[l] + forward_[l]});
    Duration begin = starts.back() + forward_.back();
    for (std::size_t l = starts.size(); l-- > 0; begin = backward_ends_[l])
      slices.push_back({.activity = Activity::backward,
                        .index = static_cast<int>(l),
                        .size = trace_.layers[l].gradient,
                        .start = Time() + begin,
                        .end = Time() + backward_ends_[l]});
  }
  for (std::size_t i = 0; i < records_.size(); ++i)
    slices.push_back({.activity = Activity::message,
                      .channel = static_cast<int>(i) % question_.channels,
                      .index = static_cast<int>(i),
                      .first_layer = records_[i].first_layer,
                      .last_layer = records_[i].last_layer,
                      .size = records_[i].size,
                      .start = Time() + records_[i].start,
                      .end = Time() + records_[i].end});
  if (plan_.gate == Gate::all) {
    const Duration begin = std::max(backward_end_, last_message_end_);
    slices.push_back({.activity = Activity::update,
                      .size = {},
                      .start = Time() + begin,
                      .end = Time() + begin + update_});
  }
  for (const int worker : timeline.workers)
    for (Slice slice : slices) {
      slice.worker = worker;
      slice.iteration = timeline.first_iteration;
      timeline.add(slice);
    }
}

// Parameters broadcast from a root layer by layer, or gradients reduced to all.
void Representative::play_bsp() {
  struct Moves {
    Representative& own;
    std::vector<Duration> ready;
    Duration forward(int l, Duration now) const {
      return drawn(Activity::forward, l, now, now + own.forward_[place(l)]);
    }
    Duration backward(int l, Duration now) {
      const Duration end = drawn(Activity::backward, l, now, now + own.work_[place(l)]);
      return ready[place(l)] = own.backward_end_ = end;
    }
    Duration broadcast(int l, Duration now) const {
      if (!own.plan_.bsp_broadcasts) return now;
      const Duration cost = own.question_.broadcast.of(own.trace_.layers[place(l)].gradient);
      own.communication_ += cost;
      return drawn(Activity::broadcast, l, now, now + cost);
    }
    Duration reduce(int l, Duration now) const {
      const PlannedMessage& message = own.plan_.messages[own.work_.size() - 1 - place(l)];
      return own.record(message, ready[place(l)], now);
    }
    static Duration later(Duration a, Duration b) { return std::max(a, b); }
    Duration drawn(Activity activity, int l, Duration start, Duration end) const {
      if (own.question_.timeline != nullptr)
        own.in_turn_.push_back({.activity = activity,
                                .index = l,
                                .first_layer = l,
                                .last_layer = l,
                                .size = own.trace_.layers[place(l)].gradient,
                                .start = Time() + start,
                                .end = Time() + end});
      return end;
    }
    static std::size_t place(int l) { return static_cast<std::size_t>(l); }
  };
  Moves moves{*this, std::vector<Duration>(work_.size())};
  sgdsim::play_bsp(plan_.bsp, static_cast<int>(work_.size()), Duration(), moves);
}

}  // namespace

StepResult simulate_representative(const StepQuestion& question) {
  return Representative(question).run();
}

}  // namespace sgdsim

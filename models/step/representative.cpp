// Closed form: one worker stands for all, a message costs its formula.
//
// With alike workers nothing changes from one iteration to the next, except where the next forward
// starts before all messages have ended; then iterations are played until they repeat.
#include <algorithm>
#include <cmath>
#include <queue>

#include "models/step/bsp.h"
#include "models/step/compute.h"
#include "models/step/step.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

Duration scaled(Duration length, double factor) {
  return factor == 1 ? length
                     : Duration::ps(std::llrint(static_cast<double>(length.ps()) * factor));
}

class Representative {
 public:
  explicit Representative(const StepQuestion& question)
      : question_(question), trace_(*question.trace), work_(backward_work(trace_)) {
    double slowest = 1;
    const int workers = question.cluster->network.workers();
    const std::vector<double> factors = fixed_factors(question.workers, workers);
    slowest = *std::max_element(factors.begin(), factors.end());
    for (Duration& work : work_) work = scaled(work, slowest);
    for (const Layer& layer : trace_.layers) forward_.push_back(scaled(layer.forward, slowest));
    update_ = scaled(trace_.update, slowest);
    allowed_.assign(work_.size(), Duration());
  }

  StepResult run() {
    StepResult result;
    settle();
    result.iterations.assign(static_cast<std::size_t>(question_.iterations), iteration_);
    result.mean = breakdown_;
    result.workers = {breakdown_};
    result.messages = std::move(records_);
    result.path = "formula";
    return result;
  }

 private:
  void settle();
  void play_iteration();
  void play_in_order(Duration forward_end);
  void play_by_priority(Duration forward_end);
  void play_bsp();
  Duration record(const PlannedMessage& message, Duration ready, Duration start);
  Duration cost_of(Bytes size);
  void finish_iteration(Duration forward_end);

  const StepQuestion& question_;
  const Trace& trace_;
  std::vector<Duration> work_;
  std::vector<Duration> forward_;
  Duration update_;
  GradientPlan plan_;
  bool planned_ = false;
  std::vector<Duration> allowed_;   // when each layer's forward may start
  std::vector<Duration> complete_;  // when each layer's messages have ended
  std::vector<MessageRecord> records_;
  BusyTimes busy_;
  Duration backward_end_;
  Duration last_message_end_;
  Duration communication_;
  Duration iteration_;
  Breakdown breakdown_;
  Bytes last_size_;
  Duration last_cost_;
};

// Pieces of one size follow each other; their cost is looked up once.
Duration Representative::cost_of(Bytes size) {
  if (size != last_size_) {
    last_size_ = size;
    last_cost_ = question_.cost.of(size);
  }
  return last_cost_;
}

Duration Representative::record(const PlannedMessage& message, Duration ready, Duration start) {
  const Duration end = start + cost_of(message.size);
  records_.push_back({message.first_layer, message.last_layer, message.size, ready, start, end});
  for (int l = message.first_layer; l <= message.last_layer; ++l) {
    Duration& complete = complete_[static_cast<std::size_t>(l)];
    complete = std::max(complete, end);
  }
  if (plan_.gate == Gate::all) busy_.add(start, end);
  communication_ += end - start;
  last_message_end_ = std::max(last_message_end_, end);
  return end;
}

// Plays iterations until they repeat. What is carried over into the next one settles after a few;
// where it swings for ever, the hundredth has to do.
void Representative::settle() {
  constexpr int most = 100;
  for (int i = 0; i < most; ++i) {
    const std::vector<Duration> before = allowed_;
    play_iteration();
    if (allowed_ == before) return;
  }
}

void Representative::play_iteration() {
  records_.clear();
  busy_.clear();
  complete_.assign(work_.size(), Duration());
  communication_ = last_message_end_ = Duration();
  breakdown_ = {};
  Duration forward_end;
  for (std::size_t l = 0; l < forward_.size(); ++l)
    forward_end = std::max(forward_end, allowed_[l]) + forward_[l];
  std::vector<Duration> ready(work_.size());
  Duration now = forward_end;
  for (std::size_t l = work_.size(); l-- > 0;) ready[l] = now += work_[l];
  if (!planned_ || question_.strategy->replans)
    plan_ = question_.strategy->plan({trace_, question_.cost, ready});
  planned_ = true;
  records_.reserve(plan_.messages.size());
  if (plan_.bsp != BspForm::none) return play_bsp();
  if (plan_.order == Order::priority)
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
}

void Representative::play_by_priority(Duration forward_end) {
  if (question_.interference != 1)
    throw InputError("", "interference is not defined for strategies that go by priority");
  Backward backward(work_, 1);
  backward.start(forward_end);
  std::vector<Duration> ready;
  for (const PlannedMessage& message : plan_.messages)
    ready.push_back(backward.ready(message.first_layer, busy_));
  backward_end_ = backward.ready(0, busy_);
  using Urgent = std::pair<int, std::size_t>;  // priority, then order of the plan
  std::priority_queue<Urgent, std::vector<Urgent>, std::greater<>> waiting;
  struct Flight {
    Duration end;
    Bytes size;
  };
  std::vector<Flight> committed;  // in the order of their ends
  committed.reserve(ready.size());
  std::size_t landed = 0;  // of them
  Bytes in_flight;
  Duration now;
  Duration channel_free;
  std::size_t next = 0;
  while (next < ready.size() || !waiting.empty()) {
    for (; next < ready.size() && ready[next] <= now; ++next)
      waiting.push({plan_.messages[next].priority, next});
    for (; landed < committed.size() && committed[landed].end <= now; ++landed)
      in_flight = in_flight - committed[landed].size;
    while (!waiting.empty()) {
      const PlannedMessage& message = plan_.messages[waiting.top().second];
      if (landed < committed.size() && in_flight + message.size > plan_.credit) break;
      const std::size_t index = waiting.top().second;
      waiting.pop();
      channel_free = record(message, ready[index], std::max(now, channel_free));
      committed.push_back({channel_free, message.size});
      in_flight += message.size;
    }
    Duration wake = Duration::longest();
    if (next < ready.size()) wake = ready[next];
    if (!waiting.empty() && landed < committed.size()) wake = std::min(wake, committed[landed].end);
    if (wake == Duration::longest()) break;
    now = wake;
  }
}

void Representative::finish_iteration(Duration forward_end) {
  Duration forward;
  for (const Duration length : forward_) forward += length;
  breakdown_ = {.forward = forward,
                .backward = backward_end_ - forward_end,
                .update = update_,
                .communication = communication_,
                .waiting = {},
                .exposed = {},
                .overlapped = {},
                .idle = {}};
  if (plan_.gate == Gate::all) {
    const Duration end = std::max(backward_end_, last_message_end_);
    iteration_ = std::max(end + update_, trace_.load);
    breakdown_.overlapped = busy_.within(Duration(), backward_end_);
    breakdown_.idle =
        iteration_ - update_ - backward_end_ - busy_.within(backward_end_, Duration::longest());
  } else {
    // An iteration reaches from one backward end to the next; a layer is updated when its sum is
    // there, in its share of the update.
    iteration_ = backward_end_;
    const auto total_B = static_cast<double>(std::max<int64_t>(1, trace_.gradient().count()));
    for (std::size_t l = 0; l < allowed_.size(); ++l) {
      const double share = static_cast<double>(trace_.layers[l].gradient.count()) / total_B;
      const Duration there = complete_[l] + scaled(update_, share);
      allowed_[l] = std::max(Duration(), there - backward_end_);
    }
    breakdown_.update = {};
  }
  breakdown_.exposed = iteration_ - breakdown_.forward - breakdown_.backward - breakdown_.update;
  if (plan_.gate != Gate::all) {
    breakdown_.overlapped = communication_ - std::min(communication_, breakdown_.exposed);
    breakdown_.idle = breakdown_.exposed - std::min(communication_, breakdown_.exposed);
  }
}

// One collective at a time, parameters broadcast from a root or gradients reduced to all.
void Representative::play_bsp() {
  const bool root = plan_.bsp_broadcasts;
  if (root && (!question_.broadcast.is_known() || !question_.reduce.is_known()))
    throw InputError("",
                     "bsp_lp with broadcast_reduce needs a collective algorithm that has both "
                     "broadcast and reduce");
  std::vector<BspLayer> layers;
  for (std::size_t l = 0; l < work_.size(); ++l) {
    const Bytes size = trace_.layers[l].gradient;
    layers.push_back({forward_[l], work_[l], root ? question_.broadcast.of(size) : Duration(),
                      (root ? question_.reduce : question_.cost).of(size)});
    communication_ += layers.back().broadcast + layers.back().reduce;
    breakdown_.forward += forward_[l];
    breakdown_.backward += work_[l];
  }
  const BspTimeline line = bsp_timeline(plan_.bsp, layers);
  for (std::size_t l = layers.size(); l-- > 0;)
    records_.push_back({static_cast<int>(l), static_cast<int>(l), trace_.layers[l].gradient,
                        line.ready[l], line.reduce_start[l],
                        line.reduce_start[l] + layers[l].reduce});
  iteration_ = std::max(std::max(line.end, line.backward_end) + update_, trace_.load);
  breakdown_.update = update_;
  breakdown_.communication = communication_;
  breakdown_.exposed = iteration_ - breakdown_.forward - breakdown_.backward - update_;
  breakdown_.overlapped = communication_ - std::min(communication_, breakdown_.exposed);
  breakdown_.idle = breakdown_.exposed - std::min(communication_, breakdown_.exposed);
}

}  // namespace

StepResult simulate_representative(const StepQuestion& question) {
  return Representative(question).run();
}

}  // namespace sgdsim

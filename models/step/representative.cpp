// Closed form: one worker stands for all, a message costs its formula.
//
// With alike workers nothing changes from one iteration to the next, except where the next forward
// starts before all messages have ended. There the forward of the steady state is longer, and
// everything after it is the same, only later: every message has ended when the forward has.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "models/step/bsp.h"
#include "models/step/compute.h"
#include "models/step/priority.h"
#include "models/step/sparsity.h"
#include "models/step/step.h"

namespace sgdsim {
namespace {

class Representative {
 public:
  explicit Representative(const StepQuestion& question)
      : question_(question),
        trace_(*question.trace),
        cost_(&question.cost),
        work_(backward_work(trace_)) {
    const int workers = question.cluster->network.workers();
    const std::vector<double> factors = fixed_factors(question.workers, workers);
    slowest_ = *std::max_element(factors.begin(), factors.end());
    for (Duration& work : work_) work = scaled(work, slowest_);
    for (const Layer& layer : trace_.layers) forward_.push_back(scaled(layer.forward, slowest_));
    update_ = scaled(trace_.update, slowest_);
  }
  // cost_ may point into itself.
  Representative(const Representative&) = delete;
  Representative& operator=(const Representative&) = delete;

  StepResult run();

 private:
  void play_iteration();
  void play_in_order(Duration forward_end);
  void play_by_priority(Duration forward_end);
  void play_bsp();
  struct Sent {
    Bytes size;
    ExchangeTime exchange;
    Duration compress;
    Duration decompress;
  };
  const Sent& sent(const PlannedMessage& message);
  Duration last_spread();
  Duration encode(const PlannedMessage& message, const Sent& sent, Backward& backward);
  Duration record(const PlannedMessage& message, const Sent& sent, Duration ready, Duration start,
                  Duration spread);
  void finish_iteration(Duration forward_end);
  std::vector<Duration> forward_starts(Duration backward);
  void fill(Timeline& timeline) const;

  const StepQuestion& question_;
  const Trace& trace_;
  const MessageCost* cost_;  // at the present density
  std::optional<MessageCost> other_density_;
  double slowest_ = 1;
  std::vector<Duration> work_;
  std::vector<Duration> forward_;
  Duration update_;
  GradientPlan plan_;
  Duration wakes_;                  // see PlanInput
  std::vector<Duration> complete_;  // when each layer's messages have ended
  std::vector<MessageRecord> records_;
  BusyTimes busy_;
  std::vector<Duration> forward_starts_;
  Duration late_decompress_;  // in the next forward
  Duration late_update_;
  Duration backward_end_;
  std::vector<Duration> backward_ends_;  // of each layer
  struct Encoding {
    int layer;
    Bytes size;
    Duration start, end;
  };
  std::vector<Encoding> encodings_;  // between layers of the backward
  std::vector<Slice> in_turn_;       // BSP: computation and broadcasts, for the timeline
  Duration last_message_end_;
  Duration first_spread_;  // of the workers, by the last exchange of the iteration before
  Duration last_spread_;   // by the last exchange
  Duration communication_;
  Duration compress_;
  Duration decompress_;
  Duration iteration_;
  Breakdown breakdown_;
  Sparsity sparsity_;
  Job job_;                        // with everything but the size
  std::array<Sent, 64> recent_{};  // by a hash of the size
};

// Iterations differ only where the density or the plan does.
StepResult Representative::run() {
  StepResult result;
  Sparsity sparsity;
  const Compression* compression = question_.cost.compression();
  const bool replans = question_.strategy->replans;
  for (int done = replans ? -question_.warm_up : 0; done < question_.iterations;) {
    if (changes_density(compression, done))
      cost_ = &other_density_.emplace(
          question_.cost.at_density(density_at(compression->densities, done)));
    if (question_.pause) question_.pause();
    play_iteration();
    wakes_ = plan_.wakes - iteration_;
    if (done < 0) {
      ++done;
      continue;
    }
    const int alike =
        replans ? 1 : iterations_alike(compression, done, question_.iterations - done);
    result.iterations.insert(result.iterations.end(), static_cast<std::size_t>(alike), iteration_);
    sparsity.add(sparsity_, alike);
    result.mean += alike == question_.iterations ? breakdown_ : breakdown_ * alike;
    if (done == 0 && question_.timeline != nullptr) fill(*question_.timeline);
    done += alike;
    if (done == question_.iterations && alike < done) result.mean = result.mean / done;
  }
  result.workers = {result.mean};
  result.messages = std::move(records_);
  result.quality = sparsity.quality();
  result.path = "formula";
  return result;
}

// Layers repeat, and so do their pieces: the costs of some sizes are kept. What a compression makes
// of a message may depend on its layers, too.
const Representative::Sent& Representative::sent(const PlannedMessage& message) {
  const auto size_B = static_cast<uint64_t>(message.size.count());
  Sent& sent = recent_[(size_B * 0x9e3779b97f4a7c15) >> 58U];
  if (cost_->compression() != nullptr || cost_->servers() != nullptr) {
    const Encoded encoded = cost_->encoded(message.group());
    if (cost_->compression() != nullptr) sparsity_.add(encoded);
    sent = {message.size, cost_->exchange(encoded.on_channels(question_.channels), job_),
            scaled(encoded.compress, slowest_), scaled(encoded.decompress, slowest_)};
    return sent;
  }
  if (message.size == sent.size) return sent;
  sent.size = message.size;
  const MessageCost& cost = plan_.bsp_broadcasts ? question_.reduce : *cost_;
  sent.exchange = {cost.of(message.size * question_.channels, job_), {}, {}};
  return sent;
}

// How far apart the last exchange of an iteration leaves the workers.
Duration Representative::last_spread() {
  if (cost_->servers() == nullptr || plan_.messages.empty()) return {};
  const Encoded encoded =
      cost_->encoded(plan_.messages.back().group()).on_channels(question_.channels);
  return cost_->exchange(encoded, job_).spread;
}

// When the message's gradients are there and encoded.
Duration Representative::encode(const PlannedMessage& message, const Sent& sent,
                                Backward& backward) {
  const Duration begin = backward.ready(message.first_layer, busy_);
  const Duration end = backward.spend(sent.compress, busy_);
  if (end > begin) encodings_.push_back({message.first_layer, message.size, begin, end});
  compress_ += end - begin;
  decompress_ += sent.decompress;
  return end;
}

// `spread`: how far apart workers start.
Duration Representative::record(const PlannedMessage& message, const Sent& sent, Duration ready,
                                Duration start, Duration spread) {
  const Duration end = start + sent.exchange.after(spread);
  last_spread_ = sent.exchange.spread;
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
  records_.clear();
  encodings_.clear();
  busy_.clear();
  recent_ = {};
  sparsity_ = {};
  communication_ = last_message_end_ = compress_ = decompress_ = Duration();
  complete_.assign(work_.size(), Duration());
  Duration forward_end;
  for (const Duration length : forward_) forward_end += length;
  std::vector<Duration> ready(work_.size());
  Duration now = forward_end;
  for (std::size_t l = work_.size(); l-- > 0;) ready[l] = now += work_[l];
  plan_ = question_.strategy->plan({trace_, *cost_, ready, wakes_});
  check_plan(question_, plan_);
  job_ = (plan_.bsp_broadcasts ? question_.reduce : *cost_).job();
  records_.reserve(plan_.messages.size());
  first_spread_ = last_spread_ = last_spread();
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
    const Sent& one = sent(message);
    const Duration ready = encode(message, one, backward);
    Duration& channel = channel_free[turn++ % channel_free.size()];
    // Behind a message workers are as far apart as that left them; if there was time, as the
    // iteration before did; at a time that is the same for all, not at all.
    Duration spread = channel >= ready && turn > channel_free.size() ? last_spread_ : first_spread_;
    if (message.not_before > std::max(ready, channel)) spread = Duration();
    channel = record(message, one, ready, std::max({ready, channel, message.not_before}), spread);
  }
  backward_end_ = backward.ready(0, busy_);
  backward_ends_ = backward.ends();
}

void Representative::play_by_priority(Duration forward_end) {
  Backward backward(work_, 1);
  backward.start(forward_end);
  std::vector<Duration> ready;
  ready.reserve(plan_.messages.size());
  const bool compressed = cost_->compression() != nullptr;
  std::vector<Sent> costs;
  for (const PlannedMessage& message : plan_.messages) {
    if (compressed) costs.push_back(sent(message));
    ready.push_back(compressed ? encode(message, costs.back(), backward)
                               : backward.ready(message.first_layer, busy_));
  }
  backward_end_ = backward.ready(0, busy_);
  backward_ends_ = backward.ends();
  Duration channel_free;
  send_by_priority(plan_, ready, Duration::longest(), [&](std::size_t index, Duration now) {
    const PlannedMessage& message = plan_.messages[index];
    // Committed while another one is on its way, it follows that; otherwise all start at once.
    const Duration spread = now < channel_free ? last_spread_ : Duration();
    return channel_free = record(message, compressed ? costs[index] : sent(message), ready[index],
                                 std::max(now, channel_free), spread);
  });
}

// Where messages go on in the next forward, each layer waits for its own of the iteration before,
// which ended some time after that one's backward; then it is decoded and updated, layer by layer.
// If loading the next batch takes longer than all that, the first layer waits for it. `backward`:
// of the iteration before.
std::vector<Duration> Representative::forward_starts(Duration backward) {
  const std::vector<double> shares = gradient_shares(trace_);
  std::vector<Duration> starts(forward_.size());
  late_decompress_ = late_update_ = Duration();
  Duration work;
  for (std::size_t l = 0; l < forward_.size(); ++l) {
    if (plan_.gate == Gate::per_layer) {
      late_decompress_ += scaled(decompress_, shares[l]);
      late_update_ += scaled(update_, shares[l]);
    }
    work += forward_[l];
  }
  Duration now;
  if (plan_.gate == Gate::per_layer)
    now = std::max(now, trace_.load - backward - work - late_decompress_ - late_update_);
  for (std::size_t l = 0; l < forward_.size(); ++l) {
    if (plan_.gate == Gate::per_layer)
      now = std::max(now, complete_[l] - backward_end_) + scaled(decompress_, shares[l]) +
            scaled(update_, shares[l]);
    starts[l] = now;
    now += forward_[l];
  }
  return starts;
}

void Representative::finish_iteration(Duration forward_end) {
  const bool in_turn = plan_.bsp != BspForm::none;
  Duration backward = backward_end_ - forward_end - compress_;
  if (in_turn) {  // it waits for messages between its layers
    backward = Duration();
    for (const Duration work : work_) backward += work;
  }
  breakdown_ = {.forward = forward_end,
                .backward = backward,
                .update = update_,
                .communication = communication_,
                .waiting = {},
                .compression = compress_ + decompress_,
                .exposed = {},
                .overlapped = {},
                .idle = {}};
  if (plan_.gate == Gate::all) {
    const Duration end = std::max(backward_end_, last_message_end_);
    iteration_ = std::max(end + decompress_ + update_, trace_.load);
    if (question_.timeline != nullptr)
      forward_starts_ = forward_starts(backward_end_ - forward_end);
  } else {  // an iteration reaches from one backward end to the next
    forward_starts_ = forward_starts(backward_end_ - forward_end);
    const Duration later = forward_starts_.back() + forward_.back() - forward_end;
    iteration_ = backward_end_ + later;
    for (Duration& end : backward_ends_) end += later;
    for (Encoding& encoding : encodings_) {
      encoding.start += later;
      encoding.end += later;
    }
    for (MessageRecord& message : records_) {
      message.ready += later;
      message.start += later;
      message.end += later;
    }
    breakdown_.update = late_update_;
    breakdown_.compression = compress_ + late_decompress_;
  }
  Account account{breakdown_, communication_};
  account.parts.overlapped = communication_;
  if (plan_.gate == Gate::all && !in_turn) {  // else messages go on in the forward
    account.parts.overlapped = busy_.within(Duration(), backward_end_);
    account.carried = busy_.within(backward_end_, Duration::longest());
  }
  breakdown_ = account.settled(1, iteration_);
}

// One iteration of the steady state, the same for every worker that is wanted.
void Representative::fill(Timeline& timeline) const {
  std::vector<Slice> slices = in_turn_;
  if (plan_.bsp == BspForm::none) {
    const std::vector<Duration>& starts = forward_starts_;
    const std::vector<double> shares = gradient_shares(trace_);
    for (std::size_t l = 0; l < starts.size(); ++l) {
      if (plan_.gate == Gate::per_layer)
        slices.push_back({.activity = Activity::update,
                          .index = static_cast<int>(l),
                          .size = {},
                          .start = Time() + starts[l] - scaled(update_, shares[l]),
                          .end = Time() + starts[l]});
      slices.push_back({.activity = Activity::forward,
                        .index = static_cast<int>(l),
                        .size = {},
                        .start = Time() + starts[l],
                        .end = Time() + starts[l] + forward_[l]});
    }
    Duration begin = starts.back() + forward_.back();
    auto encoding = encodings_.begin();
    for (std::size_t l = starts.size(); l-- > 0; begin = backward_ends_[l]) {
      for (; encoding != encodings_.end() && encoding->start <= begin; ++encoding) {
        slices.push_back({.activity = Activity::compress,
                          .index = encoding->layer,
                          .size = encoding->size,
                          .start = Time() + encoding->start,
                          .end = Time() + encoding->end});
        begin = encoding->end;
      }
      slices.push_back({.activity = Activity::backward,
                        .index = static_cast<int>(l),
                        .size = trace_.layers[l].gradient,
                        .start = Time() + begin,
                        .end = Time() + backward_ends_[l]});
    }
    for (; encoding != encodings_.end(); ++encoding)
      slices.push_back({.activity = Activity::compress,
                        .index = encoding->layer,
                        .size = encoding->size,
                        .start = Time() + encoding->start,
                        .end = Time() + encoding->end});
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
    Duration begin = std::max(backward_end_, last_message_end_);
    slices.push_back({.activity = Activity::decompress,
                      .size = {},
                      .start = Time() + begin,
                      .end = Time() + begin + decompress_});
    begin += decompress_;
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
      return own.record(message, own.sent(message), ready[place(l)], now, {});
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

// The messages of a plan, for the worker that stands for all: in order, on several channels, by
// priority, or in turn with the computation.
#include <algorithm>

#include "models/step/bsp.h"
#include "models/step/channels.h"
#include "models/step/priority.h"
#include "models/step/representative.h"

namespace sgdsim {

// Layers repeat, and so do their pieces: the costs of some sizes are kept. What a compression makes
// of a message may depend on its layers, too.
const Representative::Sent& Representative::sent(const PlannedMessage& message) {
  const auto size_B = static_cast<uint64_t>(message.size.count());
  Sent& sent = recent_[(size_B * 0x9e3779b97f4a7c15) >> 58U];
  if (cost_->compression() != nullptr || cost_->servers() != nullptr) {
    const Encoded encoded = cost_->encoded(message.group());
    if (cost_->compression() != nullptr) sparsity_.add(encoded);
    sent = {message.size, cost_->exchange(encoded, job_), scaled(encoded.compress, slowest_),
            scaled(encoded.decompress, slowest_)};
    return sent;
  }
  if (message.size == sent.size) return sent;
  sent.size = message.size;
  const MessageCost& cost = plan_.bsp_broadcasts ? question_.reduce : *cost_;
  sent.exchange = {cost.of(message.size, job_), {}, {}};
  return sent;
}

// How far apart the last exchange of an iteration leaves the workers.
Duration Representative::last_spread() {
  if (cost_->servers() == nullptr || plan_.messages.empty()) return {};
  return cost_->exchange(cost_->encoded(plan_.messages.back().group()), job_).spread;
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
Duration Representative::send(const PlannedMessage& message, const Sent& sent, Duration ready,
                              Duration start, Duration spread) {
  const Duration end = start + sent.exchange.after(spread);
  last_spread_ = sent.exchange.spread;
  record(message, ready, start, end);
  if (plan_.gate == Gate::all && plan_.bsp == BspForm::none) busy_.add(start, end);
  communication_ += end - start;
  return end;
}

void Representative::record(const PlannedMessage& message, Duration ready, Duration start,
                            Duration end) {
  records_.push_back({message.first_layer, message.last_layer, message.size, ready, start, end});
  for (int l = message.first_layer; l <= message.last_layer; ++l) {
    Duration& complete = complete_[static_cast<std::size_t>(l)];
    complete = std::max(complete, end);
  }
  last_message_end_ = std::max(last_message_end_, end);
}

void Representative::play_in_order(Duration forward_end) {
  Backward backward(work_, question_.interference);
  backward.start(forward_end);
  Duration channel;
  if (plan_.after_backward) backward.ready(0, busy_);
  bool is_first = true;
  for (const PlannedMessage& message : plan_.messages) {
    const Sent& one = sent(message);
    const Duration ready = encode(message, one, backward);
    // Behind a message workers are as far apart as that left them; if there was time, as the
    // iteration before did; at a time that is the same for all, not at all.
    Duration spread = channel >= ready && !is_first ? last_spread_ : first_spread_;
    if (message.not_before > std::max(ready, channel)) spread = Duration();
    channel = send(message, one, ready, std::max({ready, channel, message.not_before}), spread);
    is_first = false;
  }
  backward_end_ = backward.ready(0, busy_);
  backward_ends_ = backward.ends();
}

// What is known of messages that come later does not change how long the network is busy with those
// that are there, only how they share it.
void Representative::play_on_channels(Duration forward_end) {
  Backward backward(work_, question_.interference);
  backward.start(forward_end);
  if (plan_.after_backward) backward.ready(0, busy_);
  Channels channels(question_.channels);
  const MessageCost without_folds = cost_->without_folds();
  std::vector<Duration> ready;
  std::vector<Duration> starts;
  for (const PlannedMessage& message : plan_.messages) {
    const Sent& one = sent(message);
    ready.push_back(encode(message, one, backward));
    starts.push_back(channels.enter(std::max(ready.back(), message.not_before),
                                    one.exchange.steady(),
                                    cost_->network_free(message.size, without_folds)));
    busy_.add(starts.back(), channels.silent());
  }
  const std::vector<Duration> ends = channels.ends();
  for (std::size_t i = 0; i < ends.size(); ++i)
    record(plan_.messages[i], ready[i], starts[i], ends[i]);
  communication_ = busy_.within(Duration(), Duration::longest());
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
    return channel_free = send(message, compressed ? costs[index] : sent(message), ready[index],
                               std::max(now, channel_free), spread);
  });
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
      return own.send(message, own.sent(message), ready[place(l)], now, {});
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

}  // namespace sgdsim

// The messages of a plan among all workers: in order, by priority, or in turn with the computation.
#include "models/step/all_workers.h"
#include "models/step/bsp.h"
#include "models/step/channels.h"
#include "models/step/priority.h"
#include "sim/core/error.h"

namespace sgdsim {

// One group of gradients, or the parameters of a layer, on its way.
struct AllWorkers::Sending {
  const MessageCost* cost = nullptr;
  Encoded encoded;
  Activity activity = Activity::message;
  int index = 0;
  int first_layer = 0;
  int last_layer = 0;
  Bytes size;
  bool drains = false;  // starts and ends for all at once
};

// One collective that every worker enters at its start: moves the clocks, and keeps the accounts.
Clocks AllWorkers::send(const Sending& what, Clocks starts) {
  if (question_.pause) question_.pause();
  Clocks ends = player_.play(*what.cost, what.encoded,
                             what.drains ? Clocks(starts.size(), last_of(starts)) : starts);
  if (what.drains) ends.assign(1, last_of(ends));
  account(what, std::move(starts), ends);
  return ends;
}

// What the exchange was for every worker; there is an entry for each afterwards, if any differ.
void AllWorkers::account(const Sending& what, Clocks starts, Clocks& ends) {
  const Time everybody = last_of(starts);
  if (ends.size() > 1) expand();
  ends.resize(states_.size(), ends.front());
  starts.resize(states_.size(), starts.front());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    WorkerInStep& state = states_[i];
    const Time begin = std::min(everybody, ends[i]);
    state.waiting += begin - starts[i];
    state.communication += ends[i] - begin;
    state.busy.add(begin - Time(), ends[i] - Time());
    state.waits.add(starts[i] - Time(), begin - Time());
    state.last_end = std::max(state.last_end, ends[i]);
  }
  auto slice_of = [&](Activity activity, Time start, Time end) {
    return Slice{.activity = activity,
                 .channel = channel_,
                 .index = what.index,
                 .first_layer = what.first_layer,
                 .last_layer = what.last_layer,
                 .size = what.size,
                 .start = start,
                 .end = end};
  };
  record([&](std::size_t i) {
    return slice_of(Activity::waiting, starts[i], std::min(everybody, ends[i]));
  });
  record([&](std::size_t i) {
    return slice_of(what.activity, std::min(everybody, ends[i]), ends[i]);
  });
}

AllWorkers::Sending AllWorkers::sending_of(const PlannedMessage& message, const Encoded& encoded) {
  if (iteration_ >= question_.warm_up) sparsity_.add(encoded);
  return {.cost = plan_.bsp_broadcasts ? &question_.reduce : &cost_,
          .encoded = encoded,
          .activity = Activity::message,
          .index = static_cast<int>(records_.size()),
          .first_layer = message.first_layer,
          .last_layer = message.last_layer,
          .size = message.size,
          .drains = plan_.bsp != BspForm::none && plan_.bsp_drains};
}

void AllWorkers::record_exchange(const PlannedMessage& message, const Clocks& starts,
                                 const Clocks& ends, Time ready) {
  for (std::size_t i = 0; i < complete_.size(); ++i)
    for (int l = message.first_layer; l <= message.last_layer; ++l) {
      Time& complete = complete_[i][static_cast<std::size_t>(l)];
      complete = std::max(complete, ends[i]);
    }
  records_.push_back({message.first_layer, message.last_layer, message.size, ready - origin_,
                      last_of(starts) - origin_, last_of(ends) - origin_});
}

// A message of the plan.
Clocks AllWorkers::exchange(const PlannedMessage& message, const Encoded& encoded,
                            const Clocks& starts, Time ready) {
  Clocks ends = send(sending_of(message, encoded), starts);
  record_exchange(message, starts, ends, ready);
  return ends;
}

void AllWorkers::play_in_order() {
  if (plan_.after_backward) play_backward_to(0);
  Clocks channel(1);
  for (const PlannedMessage& message : plan_.messages) {
    const Encoded encoded = encoded_of(message);
    const Clocks ready = ready_of(message, encoded);
    const Clocks earliest(1, origin_ + message.not_before);
    channel = exchange(message, encoded, latest(latest(ready, channel), earliest), last_of(ready));
  }
  play_backward_to(0);
}

// Several messages in flight. Those that are played meet at the ports; of the others only the time
// is known, and they begin when everybody is there.
void AllWorkers::play_on_channels() {
  const bool meet_at_ports = cost_.is_algorithm() && workers() > 1;
  if (meet_at_ports && question_.interference != 1)
    throw InputError("", "interference is not defined for several channels at fidelity message");
  if (plan_.after_backward) play_backward_to(0);
  Channels channels(question_.channels);
  const MessageCost without_folds = cost_.without_folds();
  std::vector<Encoded> encoded;
  std::vector<Clocks> ready;
  std::vector<Duration> starts;
  for (const PlannedMessage& message : plan_.messages) {
    encoded.push_back(encoded_of(message));
    ready.push_back(
        latest(ready_of(message, encoded.back()), Clocks(1, origin_ + message.not_before)));
    if (meet_at_ports) continue;
    starts.push_back(channels.enter(last_of(ready.back()) - origin_, cost_.of(encoded.back()),
                                    cost_.network_free(message.size, without_folds)));
    for (WorkerInStep& state : states_)
      state.busy.add(origin_ + starts.back() - Time(), origin_ + channels.silent() - Time());
  }
  play_backward_to(0);
  std::vector<ExchangeTimes> times;
  if (meet_at_ports) {
    times = player_.play_together(cost_, encoded, ready, question_.channels, question_.pause);
  } else {
    const std::vector<Duration> ends = channels.ends();
    for (std::size_t i = 0; i < ends.size(); ++i)
      times.push_back({Clocks(1, origin_ + starts[i]), Clocks(1, origin_ + ends[i])});
  }
  ChannelNumbers numbers;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (question_.pause) question_.pause();
    const PlannedMessage& message = plan_.messages[i];
    channel_ = numbers.next(first_of(times[i].starts) - origin_, last_of(times[i].ends) - origin_);
    Clocks ends = times[i].ends;
    account(sending_of(message, encoded[i]), times[i].starts, ends);
    record_exchange(message, times[i].starts, ends, last_of(ready[i]));
  }
  // Messages in flight together are communication once.
  for (WorkerInStep& state : states_)
    state.communication = state.busy.within(Duration(), Duration::longest());
}

// One coordinator decides for all: the most urgent message that is ready everywhere when the
// channel is free on the last worker. Messages within the credit are committed ahead.
void AllWorkers::play_by_priority() {
  complete_.assign(states_.size(), Clocks(work_.size()));
  std::vector<Encoded> encoded;
  std::vector<Clocks> ready;
  Clocks ready_everywhere;
  for (const PlannedMessage& message : plan_.messages) {
    encoded.push_back(encoded_of(message));
    ready.push_back(ready_of(message, encoded.back()));
    ready_everywhere.push_back(last_of(ready.back()));
  }
  play_backward_to(0);
  Clocks channel(1);
  send_by_priority(plan_, ready_everywhere, Time::last(), [&](std::size_t index, Time now) {
    channel =
        exchange(plan_.messages[index], encoded[index],
                 latest(latest(ready[index], channel), Clocks(1, now)), ready_everywhere[index]);
    return last_of(channel);
  });
}

// What the forms of BSP-SGD are made of, for all workers at once.
struct AllWorkers::BspMoves {
  AllWorkers& own;
  Clocks ready;  // of each gradient, on the last worker

  Clocks forward(int layer, const Clocks& now) const { return own.play_forward(layer, now); }
  Clocks backward(int layer, const Clocks& now) {
    Clocks ends(own.states_.size());
    for (std::size_t i = 0; i < ends.size(); ++i) own.states_[i].backward_now = at(now, i);
    own.play_backward(layer);
    for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = own.states_[i].backward_now;
    ready[static_cast<std::size_t>(layer)] = last_of(ends);
    return ends;
  }
  Clocks broadcast(int layer, const Clocks& now) const {
    if (!own.plan_.bsp_broadcasts) return now;
    const Bytes size = own.trace_.layers[static_cast<std::size_t>(layer)].gradient;
    return own.send({.cost = &own.question_.broadcast,
                     .encoded = own.question_.broadcast.encoded({size, layer, layer}),
                     .activity = Activity::broadcast,
                     .index = layer,
                     .first_layer = layer,
                     .last_layer = layer,
                     .size = size,
                     .drains = own.plan_.bsp_drains},
                    now);
  }
  Clocks reduce(int layer, const Clocks& now) const {
    const auto l = static_cast<std::size_t>(layer);
    const PlannedMessage& message = own.plan_.messages[own.work_.size() - 1 - l];
    return own.exchange(message, own.encoded_of(message), now, ready[l]);
  }
  static Clocks later(const Clocks& a, const Clocks& b) { return latest(a, b); }
};

void AllWorkers::play_bsp() {
  BspMoves moves{*this, Clocks(work_.size())};
  Clocks starts(states_.size());
  for (std::size_t i = 0; i < starts.size(); ++i) starts[i] = states_[i].start;
  sgdsim::play_bsp(plan_.bsp, static_cast<int>(work_.size()), std::move(starts), moves);
}

}  // namespace sgdsim

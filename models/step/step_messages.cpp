// The messages of a plan: in order, by priority, on several channels, or in turn with the
// computation.
#include "models/step/step_messages.h"

#include <algorithm>
#include <cassert>
#include <type_traits>

#include "models/step/turns.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

void raise(Time& clock, Time least) { clock = std::max(clock, least); }
void raise(Clocks& clocks, Time least) {
  if (clocks.empty()) clocks.resize(1);
  for (Time& clock : clocks) clock = std::max(clock, least);
}

template <class Clock>
Clock clock_of(Clocks times) {
  if constexpr (std::is_same_v<Clock, Time>)
    return last_of(times);
  else
    return times;
}

template <class Do>
void for_each_transfer(const Encoded& encoded, const Do& act) {
  for (int i = 0; i < encoded.transfer_count; ++i)
    act(encoded.transfers[static_cast<std::size_t>(i)]);
}

}  // namespace

template <class Clock>
void StepMessages<Clock>::take_plan() {
  if (step_.question.channels == 1) return;
  without_folds_ = step_.cost->without_folds();
  to_servers_.clear();
  const ParameterServers* servers = step_.cost->servers();
  if (servers == nullptr) return;
  to_servers_ = encoded_messages(step_.plan, *step_.cost);
  ServerLoads loads(*servers);
  for (const Encoded& encoded : to_servers_)
    for_each_transfer(encoded,
                      [&](const Transfer& transfer) { loads.add(transfer.size, transfer.part); });
  fullest_server_ = loads.fullest();
}

// Whose next pushes wait for nothing never push while others still pull.
template <class Clock>
Duration StepMessages<Clock>::time_alone(std::size_t message) const {
  if (!to_servers_.empty()) {
    CollectiveJob job = step_.cost->job();
    return step_.cost->exchange(to_servers_[message], job).together;
  }
  return one_for_all ? step_.prices.of(message).steady() : step_.cost->of(step_.encoded[message]);
}

// What of that costs the network nothing.
template <class Clock>
Duration StepMessages<Clock>::without_network(std::size_t message, Duration alone) const {
  const ParameterServers* servers = step_.cost->servers();
  if (servers == nullptr)
    return step_.cost->network_free(step_.plan.messages[message].size, without_folds_);
  Duration busy;
  for_each_transfer(to_servers_[message], [&](const Transfer& transfer) {
    busy = busy + port_time(*servers, transfer.size, transfer.part, fullest_server_);
  });
  return alone - std::min(alone, busy);
}

template <class Clock>
void StepMessages<Clock>::start_iteration() {
  is_first_ = true;
  if (!has_counted_) {
    sent_from_ = Time::last();
    sent_until_ = Time();
  }
  has_counted_ = has_counted_ || step_.counts;
  if (one_for_all && !step_.plan.messages.empty())
    first_spread_ = last_spread_ = step_.prices.of(step_.plan.messages.size() - 1).spread;
  player_.traffic = {};
  records_.clear();
  records_.reserve(step_.plan.messages.size());
  if (!step_.played) return;
  played_ = step_.played(step_.iteration);
  workers_.slow_down(played_);
}

// Sums, and parameters that are broadcast.
template <class Clock>
template <class Do>
void StepMessages<Clock>::for_each_sent(const Do& act) {
  for (const Encoded& encoded : step_.encoded) act(cost_of_sums(), encoded);
  for (std::size_t l = 0; step_.plan.bsp_broadcasts && l < step_.question.trace->layers.size(); ++l)
    act(step_.question.broadcast, parameters_of(static_cast<int>(l)));
}

template <class Clock>
bool StepMessages<Clock>::are_apart() {
  const bool in_step = step_.question.workers.all_alike();
  bool all = true;
  for_each_sent([&](const MessageCost& cost, const Encoded& encoded) {
    all = all && player_.is_apart(cost, encoded, in_step);
  });
  return all;
}

template <class Clock>
bool StepMessages<Clock>::are_in_rounds() {
  bool all = true;
  for_each_sent([&](const MessageCost& cost, const Encoded& encoded) {
    all = all && player_.is_in_rounds(cost, encoded);
  });
  return all;
}

template <class Clock>
bool StepMessages<Clock>::are_apart(const MessageCost& cost, const std::vector<Encoded>& sums) {
  const bool in_step = step_.question.workers.all_alike();
  return std::all_of(sums.begin(), sums.end(), [&](const Encoded& encoded) {
    return player_.is_apart(cost, encoded, in_step);
  });
}

template <class Clock>
std::vector<double> StepMessages<Clock>::carried_by_plan() {
  std::vector<double> carried_B;
  for_each_sent([&](const MessageCost& cost, const Encoded& encoded) {
    player_.add_carried(cost, encoded, carried_B);
  });
  return carried_B;
}

// A message that goes when the one before it has gone, or parameters of a layer.
template <class Clock>
Clock StepMessages<Clock>::exchange(const Action& action, Clock ready, const Clock& free) {
  if (action.activity == Activity::broadcast)
    return broadcast(action.first, latest(std::move(ready), free));
  const auto index = static_cast<std::size_t>(action.first);
  const PlannedMessage& message = step_.plan.messages[index];
  const bool in_turn = step_.plan.bsp != BspForm::none;
  const Time everywhere = in_turn ? workers_.gradient_ready(message.first_layer) : last_of(ready);
  const Time not_before = step_.origin + message.not_before;
  // Behind a message workers are as far apart as that left them; if there was time, as the
  // iteration before did; at a time that is the same for all, not at all.
  Duration spread;
  if (one_for_all && !in_turn) {
    spread = last_of(free) >= everywhere && !is_first_ ? last_spread_ : first_spread_;
    const bool is_timed = message.not_before > Duration();
    if (is_timed && not_before >= std::max(everywhere, last_of(free))) spread = Duration();
  }
  is_first_ = false;
  const Clock waits = latest(std::move(ready), free);
  Clock starts = waits;
  raise(starts, not_before);
  return send(index, waits, std::move(starts), everywhere, spread);
}

// `spread`: how far apart workers start, where one stands for all.
template <class Clock>
Clock StepMessages<Clock>::send(std::size_t index, const Clock& waits, Clock starts, Time ready,
                                Duration spread) {
  Clock ends = starts;
  if constexpr (one_for_all) {
    const ExchangeTime& price = step_.prices.of(index);
    ends += price.after(step_.pipeline == nullptr ? spread : price.spread);
    last_spread_ = price.spread;
    count(step_.question.stopper, ends);
  } else {
    ends = play(cost_of_sums(), step_.encoded[index], std::move(ends), index);
  }
  keep(index, 0, waits, starts, ends, ready);
  return ends;
}

// One collective that every worker enters at its start, or that has been played: `number` is its
// place among those. Where they drain, it starts and ends for all at once.
template <class Clock>
Clocks StepMessages<Clock>::play(const MessageCost& cost, const Encoded& encoded, Clocks starts,
                                 std::size_t number) {
  if (step_.played) {
    player_.count(cost, {encoded});
    return std::move(played_[number].ends);
  }
  const bool drains = step_.plan.bsp != BspForm::none && step_.plan.bsp_drains;
  if (drains) starts.assign(starts.size(), last_of(starts));
  Clocks ends = player_.play(cost, encoded, std::move(starts));
  count(step_.question.stopper, last_of(ends));
  if (drains) ends.assign(1, last_of(ends));
  return ends;
}

template <class Clock>
Encoded StepMessages<Clock>::parameters_of(int layer) const {
  const Bytes size = step_.question.trace->layers[static_cast<std::size_t>(layer)].gradient;
  return step_.question.broadcast.encoded({size, layer, layer});
}

template <class Clock>
Clock StepMessages<Clock>::broadcast(int layer, Clock starts) {
  const Bytes size = step_.question.trace->layers[static_cast<std::size_t>(layer)].gradient;
  const MessageCost& cost = step_.question.broadcast;
  Clock ends = starts;
  if constexpr (one_for_all)
    ends += cost.of(size);
  else
    ends = play(cost, parameters_of(layer), std::move(ends),
                step_.plan.messages.size() + static_cast<std::size_t>(layer));
  workers_.record({.activity = Activity::broadcast,
                   .index = layer,
                   .first_layer = layer,
                   .last_layer = layer,
                   .size = size},
                  starts, last_of(starts), ends);
  return ends;
}

// A message of the plan that has been played.
template <class Clock>
void StepMessages<Clock>::keep(std::size_t index, int channel, const Clock& waits,
                               const Clock& starts, Clock& ends, Time ready) {
  const PlannedMessage& message = step_.plan.messages[index];
  if (!one_for_all && step_.counts) sparsity_.add(step_.encoded[index]);
  sent_from_ = std::min(sent_from_, first_of(starts));
  sent_until_ = std::max(sent_until_, last_of(ends));
  workers_.record({.activity = Activity::message,
                   .channel = channel,
                   .index = static_cast<int>(records_.size()),
                   .first_layer = message.first_layer,
                   .last_layer = message.last_layer,
                   .size = message.size},
                  waits, last_of(starts), ends);
  records_.push_back({message.first_layer, message.last_layer, message.size, ready - step_.origin,
                      last_of(starts) - step_.origin, last_of(ends) - step_.origin});
}

template <class Clock>
void StepMessages<Clock>::hand_over(const Ended& ended) {
  if (step_.played) {
    player_.count(*step_.cost, step_.encoded);
    keep_played(std::move(played_), ended);
  } else if (step_.plan.order == Order::priority) {
    send_by_priority(ended);
  } else {
    send_on_channels(ended);
  }
  entered_.clear();
  waiting_.clear();
  pieces_.clear();
}

template <class Clock>
void StepMessages<Clock>::shift(Duration later) {
  for (MessageRecord& message : records_) {
    message.ready += later;
    message.start += later;
    message.end += later;
  }
}

// One coordinator decides for all: the most urgent message that is ready everywhere when the
// channel is free on the last worker. Messages within the credit are committed ahead, and follow
// the one that is on its way; otherwise all start at once.
template <class Clock>
void StepMessages<Clock>::send_by_priority(const Ended& ended) {
  Clock free{};
  Turns turns(pieces_.size());
  sgdsim::send_by_priority(
      step_.plan, pieces_, [&](std::size_t place, std::size_t message, Time now) {
        const bool is_last = message == pieces_[place].last;
        const HandedOverCause cause =
            turns.next(place, is_last, pieces_[place].ready < last_of(free));
        const Duration spread = now < last_of(free) ? last_spread_ : Duration();
        const Clock waits = latest(entered_[place], free);
        Clock starts = waits;
        raise(starts, now);
        free = send(message, waits, std::move(starts), pieces_[place].ready, spread);
        if (is_last) ended(place, free, cause);
        return last_of(free);
      });
}

// Several messages in flight: those that are played meet at the ports.
template <class Clock>
bool StepMessages<Clock>::meets_at_ports() const {
  if (one_for_all) return false;
  if (step_.played) return true;
  return step_.cost->is_algorithm() && step_.question.cluster->network.workers() > 1;
}

// Of messages that are not played only the time is known, and they begin when everybody is there.
// What comes later does not change how long the network is busy with those that are there, only how
// they share it.
template <class Clock>
void StepMessages<Clock>::enter(const Action& action, Clock ready) {
  const auto index = static_cast<std::size_t>(action.first);
  const PlannedMessage& message = step_.plan.messages[index];
  entered_.push_back(std::move(ready));
  pieces_.push_back({last_of(entered_.back()), index, static_cast<std::size_t>(action.last)});
  if (step_.plan.order == Order::priority) return;
  waiting_.push_back(entered_.back());
  raise(entered_.back(), step_.origin + message.not_before);
  if (meets_at_ports()) return;
  if (index == 0) channels_.emplace(step_.question.channels);
  const Duration alone = time_alone(index);
  const Duration start = channels_->enter(last_of(entered_.back()) - step_.origin, alone,
                                          without_network(index, alone));
  begun_.push_back(step_.origin + start);
  workers_.slow_down(begun_.back(), step_.origin + channels_->silent());
}

template <class Clock>
void StepMessages<Clock>::send_on_channels(const Ended& ended) {
  std::vector<ExchangeTimes> played;
  if constexpr (!one_for_all)
    if (meets_at_ports())
      played = player_.play_together(*step_.cost, step_.encoded, entered_, step_.question.channels);
  if (played.empty()) {
    const std::vector<Duration> ends = channels_->ends();
    for (std::size_t i = 0; i < ends.size(); ++i)
      played.push_back({{begun_[i]}, {step_.origin + ends[i]}});
    begun_.clear();
    if constexpr (!one_for_all) player_.count_sent(*step_.cost, step_.encoded);
  }
  keep_played(std::move(played), ended);
}

// One that starts when it may has waited since it was ready itself.
template <class Clock>
Clock StepMessages<Clock>::waits_of(std::size_t place, const Clock& starts) const {
  Clock waits = starts;
  if (place >= waiting_.size()) return waits;
  std::size_t workers = 1;
  if constexpr (!one_for_all) {
    workers_.fit(waits);
    workers = waits.size();
  }
  for (std::size_t i = 0; i < workers; ++i)
    if (at(waits, i) == at(entered_[place], i)) at(waits, i) = at(waiting_[place], i);
  return waits;
}

// In the order in which they start, on the last worker.
template <class Clock>
void StepMessages<Clock>::keep_played(std::vector<ExchangeTimes> played, const Ended& ended) {
  assert(played.size() == step_.encoded.size() || one_for_all);  // the same plan
  std::vector<InFlight> order;
  for (std::size_t i = 0; i < pieces_.size(); ++i)
    for (std::size_t m = pieces_[i].first; m <= pieces_[i].last; ++m)
      order.push_back({i, m, last_of(played[m].starts), last_of(played[m].ends)});
  if (step_.plan.order == Order::priority)
    std::stable_sort(order.begin(), order.end(),
                     [](const InFlight& a, const InFlight& b) { return a.starts < b.starts; });
  Flights flights(pieces_, order);
  std::vector<Clock> ends(pieces_.size());
  for (const InFlight& it : order) {
    Clock start = clock_of<Clock>(std::move(played[it.message].starts));
    Clock end = clock_of<Clock>(std::move(played[it.message].ends));
    int channel = 0;
    if (step_.question.channels > 1)
      channel = numbers_.next(first_of(start).since_start(), last_of(end).since_start());
    keep(it.message, channel, waits_of(it.place, start), start, end, pieces_[it.place].ready);
    ends[it.place] = latest(std::move(ends[it.place]), end);
    const bool is_last = flights.next(it);
    if (is_last) ended(it.place, ends[it.place], flights.cause_of(it.place));
  }
  workers_.count_once();
}

template class StepMessages<Time>;
template class StepMessages<Clocks>;

}  // namespace sgdsim

// The messages of a plan: in order, by priority, on several channels, or in turn with the
// computation.
#include "models/step/step_messages.h"

#include <algorithm>
#include <map>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

void raise(Time& clock, Time least) { clock = std::max(clock, least); }
void raise(Clocks& clocks, Time least) {
  if (clocks.empty()) clocks.resize(1);
  for (Time& clock : clocks) clock = std::max(clock, least);
}

}  // namespace

template <class Clock>
void StepMessages<Clock>::take_plan() {
  if (step_.question.channels == 1) return;
  without_folds_ = step_.cost->without_folds();
  if (step_.question.interference != 1 && meets_at_ports())
    throw InputError("", "interference is not defined for several channels at fidelity message");
}

template <class Clock>
void StepMessages<Clock>::start_iteration() {
  is_first_ = true;
  if (one_for_all && !step_.plan.messages.empty())
    first_spread_ = last_spread_ = step_.prices.of(step_.plan.messages.size() - 1).spread;
  player_.traffic = {};
  records_.clear();
  records_.reserve(step_.plan.messages.size());
}

template <class Clock>
bool StepMessages<Clock>::are_apart() {
  const bool in_step = step_.question.workers.all_alike();
  for (const Encoded& encoded : step_.encoded)
    if (!player_.is_apart(*step_.cost, encoded, in_step)) return false;
  return true;
}

template <class Clock>
std::vector<double> StepMessages<Clock>::carried_in_step() {
  std::vector<double> carried_B;
  for (const Encoded& encoded : step_.encoded) player_.add_carried(*step_.cost, encoded, carried_B);
  const double per_step = step_.pipeline == nullptr ? 1.0 : 1.0 / step_.pipeline->every;
  for (double& bytes : carried_B) bytes *= per_step;
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
    if (not_before > std::max(everywhere, last_of(free))) spread = Duration();
  }
  is_first_ = false;
  Clock starts = latest(std::move(ready), free);
  raise(starts, not_before);
  return send(index, std::move(starts), everywhere, spread);
}

// `spread`: how far apart workers start, where one stands for all.
template <class Clock>
Clock StepMessages<Clock>::send(std::size_t index, Clock starts, Time ready, Duration spread) {
  Clock ends = starts;
  if constexpr (one_for_all) {
    const ExchangeTime& price = step_.prices.of(index);
    ends += price.after(step_.pipeline == nullptr ? spread : price.spread);
    last_spread_ = price.spread;
  } else {
    const bool drains = step_.plan.bsp != BspForm::none && step_.plan.bsp_drains;
    ends = play(step_.plan.bsp_broadcasts ? step_.question.reduce : *step_.cost,
                step_.encoded[index], std::move(ends), drains);
  }
  keep(index, 0, starts, ends, ready);
  return ends;
}

// One collective that every worker enters at its start. `drains`: starts and ends for all at once.
template <class Clock>
Clocks StepMessages<Clock>::play(const MessageCost& cost, const Encoded& encoded, Clocks starts,
                                 bool drains) {
  if (step_.question.pause) step_.question.pause();
  if (drains) starts.assign(starts.size(), last_of(starts));
  Clocks ends = player_.play(cost, encoded, std::move(starts));
  if (drains) ends.assign(1, last_of(ends));
  return ends;
}

template <class Clock>
Clock StepMessages<Clock>::broadcast(int layer, Clock starts) {
  const Bytes size = step_.question.trace->layers[static_cast<std::size_t>(layer)].gradient;
  const MessageCost& cost = step_.question.broadcast;
  Clock ends = starts;
  if constexpr (one_for_all)
    ends += cost.of(size);
  else
    ends = play(cost, cost.encoded({size, layer, layer}), std::move(ends), step_.plan.bsp_drains);
  workers_.account({.activity = Activity::broadcast,
                    .index = layer,
                    .first_layer = layer,
                    .last_layer = layer,
                    .size = size},
                   starts, ends);
  return ends;
}

// A message of the plan that has been played.
template <class Clock>
void StepMessages<Clock>::keep(std::size_t index, int channel, const Clock& starts, Clock& ends,
                               Time ready) {
  const PlannedMessage& message = step_.plan.messages[index];
  if (!one_for_all && step_.counts) sparsity_.add(step_.encoded[index]);
  workers_.account({.activity = Activity::message,
                    .channel = channel,
                    .index = static_cast<int>(records_.size()),
                    .first_layer = message.first_layer,
                    .last_layer = message.last_layer,
                    .size = message.size},
                   starts, ends);
  records_.push_back({message.first_layer, message.last_layer, message.size, ready - step_.origin,
                      last_of(starts) - step_.origin, last_of(ends) - step_.origin});
}

template <class Clock>
void StepMessages<Clock>::hand_over(const Ended& ended) {
  if (step_.plan.order == Order::priority)
    send_by_priority(ended);
  else
    send_on_channels(ended);
  entered_.clear();
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
  std::vector<HandedOverCause> causes(pieces_.size());
  std::size_t before = pieces_.size();  // whose message went last
  bool is_whole = false;                // and was it the last of its pieces
  sgdsim::send_by_priority(
      step_.plan, pieces_, [&](std::size_t place, std::size_t message, Time now) {
        if (place != before) {
          if (pieces_[place].ready >= last_of(free))
            causes[place] = {place, false};
          else
            causes[place] = is_whole ? HandedOverCause{before, true} : causes[before];
        }
        const Duration spread = now < last_of(free) ? last_spread_ : Duration();
        Clock starts = latest(entered_[place], free);
        raise(starts, now);
        free = send(message, std::move(starts), pieces_[place].ready, spread);
        before = place;
        is_whole = message == pieces_[place].last;
        if (is_whole) ended(place, free, causes[place]);
        return last_of(free);
      });
}

// Several messages in flight: those that are played meet at the ports.
template <class Clock>
bool StepMessages<Clock>::meets_at_ports() const {
  if (one_for_all || step_.played) return !one_for_all;
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
  raise(entered_.back(), step_.origin + message.not_before);
  if (meets_at_ports()) return;
  if (index == 0) channels_.emplace(step_.question.channels);
  const Duration alone =
      one_for_all ? step_.prices.of(index).steady() : step_.cost->of(step_.encoded[index]);
  const Duration start = channels_->enter(last_of(entered_.back()) - step_.origin, alone,
                                          step_.cost->network_free(message.size, without_folds_));
  begun_.push_back(step_.origin + start);
  workers_.keep_busy(begun_.back(), step_.origin + channels_->silent());
}

template <class Clock>
void StepMessages<Clock>::send_on_channels(const Ended& ended) {
  std::vector<ExchangeTimes> played;
  std::vector<Duration> ends;
  if constexpr (!one_for_all) {
    if (step_.played) {
      played = step_.played(step_.iteration);
      player_.count(*step_.cost, step_.encoded);
    } else if (meets_at_ports()) {
      played = player_.play_together(*step_.cost, step_.encoded, entered_, step_.question.channels,
                                     step_.question.pause);
    }
  }
  if (played.empty()) ends = channels_->ends();
  ChannelNumbers numbers;
  std::map<Time, std::size_t> by_end;
  for (std::size_t i = 0; i < entered_.size(); ++i) {
    Clock start{};
    Clock end{};
    if (played.empty()) {
      raise(start, begun_[i]);
      raise(end, step_.origin + ends[i]);
    } else if constexpr (!one_for_all) {
      start = std::move(played[i].starts);
      end = std::move(played[i].ends);
    }
    const int channel = numbers.next(first_of(start) - step_.origin, last_of(end) - step_.origin);
    keep(i, channel, start, end, pieces_[i].ready);
    // It came behind the one that left it its channel.
    const auto left =
        last_of(start) > pieces_[i].ready ? by_end.find(last_of(start)) : by_end.end();
    ended(i, end,
          left == by_end.end() ? HandedOverCause{i, false} : HandedOverCause{left->second, true});
    by_end.emplace(last_of(end), i);
  }
  begun_.clear();
  workers_.count_busy_once();
}

template class StepMessages<Time>;
template class StepMessages<Clocks>;

}  // namespace sgdsim

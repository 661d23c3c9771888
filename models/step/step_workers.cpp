// The compute stream of every worker, and the accounts of its time.
#include "models/step/step_workers.h"

#include <algorithm>

#include "sim/core/scaled.h"

namespace sgdsim {

template <class Clock>
StepWorkers<Clock>::StepWorkers(const StepNow& step)
    : step_(step),
      question_(step.question),
      trace_(*step.question.trace),
      traced_(backward_work(trace_)),
      parts_(trace_),
      fixed_(fixed_factors(question_.workers, question_.cluster->network.workers())) {
  // The slowest stands for all.
  if (one_for_all) fixed_ = {*std::max_element(fixed_.begin(), fixed_.end())};
  works_.resize(question_.workers.all_alike() ? 1 : fixed_.size());
  states_.resize(works_.size());
}

template <class Clock>
void StepWorkers<Clock>::draw_work() {
  if (!works_.front().forward.empty() && !question_.workers.is_random()) return;
  for (std::size_t i = 0; i < works_.size(); ++i)
    works_[i] = sgdsim::draw_work(trace_, traced_, question_.workers, fixed_[i],
                                  {question_.seed, static_cast<int>(i), step_.iteration});
}

template <class Clock>
void StepWorkers<Clock>::begin(const Clock& starts, Replanner& replanner) const {
  for (std::size_t i = 0; i < states_.size(); ++i) replanner.begins(work_of(i), at(starts, i));
}

template <class Clock>
void StepWorkers<Clock>::start_iteration(const Clock& starts) {
  gradient_ready_.resize(step_.plan.bsp == BspForm::none ? 0 : traced_.size());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    WorkerInStep& state = states_[i];
    state.ledger.open(at(starts, i), step_.is_plain, question_.interference);
    // As many updates as iterations: that behind the last one is played before the first.
    if (step_.is_late() && step_.iteration == 0)
      state.left_update = scaled(trace_.update, work_of(i).factor);
    state.encoding = {};
  }
}

// What is left to the next iteration, and what this one adds to the accounts.
template <class Clock>
void StepWorkers<Clock>::finish_iteration() {
  if (step_.counts) sums_.resize(states_.size(), sums_.empty() ? Account() : sums_.front());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    WorkerInStep& state = states_[i];
    if (step_.counts) sums_[i] += state.ledger.close(state.backward_end);
    if (!step_.is_late()) continue;
    state.left_decompress = decompress_of(i);
    state.left_update = scaled(trace_.update, work_of(i).factor);
  }
}

template <class Clock>
void StepWorkers<Clock>::fit(Clock& clock) const {
  if constexpr (!one_for_all)
    if (clock.size() < states_.size())
      clock.resize(states_.size(), clock.empty() ? Time() : clock.front());
}

template <class Clock>
template <class End>
void StepWorkers<Clock>::each(Clock& now, const End& end) {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    Time& clock = at(now, i);
    clock = end(i, clock);
  }
}

// From one that stands for all to all.
template <class Clock>
void StepWorkers<Clock>::expand(std::size_t workers) {
  if (one_for_all || states_.size() >= workers) return;
  states_.resize(workers, states_.front());
  if (!sums_.empty()) sums_.resize(workers, sums_.front());
}

// Of all messages of an iteration.
template <class Clock>
Duration StepWorkers<Clock>::decompress_of(std::size_t worker) const {
  if (one_for_all) return step_.prices.decompress();
  Duration sum;
  for (const Encoded& encoded : step_.encoded)
    sum += scaled(encoded.decompress, work_of(worker).factor);
  return sum;
}

template <class Clock>
void StepWorkers<Clock>::compute(const Action& action, Clock& now) {
  fit(now);
  const auto index = static_cast<std::size_t>(action.first);
  switch (action.activity) {
    case Activity::load:
      return each(now, [&](std::size_t, Time start) { return start + trace_.load; });
    case Activity::forward:
      return each(now, [&](std::size_t i, Time start) { return forward(action, i, start); });
    case Activity::backward:
      each(now, [&](std::size_t i, Time start) { return backward(action, i, start); });
      if (!gradient_ready_.empty()) gradient_ready_[index] = last_of(now);
      return;
    case Activity::compress:
      return each(now, [&](std::size_t i, Time start) { return compress(index, i, start); });
    case Activity::decompress:
      return each(now, [&](std::size_t i, Time start) { return decompress(index, i, start); });
    case Activity::update:
      return each(now, [&](std::size_t i, Time start) { return update(index, i, start); });
    case Activity::begin:
    case Activity::message:
    case Activity::broadcast:
    case Activity::waiting:
      return;
  }
}

template <class Clock>
Time StepWorkers<Clock>::forward(const Action& action, std::size_t worker, Time now) {
  const WorkerWork& work = work_of(worker);
  const Time begin = now;
  for (int l = action.first; l <= action.last; ++l) {
    const Time start = now;
    now = states_[worker].ledger.finish(start, work.forward[static_cast<std::size_t>(l)]);
    draw(worker, {.activity = Activity::forward, .index = l, .start = start, .end = now});
  }
  states_[worker].ledger.compute(&Breakdown::forward, begin, now);
  return states_[worker].forward_end = now;
}

template <class Clock>
Time StepWorkers<Clock>::backward(const Action& action, std::size_t worker, Time now) {
  WorkerInStep& state = states_[worker];
  const WorkerWork& work = work_of(worker);
  const Time begin = now;
  for (int l = action.last; l >= action.first; --l) {
    const auto layer = static_cast<std::size_t>(l);
    const Time start = now;
    now = state.ledger.finish(start, work.backward[layer]);
    draw(worker, {.activity = Activity::backward,
                  .index = l,
                  .size = trace_.layers[layer].gradient,
                  .start = start,
                  .end = now});
  }
  state.ledger.compute(&Breakdown::backward, begin, now);
  return state.backward_end = now;
}

template <class Clock>
Time StepWorkers<Clock>::compress(std::size_t message, std::size_t worker, Time start) {
  WorkerInStep& state = states_[worker];
  const Duration work = one_for_all
                            ? step_.prices.compress(message)
                            : scaled(step_.encoded[message].compress, work_of(worker).factor);
  state.backward_end = state.ledger.finish(start, work);
  state.ledger.compute(&Breakdown::compression, start, state.backward_end);
  state.encoding += state.backward_end - start;
  draw(worker, {.activity = Activity::compress,
                .index = step_.plan.messages[message].first_layer,
                .size = step_.plan.messages[message].size,
                .start = start,
                .end = state.backward_end});
  return state.backward_end;
}

template <class Clock>
Time StepWorkers<Clock>::decompress(std::size_t layer, std::size_t worker, Time start) {
  WorkerInStep& state = states_[worker];
  const Duration work =
      step_.is_late() ? parts_.of(state.left_decompress, layer) : decompress_of(worker);
  const Time end = state.ledger.finish(start, work);
  state.ledger.compute(&Breakdown::compression, start, end);
  draw(worker, {.activity = Activity::decompress, .start = start, .end = end});
  return end;
}

template <class Clock>
Time StepWorkers<Clock>::update(std::size_t layer, std::size_t worker, Time start) {
  WorkerInStep& state = states_[worker];
  const Duration work = step_.is_late() ? parts_.of(state.left_update, layer)
                                        : scaled(trace_.update, work_of(worker).factor);
  const Time end = state.ledger.finish(start, work);
  state.ledger.compute(&Breakdown::update, start, end);
  draw(
      worker,
      {.activity = Activity::update, .index = static_cast<int>(layer), .start = start, .end = end});
  return end;
}

// For each worker that the timeline wants and this one stands for.
template <class Clock>
void StepWorkers<Clock>::draw_slice(std::size_t worker, Slice slice) {
  slice.iteration = step_.iteration;
  if (step_.is_steady(one_for_all)) {  // any iteration: it is shown as the first one wanted
    slice.iteration = question_.timeline->first_iteration;
    slice.start = slice.start - (step_.origin - Time());
    slice.end = slice.end - (step_.origin - Time());
  }
  for (const int wanted : question_.timeline->workers) {
    if (states_.size() > 1 && static_cast<std::size_t>(wanted) != worker) continue;
    slice.worker = wanted;
    question_.timeline->add(slice);
  }
}

template <class Clock>
void StepWorkers<Clock>::record(const Sending& what, Clock ready, Time sent, Clock& ends) {
  const Time everybody = last_of(ready);
  if constexpr (!one_for_all) expand(ends.size());
  fit(ready);
  fit(ends);
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const Time waits = at(ready, i);
    const Time end = at(ends, i);
    const Time begin = states_[i].ledger.exchange(waits, everybody, sent, end);
    if (step_.draws) draw_message(what, i, {waits, std::min(everybody, begin)}, {begin, end});
  }
}

template <class Clock>
void StepWorkers<Clock>::draw_message(const Sending& what, std::size_t worker, Span waits,
                                      Span goes) {
  Slice slice{.activity = Activity::waiting,
              .channel = what.channel,
              .index = what.index,
              .first_layer = what.first_layer,
              .last_layer = what.last_layer,
              .size = what.size,
              .start = waits.from,
              .end = waits.to};
  draw_slice(worker, slice);
  slice.activity = what.activity;
  slice.start = goes.from;
  slice.end = goes.to;
  draw_slice(worker, slice);
}

template <class Clock>
void StepWorkers<Clock>::slow_down(Time from, Time to) {
  for (WorkerInStep& state : states_) state.ledger.slow_down(from, to);
}

template <class Clock>
void StepWorkers<Clock>::slow_down(const std::vector<ExchangeTimes>& messages) {
  if (question_.interference == 1) return;
  for (const ExchangeTimes& message : messages) {
    const Time everybody = last_of(message.starts);
    expand(message.ends.size());
    for (std::size_t i = 0; i < states_.size(); ++i)
      states_[i].ledger.slow_down(everybody, at(message.ends, i));
  }
}

template <class Clock>
void StepWorkers<Clock>::count_once() {
  for (WorkerInStep& state : states_) state.ledger.count_once();
}

template <class Clock>
Duration StepWorkers<Clock>::repeat_backward(const WorkerInStep& before) {
  WorkerInStep& state = states_.front();
  const Duration later = state.forward_end - before.forward_end;
  state.backward_end = before.backward_end + later;
  state.ledger.repeat_backward(before.ledger, before.encoding);
  return later;
}

template class StepWorkers<Time>;
template class StepWorkers<Clocks>;

}  // namespace sgdsim

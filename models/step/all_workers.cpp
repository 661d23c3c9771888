// Message fidelity: every worker has its own clock, every message of every collective is played.
//
// Messages go in the order of the plan. A worker enters a collective when its gradients are ready
// and it has left the one before; the collective's program then moves everybody's clock. Memory is
// per worker: arrays of clocks, and one program per message of the plan, which is small.
#include "models/step/all_workers.h"

namespace sgdsim {

// From one that stands for all to all.
void AllWorkers::expand() {
  if (!alike()) return;
  states_.resize(static_cast<std::size_t>(workers()), states_.front());
  allowed_.resize(states_.size(), allowed_.front());
  if (!complete_.empty()) complete_.resize(states_.size(), complete_.front());
  forward_.resize(states_.size(), forward_.front());
  layer_work_.resize(states_.size(), layer_work_.front());
  factors_.resize(states_.size(), factors_.front());
  if (!sums_.empty()) sums_.resize(states_.size(), sums_.front());
}

StepResult AllWorkers::run() {
  const int count = question_.warm_up + question_.iterations;
  if (!question_.strategy->replans) plan_as_profiled();
  for (int iteration = 0; iteration < count; ++iteration) {
    choose_density(iteration - question_.warm_up);
    start_iteration(iteration);
    if (plan_.bsp != BspForm::none) {
      play_bsp();
    } else {
      play_all_forward();
      if (question_.strategy->replans) plan_as_played();
      if (plan_.order == Order::priority)
        play_by_priority();
      else if (question_.channels > 1)
        play_on_channels();
      else
        play_in_order();
    }
    finish_iteration(iteration >= question_.warm_up);
  }
  result_.messages = std::move(records_);
  result_.message_count = player_.traffic.messages;
  result_.wire_B = player_.traffic.wire_B;
  result_.path = name_of(player_.path);
  result_.quality = sparsity_.quality();
  result_.settle(sums_);
  return std::move(result_);
}

// A plan holds for one density.
void AllWorkers::choose_density(int measured) {
  const Compression* compression = question_.cost.compression();
  if (!changes_density(compression, measured)) return;
  cost_ = question_.cost.at_density(density_at(compression->densities, measured));
  if (!question_.strategy->replans) plan_as_profiled();
}

// Draws what every worker's layers take in this iteration.
void AllWorkers::start_iteration(int iteration) {
  iteration_ = iteration;
  const std::size_t layers = work_.size();
  forward_.resize(states_.size());
  layer_work_.resize(states_.size());
  factors_.resize(states_.size());
  origin_ = Time::last();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    WorkerInStep& state = states_[i];
    factors_[i] =
        draw_work(trace_, work_, question_.workers, fixed_[i],
                  {question_.seed, static_cast<int>(i), iteration}, forward_[i], layer_work_[i]);
    state.forward_work = state.backward_work = Duration();
    for (const Duration work : forward_[i]) state.forward_work += work;
    state.update = scaled(trace_.update, factors_[i]);
    state.last_end = state.start;
    state.communication = state.waiting = state.compress = state.decompress = Duration();
    state.late_decompress = state.late_update = Duration();
    state.busy.clear();
    state.waits.clear();
    origin_ = std::min(origin_, state.start);
  }
  next_layer_ = static_cast<int>(layers) - 1;
  records_.clear();
  player_.traffic = {};
}

Clocks AllWorkers::play_forward(int layer, const Clocks& starts) {
  const auto l = static_cast<std::size_t>(layer);
  Clocks ends(states_.size());
  for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = at(starts, i) + forward_[i][l];
  record([&](std::size_t i) {
    return Slice{.activity = Activity::forward,
                 .index = layer,
                 .size = {},
                 .start = at(starts, i),
                 .end = ends[i]};
  });
  return ends;
}

Clocks AllWorkers::play_update(int layer, Clocks now) {
  const auto l = static_cast<std::size_t>(layer);
  for (std::size_t i = 0; i < now.size(); ++i) {
    WorkerInStep& state = states_[i];
    const Duration decompress = scaled(state.left_decompress, shares_[l]);
    const Duration update = scaled(state.left_update, shares_[l]);
    now[i] = std::max(now[i], state.start + allowed_[i][l]) + decompress + update;
    state.late_decompress += decompress;
    state.late_update += update;
  }
  record([&](std::size_t i) {
    return Slice{.activity = Activity::update,
                 .index = layer,
                 .size = {},
                 .start = now[i] - scaled(states_[i].left_update, shares_[l]),
                 .end = now[i]};
  });
  return now;
}

// A batch is loaded while the one before it is worked on.
Clocks AllWorkers::wait_for_batches(Clocks now) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    now[i] = std::max(now[i], states_[i].loaded);
    states_[i].loaded = now[i] + trace_.load;
  }
  return now;
}

// Each layer as soon as it may. Where messages go on, that depends on the worker, and the layer is
// decoded and updated first, with what the iteration before it has left.
void AllWorkers::play_all_forward() {
  Clocks now(states_.size());
  for (std::size_t i = 0; i < now.size(); ++i) now[i] = states_[i].start;
  for (std::size_t l = 0; l < work_.size(); ++l) {
    if (!allowed_.front().empty()) now = play_update(static_cast<int>(l), std::move(now));
    if (l == 0 && plan_.gate == Gate::per_layer) now = wait_for_batches(std::move(now));
    now = play_forward(static_cast<int>(l), now);
  }
  for (std::size_t i = 0; i < now.size(); ++i)
    states_[i].forward_end = states_[i].backward_now = now[i];
}

void AllWorkers::plan_as_profiled() {
  std::vector<Duration> ready(work_.size());
  Duration now = trace_.forward();
  for (std::size_t l = work_.size(); l-- > 0;) ready[l] = now += work_[l];
  plan_ = question_.strategy->plan({trace_, cost_, ready});
  check_plan(question_, plan_);
}

// By when gradients are ready on the last worker, without any interference.
void AllWorkers::plan_as_played() {
  std::vector<Duration> ready(work_.size());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    Time now = states_[i].forward_end;
    for (std::size_t l = work_.size(); l-- > 0;) {
      now += layer_work_[i][l];
      ready[l] = std::max(ready[l], now - origin_);
    }
  }
  plan_ = question_.strategy->plan({trace_, cost_, ready, wakes_ - origin_});
  wakes_ = origin_ + plan_.wakes;
  check_plan(question_, plan_);
}

// Work of the compute stream in the backward pass, slower while messages travel; returns how long
// it took.
Duration AllWorkers::compute(WorkerInStep& state, Duration work) const {
  const Time begin = state.backward_now;
  if (question_.interference == 1)
    state.backward_now += work;
  else
    state.backward_now = Time() + state.busy.finish(begin - Time(), work, question_.interference);
  return state.backward_now - begin;
}

// The next layer of everybody's backward, from where it stands.
void AllWorkers::play_backward(int layer) {
  const auto l = static_cast<std::size_t>(layer);
  Clocks begin(states_.size());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    WorkerInStep& state = states_[i];
    begin[i] = state.backward_now;
    state.backward_work += compute(state, layer_work_[i][l]);
  }
  record([&](std::size_t i) {
    return Slice{.activity = Activity::backward,
                 .index = layer,
                 .size = trace_.layers[l].gradient,
                 .start = begin[i],
                 .end = states_[i].backward_now};
  });
}

void AllWorkers::play_backward_to(int layer) {
  for (; next_layer_ >= layer; --next_layer_) play_backward(next_layer_);
}

// When each worker has all gradients of a message, encoded.
Clocks AllWorkers::ready_of(const PlannedMessage& message, const Encoded& encoded) {
  play_backward_to(message.first_layer);
  Clocks begin(states_.size());
  Clocks ready(states_.size());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    WorkerInStep& state = states_[i];
    begin[i] = state.backward_now;
    state.compress += compute(state, scaled(encoded.compress, factors_[i]));
    state.decompress += scaled(encoded.decompress, factors_[i]);
    ready[i] = state.backward_now;
  }
  record([&](std::size_t i) {
    return Slice{.activity = Activity::compress,
                 .index = message.first_layer,
                 .size = message.size,
                 .start = begin[i],
                 .end = ready[i]};
  });
  return ready;
}

// Where the worker's time went in this iteration.
Account AllWorkers::account_of(const WorkerInStep& state) const {
  const bool late = plan_.gate == Gate::per_layer;
  Account account;
  Breakdown& one = account.parts;
  one.forward = state.forward_work;
  one.backward = state.backward_work;
  one.update = late ? state.late_update : state.update;
  one.compression = state.compress + (late ? state.late_decompress : state.decompress);
  one.communication = one.overlapped = account.carried = state.communication;
  one.waiting = state.waiting;
  if (late || plan_.bsp != BspForm::none) return account;  // it goes on into the next forward
  const Duration backward_end = state.backward_now - Time();
  account.carried = state.busy.within(backward_end, Duration::longest());
  one.overlapped = state.busy.within(state.start - Time(), backward_end);
  one.waiting = state.waits.within(backward_end, Duration::longest());
  return account;
}

void AllWorkers::finish_iteration(bool measured) {
  if (measured) sums_.resize(states_.size(), sums_.empty() ? Account() : sums_.front());
  Time end;
  auto summed = [&](std::size_t i) {
    return std::max(states_[i].last_end, states_[i].backward_now);
  };
  if (plan_.gate == Gate::all) {
    record([&](std::size_t i) {
      return Slice{.activity = Activity::decompress,
                   .size = {},
                   .start = summed(i),
                   .end = summed(i) + states_[i].decompress};
    });
    record([&](std::size_t i) {
      const Time begin = summed(i) + states_[i].decompress;
      return Slice{.activity = Activity::update,
                   .size = {},
                   .start = begin,
                   .end = begin + states_[i].update};
    });
  }
  for (std::size_t i = 0; i < states_.size(); ++i) {
    WorkerInStep& state = states_[i];
    Time next_start;
    if (plan_.gate == Gate::all) {
      next_start = std::max(summed(i) + state.decompress + state.update, state.start + trace_.load);
    } else {  // an iteration reaches from one backward end to the next
      next_start = state.backward_now;
      allowed_[i].resize(work_.size());
      for (std::size_t l = 0; l < work_.size(); ++l)
        allowed_[i][l] = std::max(Duration(), complete_[i][l] - next_start);
      state.left_decompress = state.decompress;
      state.left_update = state.update;
    }
    if (measured) sums_[i] += account_of(state);
    state.start = next_start;
    end = std::max(end, next_start);
  }
  if (measured) result_.iterations.push_back(end - last_iteration_end_);
  last_iteration_end_ = end;
}

StepResult simulate_all_workers(const StepQuestion& question) { return AllWorkers(question).run(); }

}  // namespace sgdsim

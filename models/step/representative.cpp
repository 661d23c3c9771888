// Closed form: one worker stands for all, a message costs its formula.
//
// With alike workers nothing changes from one iteration to the next, except where the next forward
// starts before all messages have ended. There the forward of the steady state is longer, and
// everything after it is the same, only later: every message has ended when the forward has.

#include "models/step/representative.h"

#include <algorithm>
#include <utility>

#include "models/step/channels.h"

namespace sgdsim {

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
  else if (question_.channels > 1)
    play_on_channels(forward_end);
  else
    play_in_order(forward_end);
  finish_iteration(forward_end);
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
  ChannelNumbers numbers;
  for (std::size_t i = 0; i < records_.size(); ++i)
    slices.push_back({.activity = Activity::message,
                      .channel = numbers.next(records_[i].start, records_[i].end),
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

StepResult simulate_representative(const StepQuestion& question) {
  return Representative(question).run();
}

}  // namespace sgdsim

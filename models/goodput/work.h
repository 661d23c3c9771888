// The work of one job: what it has computed and saved, and what every moment of it was. It runs up
// to a moment, stands, or goes back to a save; why, others say (player.cpp).
//
// Between two events the pace is constant, so that whole intervals, and whole rounds of saves
// between two that go to the store, are jumped over. State is few whole numbers: which save was the
// last, and how far the interval after it is. Of events at the same moment a failure comes first:
// what would be saved just then is not.
#pragma once

#include <algorithm>
#include <cmath>

#include "models/goodput/agenda.h"
#include "models/goodput/player.h"

namespace sgdsim::goodput {

// Most of them are within 64 bits, where division is quick.
inline LongPs quotient(LongPs a, LongPs b) {
  constexpr LongPs quick = std::numeric_limits<int64_t>::max();
  if (a <= quick && b <= quick) return static_cast<int64_t>(a) / static_cast<int64_t>(b);
  return a / b;
}

class Work {
 public:
  explicit Work(const Plan& plan)
      : plan_(plan),
        step_(to_ps(plan.step_s)),
        interval_(step_ * plan.interval),
        stall_(to_ps(plan.stall_s)),
        durable_(to_ps(plan.durable_s)),
        store_stall_(to_ps(plan.store_stall_s)),
        store_durable_(to_ps(plan.store_durable_s)),
        last_segment_((plan.steps + plan.interval - 1) / plan.interval),
        last_interval_(step_ * (plan.steps - (last_segment_ - 1) * plan.interval)) {}

  LongPs now() const { return now_; }
  const Account& account() const { return account_; }
  int64_t segment() const { return segment_; }  // saves so far
  bool is_saving() const { return is_saving_; }
  // Of a step's time, from now on.
  void set_factor(double factor) { factor_ = factor; }

  // Up to that moment. True: the run is done before it.
  bool run(LongPs until) {
    while (true) {
      if (segment_ == last_segment_) return wait_for_end(until);
      if (now_ == until) return false;
      if (done_ == 0 && stalled_ == 0 && !is_saving_) jump(until);
      if (!compute(until) || !save(until)) return false;
    }
  }
  void stand(LongPs until, Part as) {
    part(as) += until - now_;
    now_ = until;
  }

  // ---- going back

  // A save is durable if it was so before now.
  int64_t durable_segment() const {
    if (last_end_ + durable_ < now_) return segment_;
    if (segment_ <= base_) return base_;
    if (before_last_end_ + durable_ < now_) return segment_ - 1;
    return std::max(base_, segment_ - 2);
  }
  int64_t stored_segment() const {
    if (stored_end_ + store_durable_ < now_) return stored_;
    if (before_stored_end_ + store_durable_ < now_) return before_stored_;
    return std::min(before_stored_, safe_stored_);
  }
  void go_back_to_durable() {
    const int64_t segment = durable_segment();
    go_back_to(segment, segment == base_ ? kept_ : 0);
  }
  // `kept`: the work beyond that save that a further one holds.
  void go_back_to(int64_t segment, LongPs kept = 0) {
    lose(work_of(segment_) + done_ - work_of(segment) - kept);
    segment_ = base_ = segment;
    kept_ = kept;
    last_end_ = before_last_end_ = -forever;  // durable since ever
    if (stored_ > segment) {
      stored_ = segment;
      if (plan_.store_every > 0) stored_ -= segment % plan_.store_every;
    }
    before_stored_ = safe_stored_ = stored_;
    stored_end_ = before_stored_end_ = -forever;
    begin_segment();
    done_ = kept;
  }
  void throw_step_away() {
    const LongPs lost = done_ % step_;
    lose(lost);
    done_ -= lost;
  }
  // All that is done is in a save of its own.
  void keep_all() {
    base_ = segment_;
    kept_ = done_;
    stalled_ = 0;
    last_end_ = before_last_end_ = -forever;
  }

 private:
  LongPs& part(Part part) { return account_[static_cast<std::size_t>(part)]; }
  void lose(LongPs work) {
    part(Part::productive) -= work;
    part(Part::recomputed) += work;
  }

  // Of 106 days and more, which 64 bits do not hold, too.
  LongPs pace(LongPs work) const {
    return factor_ == 1 ? work
                        : static_cast<LongPs>(std::round(static_cast<double>(work) * factor_));
  }
  LongPs work_of(int64_t segment) const {
    return segment < last_segment_ ? interval_ * segment
                                   : interval_ * (last_segment_ - 1) + last_interval_;
  }
  bool is_stored(int64_t segment) const {
    return plan_.store_every > 0 && (segment % plan_.store_every == 0 || segment == last_segment_);
  }
  // Of the save that ends this segment.
  LongPs stall_of(int64_t segment) const {
    return is_stored(segment) ? stall_ + store_stall_ : stall_;
  }

  // The end of a run is a save that is durable.
  bool wait_for_end(LongPs until) {
    LongPs end = last_end_ + durable_;
    if (plan_.store_every > 0) end = std::max(end, stored_end_ + store_durable_);
    const bool is_done = end < until;
    stand(std::max(now_, std::min(end, until)), Part::stalled);
    return is_done;
  }

  void jump(LongPs until) {
    if (plan_.store_every > 0 && segment_ % plan_.store_every == 0) jump_rounds(until);
    jump_segments(until);
  }

  // Whole segments at once, up to the last one or the next that goes to the store.
  void jump_segments(LongPs until) {
    int64_t most = last_segment_ - 1 - segment_;
    if (plan_.store_every > 0)
      most = std::min(most, plan_.store_every - 1 - segment_ % plan_.store_every);
    if (most <= 0) return;
    const LongPs computing = pace(interval_);
    const LongPs length = computing + stall_;
    const auto count = static_cast<int64_t>(std::min<LongPs>(most, quotient(until - now_, length)));
    if (count <= 0) return;
    pass_segments(count, computing, stall_ * count);
    before_last_end_ = count > 1 ? now_ - length : last_end_;
    last_end_ = now_;
  }

  // From one save in the store to another, as often as it fits.
  void jump_rounds(LongPs until) {
    const int64_t every = plan_.store_every;
    const int64_t most = (last_segment_ - 1 - segment_) / every;
    if (most <= 0) return;
    const LongPs computing = pace(interval_);
    const LongPs stalled = stall_ * every + store_stall_;
    const LongPs length = computing * every + stalled;
    const auto count = static_cast<int64_t>(std::min<LongPs>(most, quotient(until - now_, length)));
    if (count <= 0) return;
    pass_segments(every * count, computing, stalled * count);
    before_last_end_ = every * count > 1 ? now_ - computing - stall_ - store_stall_ : last_end_;
    last_end_ = now_;
    before_stored_ = count > 1 ? segment_ - every : stored_;
    before_stored_end_ = count > 1 ? now_ - length : stored_end_;
    stored_ = segment_;
    stored_end_ = now_;
  }

  void pass_segments(int64_t count, LongPs computing, LongPs stalled) {
    part(Part::productive) += interval_ * count;
    part(Part::slow) += (computing - interval_) * count;
    part(Part::stalled) += stalled;
    now_ += computing * count + stalled;
    segment_ += count;
  }

  // False: there was no time to compute the rest of the segment.
  bool compute(LongPs until) {
    if (is_saving_) return true;
    const LongPs left = work_of(segment_ + 1) - work_of(segment_) - done_;
    const LongPs needed = pace(left);
    const LongPs time = std::min(needed, until - now_);
    LongPs work = left;
    if (time < needed)
      work = factor_ == 1
                 ? time
                 : std::min(left, static_cast<LongPs>(static_cast<double>(time) / factor_));
    part(Part::productive) += work;
    part(Part::slow) += time - work;
    done_ += work;
    now_ += time;
    is_saving_ = time == needed;
    return is_saving_;
  }

  bool save(LongPs until) {
    const LongPs needed = stall_of(segment_ + 1) - stalled_;
    const LongPs time = std::min(needed, until - now_);
    part(Part::stalled) += time;
    stalled_ += time;
    now_ += time;
    if (time < needed) return false;
    ++segment_;
    before_last_end_ = last_end_;
    last_end_ = now_;
    if (is_stored(segment_)) {
      before_stored_ = stored_;
      before_stored_end_ = stored_end_;
      stored_ = segment_;
      stored_end_ = now_;
    }
    begin_segment();
    return true;
  }

  void begin_segment() {
    done_ = stalled_ = 0;
    is_saving_ = false;
  }

  const Plan& plan_;
  LongPs step_, interval_, stall_, durable_, store_stall_, store_durable_;
  int64_t last_segment_;
  LongPs last_interval_;

  LongPs now_ = 0;
  double factor_ = 1;
  Account account_{};
  int64_t segment_ = 0;
  LongPs done_ = 0;     // work since
  LongPs stalled_ = 0;  // of the save that follows
  bool is_saving_ = false;
  int64_t base_ = 0;  // the save at which it began again
  LongPs kept_ = 0;   // beyond it, by a save before planned work
  LongPs last_end_ = -forever, before_last_end_ = -forever;
  int64_t stored_ = 0, before_stored_ = 0, safe_stored_ = 0;
  LongPs stored_end_ = -forever, before_stored_end_ = -forever;
};

}  // namespace sgdsim::goodput

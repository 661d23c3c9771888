// The clock of one job. State is few whole numbers: which save was the last, how far the interval
// after it is, and what the job is doing.
#include "models/goodput/player.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <set>

#include "models/goodput/closed_forms.h"
#include "models/goodput/sources.h"
#include "sim/core/error.h"

namespace sgdsim::goodput {
namespace {

constexpr LongPs forever = static_cast<LongPs>(1) << 122;
constexpr int64_t most_events = 20'000'000;

enum class Doing : uint8_t { running, detecting, waiting, restarting, shrinking, planned };

// In the order of Doing.
constexpr std::array<Part, 6> parts_of = {Part::productive, Part::detecting,  Part::waiting,
                                          Part::restarting, Part::restarting, Part::planned};

struct Timed {
  LongPs at = 0;
  std::size_t cause = 0;
  int64_t number = 0;  // nodes that are repaired, or the last good save
  bool operator<(const Timed& other) const { return at < other.at; }
};
using Agenda = std::multiset<Timed>;

// Most of them are within 64 bits, where division is quick.
LongPs quotient(LongPs a, LongPs b) {
  constexpr LongPs quick = std::numeric_limits<int64_t>::max();
  if (a <= quick && b <= quick) return static_cast<int64_t>(a) / static_cast<int64_t>(b);
  return a / b;
}

class Job {
 public:
  Job(const Plan& plan, uint64_t seed, uint64_t run, const std::optional<GivenFailures>& given)
      : plan_(plan),
        drawn_(plan.causes, false, seed, run, given),
        recorded_(plan.causes, true, seed, run, {}),
        luck_(seed, run, key_of("luck of a job")),
        step_(to_ps(plan.step_s)),
        interval_(step_ * plan.interval),
        stall_(to_ps(plan.stall_s)),
        durable_(to_ps(plan.durable_s)),
        last_segment_((plan.steps + plan.interval - 1) / plan.interval),
        last_interval_(step_ * (plan.steps - (last_segment_ - 1) * plan.interval)),
        spares_(plan.spares.value_or(0)),
        next_planned_(plan.planned_every_s > 0 ? to_ps(plan.planned_every_s) : forever) {}

  PlayedRun play(LongPs until) {
    for (int64_t events = 0;; ++events) {
      if (events > most_events)
        throw InputError(
            "", "the run has not ended after " + std::to_string(events) +
                    " failures and repairs: it never will, or fails too often to be simulated");
      const LongPs drawn = next_drawn(), failure = std::min(drawn, recorded_.next());
      const LongPs other = std::min({doing_until_, first(slow_), first(repairs_), first(replicas_),
                                     first(corrupt_), next_planned_});
      const LongPs next = std::min({failure, other, until});
      const bool is_done = spend(next);
      if (is_done || next == until) return {now_, account_, failures_, events, is_done};
      if (failure <= other)
        fail((drawn == failure ? drawn_ : recorded_).take());
      else
        happen();
    }
  }

 private:
  static LongPs first(const Agenda& agenda) {
    return agenda.empty() ? forever : agenda.begin()->at;
  }

  bool is_safe() const { return !plan_.can_fail && doing_ != Doing::running; }
  // Where failures wait for work to go on, the clock of drawn ones stands still meanwhile.
  LongPs next_drawn() const {
    return is_safe() ? forever : std::min(forever, drawn_.next() + paused_);
  }

  LongPs& part(Part part) { return account_[static_cast<std::size_t>(part)]; }

  // Up to that moment. True: the run is done before it.
  bool spend(LongPs until) {
    if (doing_ == Doing::running) return run(until);
    part(parts_of[static_cast<std::size_t>(doing_)]) += until - now_;
    if (!plan_.can_fail) paused_ += until - now_;
    now_ = until;
    return false;
  }

  // ---- running

  LongPs pace(LongPs work) const {
    return factor_ == 1 ? work
                        : static_cast<LongPs>(std::llround(static_cast<double>(work) * factor_));
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
    return is_stored(segment) ? stall_ + to_ps(plan_.store_stall_s) : stall_;
  }

  bool run(LongPs until) {
    while (true) {
      if (segment_ == last_segment_) return wait_for_end(until);
      if (now_ == until) return false;
      if (done_ == 0 && stalled_ == 0 && !is_saving_) jump(until);
      if (!compute(until) || !save(until)) return false;
    }
  }

  // The end of a run is a save that is durable.
  bool wait_for_end(LongPs until) {
    LongPs end = last_end_ + durable_;
    if (plan_.store_every > 0) end = std::max(end, stored_end_ + to_ps(plan_.store_durable_s));
    const bool is_done = end < until;
    const LongPs to = std::max(now_, std::min(end, until));
    part(Part::stalled) += to - now_;
    now_ = to;
    return is_done;
  }

  // Whole segments at once, up to the last one or the next that goes to the store.
  void jump(LongPs until) {
    int64_t most = last_segment_ - 1 - segment_;
    if (plan_.store_every > 0)
      most = std::min(most, plan_.store_every - 1 - segment_ % plan_.store_every);
    if (most <= 0) return;
    const LongPs computing = pace(interval_);
    const LongPs length = computing + stall_;
    const auto count = static_cast<int64_t>(std::min<LongPs>(most, quotient(until - now_, length)));
    if (count <= 0) return;
    part(Part::productive) += interval_ * count;
    part(Part::slow) += (computing - interval_) * count;
    part(Part::stalled) += stall_ * count;
    before_last_end_ = count > 1 ? now_ + length * (count - 1) : last_end_;
    now_ += length * count;
    last_end_ = now_;
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

  // ---- rolling back

  // A save is durable if it was so before now.
  int64_t durable_segment() const {
    if (last_end_ + durable_ < now_) return segment_;
    if (segment_ <= base_) return base_;
    if (before_last_end_ + durable_ < now_) return segment_ - 1;
    return std::max(base_, segment_ - 2);
  }
  void roll_back_to_durable() {
    const int64_t segment = durable_segment();
    roll_back_to(segment, segment == base_ ? kept_ : 0);
  }
  int64_t stored_segment() const {
    const LongPs late = to_ps(plan_.store_durable_s);
    if (stored_end_ + late < now_) return stored_;
    if (before_stored_end_ + late < now_) return before_stored_;
    return std::min(before_stored_, safe_stored_);
  }

  // `kept`: the work beyond that save that a further one holds.
  void roll_back_to(int64_t segment, LongPs kept = 0) {
    const LongPs lost = work_of(segment_) + done_ - work_of(segment) - kept;
    part(Part::productive) -= lost;
    part(Part::recomputed) += lost;
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
    std::erase_if(corrupt_, [&](const Timed& one) { return segment <= one.number; });
  }

  // ---- what happens

  void fail(std::size_t number) {
    const Cause& cause = plan_.causes[number];
    if (is_safe() && cause.effect != Effect::slow) return;  // it is recorded for this moment
    switch (cause.effect) {
      case Effect::slow:
        slow_.insert(
            {now_ + to_ps(cause.lasts_varies ? luck_.exponential(cause.lasts_s) : cause.lasts_s),
             number, 0});
        set_factor();
        return;
      case Effect::corrupt:
        corrupt_.insert({now_ + to_ps(cause.detect_s), number, segment_});
        return;
      case Effect::stop:
        break;
    }
    if (plan_.shrink)
      lose_replica(cause);
    else
      stop(cause);
  }

  void stop(const Cause& cause) {
    ++failures_;
    const bool was_up = doing_ == Doing::running;
    if (was_up) dead_together_ = 0;
    const bool reads_store = loses_memory(cause);
    if (reads_store)
      roll_back_to(stored_segment());
    else if (was_up)
      roll_back_to_durable();
    reads_store_ = reads_store_ || reads_store;
    if (cause.needs_node && plan_.spares) {
      needed_ += cause.nodes;
      if (cause.repair_s < never_s) repairs_.insert({now_ + to_ps(cause.repair_s), 0, cause.nodes});
    }
    on_new_node_ = cause.needs_node;
    begin(Doing::detecting, cause.detect_s);
  }

  // Copies of a group are gone once all its nodes have died since the job last ran.
  bool loses_memory(const Cause& cause) {
    if (plan_.store_every == 0) return false;
    if (!cause.memory_survives) return true;
    if (!cause.needs_node) return false;
    const auto chance = [&](int64_t dead) {
      if (dead < plan_.copy_group) return 1.;
      if (dead > std::min(plan_.nodes, most_dead_together)) return 0.;
      return copies_survive(plan_.nodes, plan_.copy_group, dead);
    };
    const double before = chance(dead_together_);
    dead_together_ += cause.nodes;
    return luck_.uniform() * before > chance(dead_together_);
  }

  // Its step is thrown away, and all others wait until they go on without it.
  void lose_replica(const Cause& cause) {
    const int64_t replicas = plan_.shrink->replicas;
    if (luck_.uniform() * static_cast<double>(replicas) < static_cast<double>(replicas_.size()))
      return;  // it was away
    ++failures_;
    replicas_.insert({now_ + to_ps(cause.repair_s), 0, 0});
    if (doing_ == Doing::running && !is_saving_) {
      const LongPs lost = done_ % step_;
      part(Part::productive) -= lost;
      part(Part::recomputed) += lost;
      done_ -= lost;
    }
    set_factor();
    if (static_cast<int64_t>(replicas_.size()) < replicas) {
      if (doing_ != Doing::planned) begin(Doing::shrinking, cause.detect_s + plan_.shrink->stall_s);
      return;
    }
    roll_back_to_durable();
    begin(Doing::waiting, never_s);
  }

  void happen() {
    if (doing_until_ == now_)
      end_doing();
    else if (first(slow_) == now_)
      slow_.erase(slow_.begin()), set_factor();
    else if (first(repairs_) == now_)
      end_repair();
    else if (first(replicas_) == now_)
      return_replica();
    else if (first(corrupt_) == now_)
      detect_corruption();
    else
      maintain();
  }

  void begin(Doing doing, double for_s) {
    doing_ = doing;
    doing_until_ =
        doing == Doing::running || doing == Doing::waiting ? forever : now_ + to_ps(for_s);
  }

  void end_doing() {
    if (doing_ == Doing::detecting) {
      if (plan_.spares && needed_ > spares_)
        begin(Doing::waiting, never_s);
      else
        restart();
      return;
    }
    if (doing_ != Doing::planned) on_new_node_ = reads_store_ = false;
    begin(Doing::running, never_s);
  }

  void restart() {
    spares_ -= needed_;
    needed_ = 0;
    begin(Doing::restarting, (on_new_node_ ? plan_.node_restart_s : plan_.restart_s) +
                                 (reads_store_ ? plan_.store_restart_s : 0));
  }

  void end_repair() {
    spares_ += repairs_.begin()->number;
    repairs_.erase(repairs_.begin());
    if (doing_ == Doing::waiting && needed_ <= spares_) restart();
  }

  void return_replica() {
    const bool were_all_away = static_cast<int64_t>(replicas_.size()) == plan_.shrink->replicas;
    replicas_.erase(replicas_.begin());
    set_factor();
    if (were_all_away) restart();
  }

  // Back to the last save before it, if that is kept; else to the beginning.
  void detect_corruption() {
    const Timed found = *corrupt_.begin();
    corrupt_.erase(corrupt_.begin());
    const int64_t durable = durable_segment();
    const int64_t good = std::min(found.number, durable);
    roll_back_to(durable - good < plan_.keep ? good : 0);
    if (doing_ != Doing::running) return;
    ++failures_;
    begin(Doing::restarting, plan_.restart_s);
  }

  // With a save just before, and the restart that a failure needs. Meanwhile nothing else is
  // planned.
  void maintain() {
    next_planned_ += to_ps(plan_.planned_every_s);
    if (doing_ != Doing::running) return;
    base_ = segment_;
    kept_ = done_;
    stalled_ = 0;
    last_end_ = before_last_end_ = -forever;
    begin(Doing::planned, plan_.stall_s + plan_.durable_s + plan_.planned_s + plan_.restart_s);
  }

  void set_factor() {
    double slowest = 1;
    for (const Timed& one : slow_) slowest = std::max(slowest, plan_.causes[one.cause].factor);
    if (!replicas_.empty()) slowest *= shrink_factor();
    factor_ = slowest;
  }
  double shrink_factor() const {
    const auto& factors = plan_.shrink->step_factors;
    const std::size_t away = replicas_.size();
    if (away <= factors.size()) return factors[away - 1];
    const auto all = static_cast<double>(plan_.shrink->replicas);
    return all / std::max(1., all - static_cast<double>(away));
  }

  const Plan& plan_;
  Sources drawn_, recorded_;
  Draws luck_;
  LongPs step_, interval_, stall_, durable_;
  int64_t last_segment_;
  LongPs last_interval_;
  int64_t spares_;
  LongPs next_planned_;

  LongPs now_ = 0, paused_ = 0;
  double factor_ = 1;
  Doing doing_ = Doing::running;
  LongPs doing_until_ = forever;
  int64_t segment_ = 0;  // saves so far
  LongPs done_ = 0;      // work since
  LongPs stalled_ = 0;   // of the save that follows
  bool is_saving_ = false;
  int64_t base_ = 0;  // the save at which it began again
  LongPs kept_ = 0;   // beyond it, by a save before planned work
  LongPs last_end_ = -forever, before_last_end_ = -forever;
  int64_t stored_ = 0, before_stored_ = 0, safe_stored_ = 0;
  LongPs stored_end_ = -forever, before_stored_end_ = -forever;
  int64_t needed_ = 0;  // nodes, before it can restart
  int64_t dead_together_ = 0;
  bool on_new_node_ = false, reads_store_ = false;
  Agenda slow_, repairs_, replicas_, corrupt_;
  Account account_{};
  int64_t failures_ = 0;
};

}  // namespace

PlayedRun play(const Plan& plan, uint64_t seed, uint64_t run, double until_s,
               const std::optional<GivenFailures>& given) {
  assert(plan.steps > 0 && plan.interval > 0 && plan.step_s > 0);
  PlayedRun played = Job(plan, seed, run, given).play(to_ps(until_s));
  LongPs sum = 0;
  for (const LongPs part : played.account) sum += part;
  assert(sum == played.wall);
  return played;
}

}  // namespace sgdsim::goodput

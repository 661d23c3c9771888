// What happens to one job, event by event, and what it does then: detect, wait, restart, go on.
#include "models/goodput/player.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "models/goodput/agenda.h"
#include "models/goodput/closed_forms.h"
#include "models/goodput/sources.h"
#include "models/goodput/work.h"
#include "sim/core/error.h"

namespace sgdsim::goodput {
namespace {

constexpr int64_t most_events = 20'000'000;
constexpr double likely_wall = 1.2;  // times the work

enum class Doing : uint8_t { running, detecting, waiting, restarting, shrinking, planned };

// In the order of Doing.
constexpr std::array<Part, 6> parts_of = {Part::productive, Part::detecting,  Part::waiting,
                                          Part::restarting, Part::restarting, Part::planned};

class Job {
 public:
  Job(const Plan& plan, uint64_t seed, uint64_t run, const std::optional<GivenFailures>& given,
      const std::atomic<bool>* is_over)
      : plan_(plan),
        is_over_(is_over),
        drawn_(plan.causes, false, seed, run, likely_wall * plan.work_s(), given),
        recorded_(plan.causes, true, seed, run, 0, {}),
        luck_(seed, run, key_of("luck of a job")),
        spares_(plan.spares.value_or(0)),
        next_planned_(plan.planned_every_s > 0 ? to_ps(plan.planned_every_s) : forever),
        open_(plan.causes.size()),
        work_(plan) {}

  PlayedRun play(LongPs until) {
    play_events(until);
    if (!is_done_ && !is_over()) is_done_ = spend(work_, until);
    return {work_.now(), work_.account(), failures_, events_, is_done_};
  }

  // What is productive at these moments, which grow. What would happen just then has not.
  std::vector<LongPs> productive_at(const std::vector<double>& moments_s) {
    std::vector<LongPs> productive;
    for (const double moment_s : moments_s) {
      const LongPs moment = to_ps(moment_s);
      play_events(moment);
      Work then = work_;
      if (!is_done_) spend(then, moment);
      productive.push_back(then.account()[static_cast<std::size_t>(Part::productive)]);
    }
    return productive;
  }

 private:
  bool is_over() const { return is_over_ != nullptr && is_over_->load(std::memory_order_relaxed); }
  LongPs now() const { return work_.now(); }

  // All before that moment, or until the run is done.
  void play_events(LongPs until) {
    while (!is_done_ && !is_over()) {
      const LongPs drawn = next_drawn(), failure = std::min(drawn, recorded_.next());
      const LongPs other = std::min({doing_until_, slow_.first(), repairs_.first(),
                                     replicas_.first(), corrupt_.first(), next_planned_});
      const LongPs next = std::min(failure, other);
      if (next >= until) return;
      is_done_ = spend(work_, next);
      if (is_done_) return;
      if (failure <= other)
        fail((drawn == failure ? drawn_ : recorded_).take());
      else
        happen();
      if (++events_ > most_events) refuse();
    }
  }
  [[noreturn]] void refuse() const {
    throw InputError("", "the run has not ended after " + std::to_string(events_) +
                             " failures and repairs: it never will, or fails too often to be "
                             "simulated");
  }

  bool is_safe() const { return !plan_.can_fail && doing_ != Doing::running; }
  // Where failures wait for work to go on, the clock of drawn ones stands still meanwhile.
  LongPs next_drawn() const {
    return is_safe() ? forever : std::min(forever, drawn_.next() + paused_);
  }

  // Up to that moment. True: the run is done before it.
  bool spend(Work& work, LongPs until) {
    if (doing_ == Doing::running) return work.run(until);
    if (!plan_.can_fail && &work == &work_) paused_ += until - now();
    work.stand(until, parts_of[static_cast<std::size_t>(doing_)]);
    return false;
  }

  // ---- what happens

  void fail(std::size_t number) {
    const Cause& cause = plan_.causes[number];
    if (is_safe() && cause.effect != Effect::slow) return;  // it is recorded for this moment
    switch (cause.effect) {
      case Effect::slow:
        begin_episode(number);
        return;
      case Effect::corrupt:
        corrupt_.insert({now() + to_ps(cause.detect_s), number, work_.segment()});
        return;
      case Effect::stop:
        break;
    }
    if (plan_.shrink)
      lose_replica(cause);
    else
      stop(cause);
  }

  void begin_episode(std::size_t number) {
    const Cause& cause = plan_.causes[number];
    slow_.insert(
        {now() + to_ps(cause.lasts_varies ? luck_.exponential(cause.lasts_s) : cause.lasts_s),
         number, 0});
    if (++open_[number] == 1) set_factor();
  }
  void end_episode() {
    if (--open_[slow_.take().cause] == 0) set_factor();
  }

  void stop(const Cause& cause) {
    ++failures_;
    const bool was_up = doing_ == Doing::running;
    if (was_up) dead_together_ = 0;
    const bool reads_store = loses_memory(cause);
    if (reads_store)
      go_back_to(work_.stored_segment());
    else if (was_up)
      go_back_to_durable();
    reads_store_ = reads_store_ || reads_store;
    if (cause.needs_node && plan_.spares) {
      needed_ += cause.nodes;
      if (cause.repair_s < never_s)
        repairs_.insert({now() + to_ps(cause.repair_s), 0, cause.nodes});
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
    replicas_.insert({now() + to_ps(cause.repair_s), 0, 0});
    if (doing_ == Doing::running && !work_.is_saving()) work_.throw_step_away();
    set_factor();
    if (static_cast<int64_t>(replicas_.size()) < replicas) {
      if (doing_ != Doing::planned) begin(Doing::shrinking, cause.detect_s + plan_.shrink->stall_s);
      return;
    }
    go_back_to_durable();
    begin(Doing::waiting, never_s);
  }

  void happen() {
    if (doing_until_ == now())
      end_doing();
    else if (slow_.first() == now())
      end_episode();
    else if (repairs_.first() == now())
      end_repair();
    else if (replicas_.first() == now())
      return_replica();
    else if (corrupt_.first() == now())
      detect_corruption();
    else
      maintain();
  }

  void begin(Doing doing, double for_s) {
    doing_ = doing;
    doing_until_ =
        doing == Doing::running || doing == Doing::waiting ? forever : now() + to_ps(for_s);
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
    spares_ += repairs_.take().number;
    if (doing_ == Doing::waiting && needed_ <= spares_) restart();
  }

  void return_replica() {
    const bool were_all_away = static_cast<int64_t>(replicas_.size()) == plan_.shrink->replicas;
    replicas_.take();
    set_factor();
    if (were_all_away) restart();
  }

  // Back to the last save before it, if that is kept; else to the beginning.
  void detect_corruption() {
    const Timed found = corrupt_.take();
    const int64_t durable = work_.durable_segment();
    const int64_t good = std::min(found.number, durable);
    go_back_to(plan_.keep == 0 || durable - good < plan_.keep ? good : 0);
    if (doing_ != Doing::running) return;
    ++failures_;
    begin(Doing::restarting, plan_.restart_s);
  }

  // With a save just before, and the restart that a failure needs. Meanwhile nothing else is
  // planned.
  void maintain() {
    next_planned_ += to_ps(plan_.planned_every_s);
    if (doing_ != Doing::running) return;
    work_.keep_all();
    begin(Doing::planned, plan_.stall_s + plan_.durable_s + plan_.planned_s + plan_.restart_s);
  }

  void set_factor() {
    double slowest = 1;
    for (std::size_t i = 0; i < open_.size(); ++i)
      if (open_[i] > 0) slowest = std::max(slowest, plan_.causes[i].factor);
    if (!replicas_.empty()) slowest *= shrink_factor();
    work_.set_factor(slowest);
  }
  double shrink_factor() const {
    const auto& factors = plan_.shrink->step_factors;
    const std::size_t away = replicas_.size();
    if (away <= factors.size()) return factors[away - 1];
    const auto all = static_cast<double>(plan_.shrink->replicas);
    return all / std::max(1., all - static_cast<double>(away));
  }

  // ---- going back, after which what was wrong since then is right

  void go_back_to_durable() {
    work_.go_back_to_durable();
    forget_corruption();
  }
  void go_back_to(int64_t segment) {
    work_.go_back_to(segment);
    forget_corruption();
  }
  void forget_corruption() {
    corrupt_.erase_if([&](const Timed& one) { return work_.segment() <= one.number; });
  }

  const Plan& plan_;
  const std::atomic<bool>* is_over_;
  Sources drawn_, recorded_;
  Draws luck_;
  int64_t spares_;
  LongPs next_planned_;
  LongPs paused_ = 0;
  Doing doing_ = Doing::running;
  LongPs doing_until_ = forever;
  int64_t needed_ = 0;  // nodes, before it can restart
  int64_t dead_together_ = 0;
  bool on_new_node_ = false, reads_store_ = false;
  Agenda slow_, repairs_, replicas_, corrupt_;
  std::vector<int64_t> open_;  // slow episodes of each cause
  int64_t failures_ = 0;
  int64_t events_ = 0;
  bool is_done_ = false;
  Work work_;
};

}  // namespace

PlayedRun play(const Plan& plan, uint64_t seed, uint64_t run, double until_s,
               const std::optional<GivenFailures>& given, const std::atomic<bool>* is_over) {
  assert(plan.steps > 0 && plan.interval > 0 && plan.step_s > 0);
  PlayedRun played = Job(plan, seed, run, given, is_over).play(to_ps(until_s));
  LongPs sum = 0;
  for (const LongPs part : played.account) sum += part;
  assert(sum == played.wall);
  return played;
}

std::vector<LongPs> productive_at(const Plan& plan, uint64_t seed, uint64_t run,
                                  const std::vector<double>& moments_s,
                                  const std::atomic<bool>* is_over) {
  assert(std::is_sorted(moments_s.begin(), moments_s.end()));
  return Job(plan, seed, run, {}, is_over).productive_at(moments_s);
}

}  // namespace sgdsim::goodput

// What happens to one job, event by event, and what it does then: detect, wait, restart, go on.
#include "models/goodput/player.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <deque>

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

// Of a job that shrinks, what waits for spares.
struct Lost {
  int64_t nodes = 0;
  int64_t replicas = 0;
  LongPs known = 0;  // when that is detected
};

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
      lose_replicas(cause);
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
    go_down(to_ps(cause.detect_s),
            to_ps((cause.needs_node ? plan_.node_restart_s : plan_.restart_s) +
                  (reads_store_ ? plan_.store_restart_s : 0)));
  }

  // It begins again, and what it has waited for before is not over any sooner.
  void go_down(LongPs detect, LongPs restart) {
    const bool was_detecting = doing_ == Doing::detecting;
    LongPs known = now() + detect;
    LongPs back = known + restart;
    if (doing_ == Doing::waiting) {
      back = std::max(back, known + restart_);
    } else if (doing_ != Doing::running) {
      if (was_detecting) known = std::max(known, doing_until_);
      back = std::max(back, doing_until_ + (was_detecting ? restart_ : 0));
    }
    restart_ = back - known;
    begin_until(Doing::detecting, known);
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

  // Their step is thrown away, and all others wait until they go on without them.
  void lose_replicas(const Cause& cause) {
    const int64_t lost = newly_away(replicas_of(cause));
    if (lost == 0) return;
    ++failures_;
    send_away(cause, lost);
    if (doing_ == Doing::running && !work_.is_saving()) work_.throw_step_away();
    set_factor();
    if (away_ < plan_.shrink->replicas) {
      if (doing_ == Doing::planned) return;
      const LongPs until = now() + to_ps(cause.detect_s + plan_.shrink->stall_s);
      begin_until(Doing::shrinking,
                  doing_ == Doing::running ? until : std::max(until, doing_until_));
      return;
    }
    go_back_to_durable();
    begin_until(Doing::waiting, forever);
  }
  // All that have a part in the nodes that are lost.
  int64_t replicas_of(const Cause& cause) const {
    const int64_t all = plan_.shrink->replicas;
    if (cause.nodes == 1 && !cause.needs_node) return 1;
    return std::clamp((cause.nodes * all + plan_.nodes - 1) / plan_.nodes, int64_t{1}, all);
  }
  // Each of those that are taken along is one of all, and may be away already.
  int64_t newly_away(int64_t taken) {
    const int64_t all = plan_.shrink->replicas;
    int64_t were_away = 0;
    for (int64_t i = 0; i < taken; ++i)
      if (luck_.uniform() * static_cast<double>(all - i) < static_cast<double>(away_ - were_away))
        ++were_away;
    return taken - were_away;
  }
  // Until their nodes are repaired, or spares take their place.
  void send_away(const Cause& cause, int64_t replicas) {
    away_ += replicas;
    const LongPs repaired = now() + to_ps(cause.repair_s);
    if (!plan_.spares || !cause.needs_node) return replicas_.insert({repaired, 0, replicas});
    repairs_.insert({repaired, 0, cause.nodes});
    unreplaced_.push_back({cause.nodes, replicas, now() + to_ps(cause.detect_s)});
    replace_nodes();
  }
  // As far as there are spares, in the order in which nodes were lost.
  void replace_nodes() {
    for (; !unreplaced_.empty() && unreplaced_.front().nodes <= spares_; unreplaced_.pop_front()) {
      const Lost& lost = unreplaced_.front();
      spares_ -= lost.nodes;
      replicas_.insert(
          {std::max(now(), lost.known) + to_ps(plan_.node_restart_s), 0, lost.replicas});
    }
  }

  void happen() {
    if (doing_until_ == now())
      end_doing();
    else if (slow_.first() == now())
      end_episode();
    else if (repairs_.first() == now())
      end_repair();
    else if (replicas_.first() == now())
      return_replicas();
    else if (corrupt_.first() == now())
      detect_corruption();
    else
      maintain();
  }

  void begin_until(Doing doing, LongPs until) {
    doing_ = doing;
    doing_until_ = until;
  }
  void begin(Doing doing, double for_s) { begin_until(doing, now() + to_ps(for_s)); }

  void end_doing() {
    if (doing_ == Doing::detecting) {
      if (plan_.spares && needed_ > spares_)
        begin_until(Doing::waiting, forever);
      else
        restart();
      return;
    }
    if (doing_ != Doing::planned) reads_store_ = false;
    begin_until(Doing::running, forever);
  }

  void restart() {
    spares_ -= needed_;
    needed_ = 0;
    begin_until(Doing::restarting, now() + restart_);
  }

  void end_repair() {
    spares_ += repairs_.take().number;
    if (plan_.shrink) return replace_nodes();
    if (doing_ == Doing::waiting && needed_ <= spares_) restart();
  }

  void return_replicas() {
    const bool were_all_away = away_ == plan_.shrink->replicas;
    away_ -= replicas_.take().number;
    set_factor();
    if (were_all_away) begin(Doing::restarting, plan_.restart_s);
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
    if (away_ > 0) slowest *= shrink_factor();
    work_.set_factor(slowest);
  }
  double shrink_factor() const {
    const auto& factors = plan_.shrink->step_factors;
    const auto away = static_cast<std::size_t>(away_);
    if (away <= factors.size()) return factors[away - 1];
    const auto all = static_cast<double>(plan_.shrink->replicas);
    return all / std::max(1., all - static_cast<double>(away_));
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
  LongPs restart_ = 0;  // that follows the detection, or the wait for nodes
  bool reads_store_ = false;
  Agenda slow_, repairs_, replicas_, corrupt_;
  int64_t away_ = 0;  // replicas
  std::deque<Lost> unreplaced_;
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

// From change to change: a message begins to flow, has flown, or a round is over.
#include "sim/play/alike_calls.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "sim/net/flow_progress.h"

namespace sgdsim {
namespace {

// A round, or all of a phase that sends at once.
struct Round {
  Duration before = {};  // of its bytes
  Duration alone = {};   // its bytes, one message
  double share = 0;      // of the port for each byte per picosecond; 0: they take no part of it
  double messages = 1;   // that flow together
  Duration after = {};   // until the next round
};

// Where a worker stands in a collective.
class Walk {
 public:
  Walk(const Program& program, const Network& network, AlphaRule alpha)
      : program_(&program), wires_(network, alpha) {}

  // False if there is nothing more. A stage without messages is a round of a pause.
  bool next(Round& round) {
    for (; stage_ < program_->stages.size(); ++stage_, round_ = 0) {
      const Stage& stage = program_->stages[stage_];
      if (const auto* launch = std::get_if<Launch>(&stage)) {
        if (round_++ > 0) continue;
        round = {.after = launch->length};
        return true;
      }
      const auto* phase = std::get_if<Phase>(&stage);
      if (phase != nullptr && next_of(*phase, round)) return true;
    }
    return false;
  }

 private:
  bool next_of(const Phase& phase, Round& round) {
    if (phase.at_once && round_ > 0) return false;
    const int v = phase.team.relative(worker);
    while (round_ < phase.rounds && phase.receiver(round_, v) < 0) ++round_;
    if (round_ >= phase.rounds) return false;
    // All chunks are equal: so is what is sent in all rounds of the phase.
    if (round_ == 0 || phase.load != Load::chunk) known_ = round_of(phase);
    ++round_;
    round = known_;
    return true;
  }

  Round round_of(const Phase& phase) const {
    const int v = phase.team.relative(worker);
    const int to = phase.team.colleague(worker, v, phase.receiver(round_, v));
    const double size_B = phase.sent_B(round_, v, phase.team.lane(worker));
    const Leg leg =
        wires_.leg(worker, to, size_B, phase.folds, phase.goes_both_ways()).bytes_only();
    assert(leg.out_busy == leg.transit && leg.in_busy == leg.transit);
    const bool waits = phase.handshake == Handshake::rendezvous;
    const int messages = phase.at_once ? phase.rounds : 1;
    return {.before = (waits ? leg.flight : Duration()) + leg.agreed,
            .alone = leg.transit,
            .share = size_B > 0 ? static_cast<double>(leg.transit.ps()) / size_B : 0,
            .messages = static_cast<double>(messages),
            .after = (waits ? Duration() : leg.flight) + leg.fold * messages};
  }

  static constexpr int worker = 0;  // who stands for all
  const Program* program_;
  Wires wires_;
  std::size_t stage_ = 0;
  int round_ = 0;
  Round known_;
};

class AlikePlayer {
 public:
  AlikePlayer(std::span<const AlikeCall> calls, AlphaRule alpha, int at_once, Stopper* stopper)
      : calls_(calls),
        alpha_(alpha),
        at_once_(static_cast<std::size_t>(std::max(1, at_once))),
        stopper_(stopper),
        times_(calls.size()) {}

  std::vector<AlikeTimes> play() {
    while (next_call_ < calls_.size() || !under_way_.empty()) {
      const Time now = next_time();
      while (play_moment(now) && may_enter()) {
      }
      if (std::exchange(has_changed_, false)) share(now);
    }
    return std::move(times_);
  }

 private:
  enum class At : uint8_t { pause, before, flowing, over };
  struct UnderWay {
    std::size_t call;
    Walk walk;
    At at = At::pause;
    Time until;
    Round round = {};
    FlowProgress progress = {};
  };

  bool may_enter() const { return next_call_ < calls_.size() && under_way_.size() < at_once_; }
  Time next_time() const {
    Time next = may_enter() ? calls_[next_call_].ready : Time::last();
    for (const UnderWay& one : under_way_) next = std::min(next, one.until);
    return next;
  }

  void enter_calls(Time now) {
    for (; may_enter() && calls_[next_call_].ready <= now; ++next_call_) {
      const AlikeCall& call = calls_[next_call_];
      times_[next_call_].starts = now;
      under_way_.push_back({.call = next_call_,
                            .walk = Walk(*call.program, *call.network, alpha_),
                            .until = now + call.first});
    }
  }

  // True if one has ended, which lets another one enter.
  bool play_moment(Time now) {
    enter_calls(now);
    bool has_ended = false;
    for (UnderWay& one : under_way_) {
      while (one.until <= now) happen(one, now);
      has_ended = has_ended || one.at == At::over;
    }
    if (has_ended)
      std::erase_if(under_way_, [](const UnderWay& one) { return one.at == At::over; });
    return has_ended;
  }

  void happen(UnderWay& one, Time now) {
    count(stopper_, now);
    switch (one.at) {
      case At::pause:
        if (!one.walk.next(one.round)) {
          times_[one.call].ends = now;
          one.at = At::over;
          one.until = Time::last();
          return;
        }
        one.at = At::before;
        one.until = now + one.round.before;
        if (one.until > now) return;
        [[fallthrough]];
      case At::before:
        one.at = At::flowing;
        one.until = one.round.share > 0 ? Time::last() : now + one.round.alone;
        one.progress = {static_cast<double>(one.round.alone.ps()), 0, now};
        has_changed_ = has_changed_ || one.round.share > 0;
        return;
      case At::flowing:
        one.at = At::pause;
        one.until = now + one.round.after;
        has_changed_ = has_changed_ || one.round.share > 0;
        return;
      case At::over:
        return;
    }
  }

  // All messages at the port have one rate in bytes; one alone has its own.
  void share(Time now) {
    double asked = 0;
    double messages = 0;
    for_each_flowing([&](UnderWay& one) {
      asked += one.round.messages * one.round.share;
      messages += one.round.messages;
    });
    for_each_flowing([&](UnderWay& one) {
      const double rate = messages == 1 ? 1 : one.round.share / asked;
      if (one.progress.change(rate, now)) one.until = now + one.progress.until(FlowProgress::slack);
    });
  }
  template <class F>
  void for_each_flowing(const F& f) {
    for (UnderWay& one : under_way_)
      if (one.at == At::flowing && one.round.share > 0) f(one);
  }

  std::span<const AlikeCall> calls_;
  AlphaRule alpha_;
  std::size_t at_once_;
  Stopper* stopper_;
  std::size_t next_call_ = 0;
  std::vector<UnderWay> under_way_;
  bool has_changed_ = false;  // who flows, since rates were found
  std::vector<AlikeTimes> times_;
};

}  // namespace

std::vector<AlikeTimes> play_alike(std::span<const AlikeCall> calls, AlphaRule alpha, int at_once,
                                   Stopper* stopper) {
  return AlikePlayer(calls, alpha, at_once, stopper).play();
}

}  // namespace sgdsim

// A message wakes the member that gets it, until nobody can do anything before the moment.
#include "sim/play/ring_moment.h"

#include <algorithm>
#include <deque>

#include "sim/play/same_pairs.h"

namespace sgdsim {
namespace {

class RingUntil {
 public:
  RingUntil(const Program& program, const RingPlay& how, std::size_t members, Time now)
      : how_(how), now_(now), walkers_(members) {
    for (std::size_t stage = 0; stage < program.stages.size(); ++stage) {
      if (const auto* launch = std::get_if<Launch>(&program.stages[stage])) {
        launch_ += launch->length;
        continue;
      }
      const auto& phase = std::get<Phase>(program.stages[stage]);
      if (phase.rounds == 0) continue;
      parts_.emplace_back(SamePairs(phase, how_), static_cast<int>(stage), phase.rounds, launch_);
      launch_ = Duration();
    }
    result_.at = now;
    result_.members.resize(members);
    result_.sent_B.resize(members);
  }

  RingMoment play(const std::vector<Time>& entered, const RingMoment* since) {
    if (since != nullptr) take_up(*since);
    for (std::size_t member = 0; member < entered.size(); ++member) {
      if (entered[member] == Time::last() || walkers_[member].is_here) continue;
      walkers_[member].is_here = true;
      walkers_[member].clock = entered[member] + parts_.front().before;
      begin(member);
    }
    Lookout lookout(how_.stopper);
    while (!woken_.empty()) {
      const std::size_t member = woken_.back();
      woken_.pop_back();
      go_on(member);
      lookout.passed(1);
    }
    for (std::size_t member = 0; member < walkers_.size(); ++member) tell(member);
    return std::move(result_);
  }

 private:
  struct Part {
    Part(SamePairs its, int number, int count, Duration launch)
        : pairs(std::move(its)), stage(number), rounds(count), before(launch) {}
    SamePairs pairs;
    int stage;
    int rounds;
    Duration before;  // launches
  };
  struct Came {
    Time there;
    Duration fold;
    int stage;
    int round;
  };
  struct Walker {
    bool is_here = false;
    bool has_begun = false;  // its present round
    std::size_t part = 0;
    int round = 0;
    Time clock;
    Time sent;                    // or when it will have: in this round
    std::vector<Came> came = {};  // of its present round and later ones
    std::size_t next = 0;
  };

  std::size_t part_of(int stage) const {
    const auto part = std::find_if(parts_.begin(), parts_.end(),
                                   [&](const Part& one) { return one.stage == stage; });
    return static_cast<std::size_t>(part - parts_.begin());
  }

  // What each has got of its round comes before what is early, and that before what is on its way.
  void take_up(const RingMoment& since) {
    using Is = RingMoment::Member::Is;
    result_.sent = since.sent;
    for (std::size_t member = 0; member < walkers_.size(); ++member) {
      const RingMoment::Member& was = since.members[member];
      if (was.is == Is::in_round && was.has_got)
        walkers_[member].came.push_back({since.at, was.fold, was.stage, was.round});
    }
    for (const RingMoment::Early& one : since.early)
      walkers_[one.to].came.push_back({since.at, one.fold, one.stage, one.round});
    for (const RingMoment::Message& one : since.messages) take_up(one, since.at);
    for (std::size_t member = 0; member < walkers_.size(); ++member)
      take_up(member, since.members[member], since.at);
  }

  void take_up(const RingMoment::Message& one, Time at) {
    walkers_[one.to].came.push_back({one.how.there, one.fold, one.stage, one.round});
    walkers_[one.from].sent = one.how.leaves;
    if (one.how.there > now_) result_.messages.push_back(one);
    if (one.how.leaves <= at || one.how.leaves > now_) return;
    SamePairs& pairs = parts_[part_of(one.stage)].pairs;
    pairs.go_to(one.from, one.round);
    note_sent(one.from, pairs.next_taking(one.from).size_B);
  }

  void take_up(std::size_t member, const RingMoment::Member& was, Time at) {
    using Is = RingMoment::Member::Is;
    if (was.is == Is::away) return;
    Walker& it = walkers_[member];
    it.is_here = true;
    it.clock = was.clock;
    it.round = was.round;
    it.part = part_of(was.stage);
    if (it.part == parts_.size()) return;
    it.has_begun = was.is == Is::in_round;
    parts_[it.part].pairs.go_to(member, was.round + (it.has_begun ? 1 : 0));
    if (!it.has_begun) return begin(member);
    if (was.has_sent) it.sent = at;
    woken_.push_back(member);
  }

  void note_sent(std::size_t member, double size_B) {
    result_.sent_B[member] += size_B;
    result_.sent += 1;
  }

  // The round that it has come to, if that begins before the moment.
  void begin(std::size_t member) {
    Walker& it = walkers_[member];
    if (it.part == parts_.size() || it.clock >= now_) return;
    Part& part = parts_[it.part];
    const SamePairs::Taking& taking = part.pairs.next_taking(member);
    const Time there = it.clock + taking.receiver;
    const Time leaves = it.clock + taking.sender;
    const std::size_t to = part.pairs.receiver_of(member);
    it.has_begun = true;
    it.sent = leaves;
    walkers_[to].came.push_back({there, taking.fold, part.stage, it.round});
    if (there > now_)
      result_.messages.push_back(
          {member,
           to,
           part.stage,
           it.round,
           taking.fold,
           {leaves - taking.transit, static_cast<double>(taking.transit.ps()), leaves, there}});
    if (leaves <= now_) note_sent(member, taking.size_B);
    woken_.push_back(to);
    woken_.push_back(member);
  }

  void go_on(std::size_t member) {
    Walker& it = walkers_[member];
    while (it.has_begun && it.next < it.came.size()) {
      const Came& message = it.came[it.next];
      if (it.sent > now_ || message.there > now_) return;
      it.clock = std::max(it.sent, message.there) + message.fold;
      forget_first(it);
      it.has_begun = false;
      if (++it.round == parts_[it.part].rounds) {
        it.round = 0;
        ++it.part;
        it.clock += it.part == parts_.size() ? launch_ : parts_[it.part].before;
      }
      begin(member);
    }
  }

  static void forget_first(Walker& it) {
    if (++it.next < it.came.size()) return;
    it.came.clear();
    it.next = 0;
  }

  void tell(std::size_t member) {
    using Is = RingMoment::Member::Is;
    const Walker& it = walkers_[member];
    RingMoment::Member& told = result_.members[member];
    told.clock = it.clock;
    std::size_t early = it.next;
    if (it.is_here) {
      const bool is_over = it.part == parts_.size();
      told.is = is_over && it.clock <= now_ ? Is::done : it.has_begun ? Is::in_round : Is::before;
      told.stage = is_over ? -1 : parts_[it.part].stage;
      told.round = it.round;
      if (it.has_begun) {
        told.has_sent = it.sent <= now_;
        if (early < it.came.size() && it.came[early].there <= now_) {
          told.has_got = true;
          told.fold = it.came[early].fold;
        }
        ++early;
      }
    }
    for (; early < it.came.size(); ++early) {
      const Came& one = it.came[early];
      if (one.there <= now_) result_.early.push_back({member, one.stage, one.round, one.fold});
    }
  }

  const RingPlay& how_;
  Time now_;
  std::deque<Part> parts_;
  Duration launch_;  // behind all of them
  std::vector<Walker> walkers_;
  std::vector<std::size_t> woken_;
  RingMoment result_;
};

}  // namespace

RingMoment ring_moment(const Program& program, const RingPlay& how,
                       const std::vector<Time>& entered, Time now, const RingMoment* since) {
  return RingUntil(program, how, entered.size(), now).play(entered, since);
}

}  // namespace sgdsim

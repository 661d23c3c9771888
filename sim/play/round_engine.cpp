// Rounds as passes over arrays.
//
// Three shapes of round exist. One-way rounds (trees, stars, folds): nobody both sends and
// receives, so clocks change in place, and only the messages of the round are visited, not all
// workers. Exchanges: two workers change in place together. Shifts: everybody sends and receives,
// so one pass reads the old clocks and writes new ones. A ring repeats one shift P - 1 times over
// the same links with two chunk sizes; its link times are computed once, and its pass is a straight
// loop over at most five runs of workers, which vectorises (0.4 to 1.3 ns a message).
#include "sim/play/round_engine.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "sim/play/sharing.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SGDSIM_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SGDSIM_WIDE
#endif

namespace sgdsim {
namespace {

// The times of every link for one chunk size, by sender.
struct LinkTimes {
  std::vector<Duration> flight, out_busy, transit, fold;
};

class PhasePlayer {
 public:
  PhasePlayer(const Phase& phase, uint64_t stage, const Wires& wires, const MessageJitter& jitter,
              std::vector<Time>& clocks, MessageLog* log, const Stopper* stopper)
      : phase_(phase),
        stage_(stage),
        wires_(wires),
        loads_(wires.network(), phase),
        jitter_(jitter),
        clocks_(clocks),
        log_(log),
        lookout_(stopper),
        whole_(phase.load == Load::whole && phase.share.even()),
        whole_B_(phase.share.bytes(0)) {}

  void play() {
    if (phase_.handshake == Handshake::eager) in_ports_ = clocks_;
    if (phase_.talk == Talk::shift) return play_shifts();
    for (round_ = 0; round_ < phase_.rounds; ++round_) {
      share_ways();
      for_each_team([&](int base) {
        round(base);
        lookout_.passed(phase_.team.size);
      });
    }
  }

 private:
  int workers() const { return wires_.network().workers(); }
  Time& clock(int worker) { return clocks_[static_cast<std::size_t>(worker)]; }

  // Calls f with the first member of every team that takes part.
  template <class F>
  void for_each_team(const F& f) const {
    const Team& team = phase_.team;
    for (int block = 0; block < workers(); block += team.size * team.stride)
      for (int lane = 0; lane < team.stride; ++lane)
        if (team.takes_part(block + lane)) f(block + lane);
  }

  void share_ways() {
    if (loads_.any()) wires_ = wires_.sharing(loads_.at(round_));
  }

  int worker_of(int base, int v) const {
    int member = v + phase_.team.root;
    if (member >= phase_.team.size) member -= phase_.team.size;
    return base + member * phase_.team.stride;
  }

  double sent_B(int from, int v) const {
    return whole_ ? whole_B_ : phase_.sent_B(round_, v, phase_.team.lane(from));
  }

  Leg leg(int from, int to, int v) const {
    Leg leg = wires_.leg(from, to, sent_B(from, v), phase_.folds, phase_.goes_both_ways());
    if (jitter_.on())
      leg = Wires::scaled(
          leg, jitter_.factor(stage_, static_cast<uint64_t>(round_), static_cast<uint64_t>(from)));
    return leg;
  }

  // `v`: the sender's relative number. Rarely asked for, so that only the question is in the way.
  void note(int from, int to, int v, const Leg& way, Time sent, Time left, Time taken) {
    if (log_ != nullptr) [[unlikely]]
      record(from, to, v, way, sent, left, taken);
  }
  [[gnu::noinline]] void record(int from, int to, int v, Leg way, Time sent, Time left,
                                Time taken) {
    log_->push_back(
        {from, to, 0, round_, sent_B(from, v), sent, left, taken - way.transit, taken, way.fold});
  }

  [[gnu::flatten]] void one_way(int base, int v, int receiver) {
    const int from = worker_of(base, v);
    const int to = worker_of(base, receiver);
    const Leg way = leg(from, to, v);
    const Time first_byte = clock(from) + way.flight;
    if (phase_.handshake == Handshake::eager) {
      Time& in_port = in_ports_[static_cast<std::size_t>(to)];
      in_port = std::max(first_byte, in_port) + way.in_busy;
      const Time taken = std::max(in_port, first_byte + way.transit);
      note(from, to, v, way, clock(from), clock(from) + way.out_busy, taken);
      clock(from) += way.out_busy;
      clock(to) = std::max(clock(to), taken) + way.fold;
      return;
    }
    const Time taken = std::max(first_byte, clock(to)) + way.transit;
    const Time left =
        phase_.handshake == Handshake::rendezvous ? taken : clock(from) + way.out_busy;
    note(from, to, v, way, clock(from), left, taken);
    clock(from) = left;
    clock(to) = taken + way.fold;
  }

  [[gnu::flatten]] void exchange(int base, int v, int partner) {
    const int a = worker_of(base, v);
    const int b = worker_of(base, partner);
    const Leg there = leg(a, b, v);
    const Leg back = leg(b, a, partner);
    const Time at_a = clock(a);
    const Time at_b = clock(b);
    const Time taken_by_b = std::max(at_a + there.flight, at_b) + there.transit;
    const Time taken_by_a = std::max(at_b + back.flight, at_a) + back.transit;
    note(a, b, v, there, at_a, at_a + there.out_busy, taken_by_b);
    note(b, a, partner, back, at_b, at_b + back.out_busy, taken_by_a);
    clock(a) = std::max(at_a + there.out_busy, taken_by_a) + back.fold;
    clock(b) = std::max(at_b + back.out_busy, taken_by_b) + there.fold;
  }

  // One round of one team, for everything but shifts.
  void round(int base) {
    if (phase_.talk != Talk::exchange)
      return phase_.for_each_one_way(round_,
                                     [&](int v, int receiver) { one_way(base, v, receiver); });
    const int mask = phase_.mask(round_);
    for (int high = 0; high < phase_.core(); high += 2 * mask)
      for (int number = high; number < high + mask; ++number)
        exchange(base, phase_.core_member(number), phase_.core_member(number + mask));
  }

  void play_shifts();
  void shift_round();
  bool is_plain_ring() const;
  bool fits_clock(const LinkTimes& times) const;
  LinkTimes ring_times(double size_B) const;
  bool play_ring();

  const Phase& phase_;
  uint64_t stage_;
  Wires wires_;  // as the messages of this round see them
  PhaseLoads loads_;
  const MessageJitter& jitter_;
  std::vector<Time>& clocks_;
  MessageLog* log_;  // null: nobody asks
  Lookout lookout_;
  bool whole_;      // every message is the whole share, of the same size in all lanes
  double whole_B_;  // that size
  int round_ = 0;
  std::vector<Time> in_ports_;  // eager only
  std::vector<Time> next_;      // shifts only
  std::vector<Leg> sends_;      // shifts only, by sender
};

void PhasePlayer::play_shifts() {
  next_ = clocks_;
  share_ways();
  if (log_ == nullptr && is_plain_ring() && play_ring()) return;
  sends_.resize(clocks_.size());
  for (round_ = 0; round_ < phase_.rounds; ++round_) {
    share_ways();
    shift_round();
    lookout_.passed(workers());
  }
}

void PhasePlayer::shift_round() {
  const int size = phase_.team.size;
  const int distance = phase_.shift_distance(round_);
  for_each_team([&](int base) {
    for (int v = 0; v < size; ++v) {
      const int from = worker_of(base, v);
      const int to = worker_of(base, v + distance < size ? v + distance : v + distance - size);
      sends_[static_cast<std::size_t>(from)] = leg(from, to, v);
    }
    for (int v = 0; v < size; ++v) {
      const int me = worker_of(base, v);
      const int sender = v >= distance ? v - distance : v - distance + size;
      const int from = worker_of(base, sender);
      const Leg& incoming = sends_[static_cast<std::size_t>(from)];
      const Time sent = clock(me) + sends_[static_cast<std::size_t>(me)].out_busy;
      const Time taken = std::max(clock(from) + incoming.flight, clock(me)) + incoming.transit;
      note(from, me, sender, incoming, clock(from), clock(from) + incoming.out_busy, taken);
      next_[static_cast<std::size_t>(me)] = std::max(sent, taken) + incoming.fold;
    }
  });
  clocks_.swap(next_);
}

bool PhasePlayer::is_plain_ring() const {
  return phase_.load == Load::chunk && phase_.distance_step == 0 && !phase_.doubles &&
         phase_.rounds > 2 && phase_.team.root == 0 && phase_.team.only_lane < 0 &&
         phase_.share.even() && !jitter_.on();
}

// Workers begin .. end - 1 receive from the worker `back` before them.
struct Run {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::ptrdiff_t back = 0;
};

// Without the check of Time's own sum, which would not vectorise: fits_clock() has proved that
// there is room.
Time later(Time time, Duration length) {
  return Time::at(Duration::ps(
      static_cast<int64_t>(static_cast<uint64_t>(time.ps()) + static_cast<uint64_t>(length.ps()))));
}

SGDSIM_WIDE void pass_port(const Time* __restrict old, Time* __restrict next, Run run,
                           const Duration* __restrict out, const Duration* __restrict transit,
                           const Duration* __restrict fold) {
  for (std::size_t i = run.begin; i < run.end; ++i) {
    const std::size_t from = i - static_cast<std::size_t>(run.back);
    const Time sent = later(old[i], out[i]);
    const Time taken = later(std::max(old[from], old[i]), transit[from]);
    next[i] = later(std::max(sent, taken), fold[from]);
  }
}

SGDSIM_WIDE void pass_wire(const Time* __restrict old, Time* __restrict next, Run run,
                           const Duration* __restrict out, const Duration* __restrict transit,
                           const Duration* __restrict fold, const Duration* __restrict flight) {
  for (std::size_t i = run.begin; i < run.end; ++i) {
    const std::size_t from = i - static_cast<std::size_t>(run.back);
    const Time sent = later(old[i], out[i]);
    const Time taken = later(std::max(later(old[from], flight[from]), old[i]), transit[from]);
    next[i] = later(std::max(sent, taken), fold[from]);
  }
}

// Of a message of this size from every member to its receiver.
LinkTimes PhasePlayer::ring_times(double size_B) const {
  const int distance = phase_.shift_distance(0);
  LinkTimes times;
  for (auto* column : {&times.flight, &times.out_busy, &times.transit, &times.fold})
    column->resize(next_.size());
  for_each_team([&](int base) {
    for (int v = 0; v < phase_.team.size; ++v) {
      const int from = worker_of(base, v);
      const int to = worker_of(base, (v + distance) % phase_.team.size);
      const Leg leg = wires_.leg(from, to, size_B, phase_.folds, phase_.goes_both_ways());
      const auto i = static_cast<std::size_t>(from);
      times.flight[i] = leg.flight;
      times.out_busy[i] = leg.out_busy;
      times.transit[i] = leg.transit;
      times.fold[i] = leg.fold;
    }
  });
  return times;
}

// Whether no clock can pass its end, were every message as slow as the slowest of these.
bool PhasePlayer::fits_clock(const LinkTimes& times) const {
  const auto longest = [](const std::vector<Duration>& column) {
    return static_cast<double>(std::max_element(column.begin(), column.end())->ps());
  };
  const double message = longest(times.flight) + longest(times.fold) +
                         std::max(longest(times.out_busy), longest(times.transit));
  const auto latest = static_cast<double>(std::max_element(clocks_.begin(), clocks_.end())->ps());
  return latest + phase_.rounds * message < 0x1p62;
}

// False, with nothing played, if the clocks may overflow; rounds one by one then find out.
bool PhasePlayer::play_ring() {
  const Team& team = phase_.team;
  const auto stride = static_cast<std::size_t>(team.stride);
  const auto size = static_cast<std::size_t>(team.size);
  const auto distance = static_cast<std::size_t>(phase_.shift_distance(0));
  const double total_B = phase_.share.bytes(0);
  // Chunks 0 .. larger - 1 have the first size, the others the second.
  auto chunk_B = [&](std::size_t chunk) {
    return ChunkRange{static_cast<int>(chunk), 1, team.size}.bytes(total_B,
                                                                   phase_.share.fractional);
  };
  const double whole_part = std::floor(total_B / team.size);
  const std::size_t larger =
      phase_.share.fractional ? 0 : static_cast<std::size_t>(total_B - whole_part * team.size);
  const std::array<LinkTimes, 2> times = {ring_times(chunk_B(0)), ring_times(chunk_B(size - 1))};
  if (!fits_clock(times[0]) || !fits_clock(times[1])) return false;
  const bool port = wires_.alpha() == AlphaRule::port;
  std::vector<std::size_t> cuts;
  for (round_ = 0; round_ < phase_.rounds; ++round_) {
    // Member v sends chunk (v + first) mod size; the pass is cut where v's chunk, its sender's
    // chunk or the wrap-around changes kind.
    const auto first = static_cast<std::size_t>(phase_.range(round_, 0).first);
    auto kind_of = [&](std::size_t member) {
      return (member + first) % size < larger ? std::size_t{0} : std::size_t{1};
    };
    const std::size_t from_first = (size - first) % size;
    const std::size_t from_larger = (size - first + larger) % size;
    cuts = {0,
            size,
            distance,
            from_first,
            from_larger,
            (from_first + distance) % size,
            (from_larger + distance) % size};
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    for (std::size_t base = 0; base < next_.size(); base += size * stride)
      for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
        const std::size_t member = cuts[c];
        const std::size_t sender =
            member >= distance ? member - distance : member + size - distance;
        const LinkTimes& out = times[kind_of(member)];
        const LinkTimes& in = times[kind_of(sender)];
        const Run run{base + member * stride, base + cuts[c + 1] * stride,
                      (static_cast<std::ptrdiff_t>(member) - static_cast<std::ptrdiff_t>(sender)) *
                          static_cast<std::ptrdiff_t>(stride)};
        if (port)
          pass_port(clocks_.data(), next_.data(), run, out.out_busy.data(), in.transit.data(),
                    in.fold.data());
        else
          pass_wire(clocks_.data(), next_.data(), run, out.out_busy.data(), in.transit.data(),
                    in.fold.data(), in.flight.data());
      }
    clocks_.swap(next_);
    lookout_.passed(workers());
  }
  return true;
}

}  // namespace

void play_in_rounds(const Phase& phase, uint64_t stage, const Wires& wires,
                    const MessageJitter& jitter, std::vector<Time>& clocks, MessageLog* log,
                    const Stopper* stopper) {
  PhasePlayer(phase, stage, wires, jitter, clocks, log, stopper).play();
}

}  // namespace sgdsim

// Round by round, or at once where all messages take the same.
#include "sim/play/same_pairs.h"

#include <algorithm>
#include <deque>

namespace sgdsim {

SamePairs::SamePairs(const Phase& phase, const RingPlay& how, int first_round)
    : phase_(phase), wires_(how.network, how.of_legs), how_(how) {
  const int workers = phase.team.size;
  if (phase.load == Load::chunk) chunk_B_.resize(static_cast<std::size_t>(workers));
  pairs_.resize(static_cast<std::size_t>(workers));
  for (int worker = 0; worker < workers; ++worker) {
    Pair& pair = pairs_[static_cast<std::size_t>(worker)];
    pair.v = phase.team.relative(worker);
    pair.to = phase.team.colleague(worker, pair.v, phase.receiver(0, pair.v));
    if (chunk_B_.empty()) continue;
    pair.chunk = phase.range(first_round, pair.v).first;
    const auto own = static_cast<std::size_t>(phase.range(0, pair.v).first);
    chunk_B_[own] = phase.sent_B(0, pair.v, 0);
  }
}

void SamePairs::play(std::vector<Time>& clocks) {
  if (phase_.rounds == 0 || play_alike(clocks)) return;
  std::vector<Time> next(clocks.size());
  std::vector<Duration> folds(clocks.size());
  Lookout lookout(how_.stopper);
  for (int round = 0; round < phase_.rounds; ++round) {
    std::fill(next.begin(), next.end(), Time());
    for (std::size_t from = 0; from < pairs_.size(); ++from) {
      Pair& pair = pairs_[from];
      const Taking& alone = taking_of(pair, from);
      const Taking taking = how_.jitter.on() ? jittered(alone, round, from) : alone;
      const auto to = static_cast<std::size_t>(pair.to);
      next[from] = std::max(next[from], clocks[from] + taking.sender);
      next[to] = std::max(next[to], clocks[from] + taking.receiver);
      folds[to] = taking.fold;  // follows both
      if (how_.sent_B != nullptr) (*how_.sent_B)[from] += taking.size_B;
    }
    for (std::size_t i = 0; i < next.size(); ++i) clocks[i] = next[i] + folds[i];
    lookout.passed(phase_.team.size);
  }
}

// All messages take the same. Then a worker is done when the latest of the ways is that leads to
// it: from any worker before it, in so many rounds as that is away, and the others spent anywhere
// on the way. The latest of all starts in reach is known from those of the worker before.
bool SamePairs::play_alike(std::vector<Time>& clocks) {
  const std::size_t count = pairs_.size();
  const auto rounds = static_cast<std::size_t>(phase_.rounds);
  const bool one_size =
      phase_.load == Load::whole ||
      std::all_of(chunk_B_.begin(), chunk_B_.end(), [&](double it) { return it == chunk_B_[0]; });
  if (!one_size || phase_.distance != 1 || rounds >= count || how_.jitter.on()) return false;
  const Taking first = taking_of(pairs_[0], 0);
  for (std::size_t from = 1; from < count; ++from)
    if (!(taking_of(pairs_[from], from) == first)) return false;
  if (how_.sent_B != nullptr)
    for (double& sent : *how_.sent_B) sent += first.size_B * static_cast<double>(rounds);
  const Duration staying = first.sender + first.fold;
  const Duration going = first.receiver - first.sender;  // more than that
  const auto at = [&](std::size_t place) {
    return clocks[place % count] - going * static_cast<int64_t>(place);
  };
  std::vector<Time> ends(count);
  std::deque<std::size_t> latest;  // places whose starts fall, the latest in reach first
  for (std::size_t place = 0; place < 2 * count; ++place) {
    while (!latest.empty() && at(latest.back()) <= at(place)) latest.pop_back();
    latest.push_back(place);
    if (latest.front() + rounds < place) latest.pop_front();
    if (place < count) continue;
    ends[place - count] = at(latest.front()) + going * static_cast<int64_t>(place) +
                          staying * static_cast<int64_t>(rounds);
  }
  clocks = std::move(ends);
  return true;
}

SamePairs::Taking SamePairs::jittered(const Taking& taking, int round, std::size_t from) const {
  Leg leg;
  leg.flight = taking.receiver - taking.transit;
  leg.transit = taking.transit;
  leg = Wires::scaled(leg, how_.jitter.factor(how_.stage, static_cast<uint64_t>(round),
                                              static_cast<uint64_t>(from)));
  const Duration arrives = leg.flight + leg.transit;
  return {taking.size_B, leg.transit, how_.alpha == AlphaRule::port ? arrives : leg.transit,
          arrives, taking.fold};
}

double SamePairs::size_of(Pair& pair) const {
  if (chunk_B_.empty()) return phase_.sent_B(0, pair.v, 0);
  const auto chunks = static_cast<int>(chunk_B_.size());
  const double size_B = chunk_B_[static_cast<std::size_t>(pair.chunk)];
  pair.chunk += phase_.chunk_slope % chunks;
  if (pair.chunk < 0) pair.chunk += chunks;
  if (pair.chunk >= chunks) pair.chunk -= chunks;
  return size_B;
}

const SamePairs::Taking& SamePairs::taking_of(Pair& pair, std::size_t from) const {
  const double size_B = size_of(pair);
  if (pair.takings[0].size_B == size_B) return pair.takings[0];
  if (pair.takings[1].size_B != size_B) {
    const Leg leg = wires_.leg(place(static_cast<int>(from)), place(pair.to), size_B,
                               phase_.folds && how_.folds, phase_.goes_both_ways());
    const Duration arrives = leg.flight + leg.transit;
    const Taking taking{size_B, leg.transit, how_.alpha == AlphaRule::port ? arrives : leg.transit,
                        arrives, leg.fold};
    if (pair.takings[0].size_B < 0) return pair.takings[0] = taking;
    pair.takings[1] = taking;
  }
  return pair.takings[1];
}

}  // namespace sgdsim

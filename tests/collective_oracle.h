// What a program moves, played on sets: for each worker, each piece of the message and each
// contributor, how often that contribution is in the worker's copy. Twice is as wrong as never.
//
// The oracle knows what rounds and trees are, and where chunks begin, by arithmetic of its own; who
// talks to whom about which chunks it takes from the program. It checks on the way that senders and
// receivers match and that messages are charged the bytes they carry. An all-gather is not told who
// owns what: a worker that sends a piece which nobody gave it claims it. For an all-to-all, bytes
// are counted only.
#pragma once

#include <algorithm>
#include <vector>

#include "tests/collective_cases.h"

namespace sgdsim {

struct Interval {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t length() const { return end - begin; }
};

Interval chunk_of(Interval whole, int64_t parts, int64_t chunk);

class Oracle {
 public:
  explicit Oracle(const CollectiveCase& one)
      : one_(one),
        n_(one.size.count()),
        workers_(one.ranks()),
        received_B_(static_cast<std::size_t>(workers_)) {}

  void play(const Program& program);

  // Whether the worker has the final value of a piece.
  bool has_all(int worker, std::size_t s) {
    for (int c = 0; c < workers_; ++c)
      if (count(worker, s, c) != (is_wanted(s, c) ? 1 : 0)) return false;
    return true;
  }
  std::size_t pieces() const { return cuts_.size() - 1; }
  Interval piece(std::size_t s) const { return {cuts_[s], cuts_[s + 1]}; }
  int64_t complete_B(int worker) {
    int64_t sum = 0;
    for (std::size_t s = 0; s < pieces(); ++s)
      if (has_all(worker, s)) sum += piece(s).length();
    return sum;
  }
  int64_t claimed_B(int worker) const {
    int64_t sum = 0;
    for (std::size_t s = 0; s < claims_.size(); ++s)
      if (claims_[s] == worker) sum += piece(s).length();
    return sum;
  }
  double received_B(int worker) const { return received_B_[static_cast<std::size_t>(worker)]; }
  Traffic traffic() const { return traffic_; }
  int root() const;

 private:
  struct Sent {
    int from = 0;
    int to = 0;
    std::vector<Interval> pieces;
  };

  std::size_t contributors() const { return static_cast<std::size_t>(workers_); }
  uint8_t& count(int worker, std::size_t s, int contributor) {
    const std::size_t row = static_cast<std::size_t>(worker) * pieces() + s;
    return copies_[row * contributors() + static_cast<std::size_t>(contributor)];
  }
  bool starts_with(int worker) const {
    if (one_.operation == Operation::allgather) return false;
    return one_.operation != Operation::broadcast || worker == root();
  }
  bool is_wanted(std::size_t s, int contributor) const {
    if (one_.operation == Operation::allgather) return claims_[s] == contributor;
    return starts_with(contributor);
  }

  void find_cuts(const Program& program);
  void play_round(const Phase& phase, int round);
  void check_partners(const Phase& phase, int round) const;
  std::vector<Interval> pieces_of(const Phase& phase, int round, int worker);
  void deliver(const std::vector<Sent>& messages, bool folds);
  void claim(const Sent& message);
  void play_pipeline(const TreePipeline& pipeline);
  void play_flow(const TreePipeline& pipeline, std::size_t flow, double begin_B);
  std::pair<std::size_t, std::size_t> indices(Interval interval) const {
    auto at = [&](int64_t cut) {
      return static_cast<std::size_t>(std::lower_bound(cuts_.begin(), cuts_.end(), cut) -
                                      cuts_.begin());
    };
    return {at(interval.begin), at(interval.end)};
  }

  const CollectiveCase& one_;
  int64_t n_;
  int workers_;
  std::vector<int64_t> cuts_;
  std::vector<uint8_t> copies_;
  std::vector<int> claims_;  // all-gather: the owner of each piece, -1: none yet
  std::vector<double> received_B_;
  Traffic traffic_;
};

}  // namespace sgdsim

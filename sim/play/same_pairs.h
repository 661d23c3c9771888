// A phase in which everybody always sends to the same worker: what each of its messages takes, and
// when workers are done, where each takes what it takes alone.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "sim/play/quiet.h"

namespace sgdsim {

class SamePairs {
 public:
  // What a message takes, of a size.
  struct Taking {
    double size_B = -1;
    Duration transit;
    Duration sender;
    Duration receiver;
    Duration fold;
    bool operator==(const Taking&) const = default;
  };

  // From a round on. What it is given must stay.
  SamePairs(const Phase& phase, const RingPlay& how, int first_round = 0);

  void play(std::vector<Time>& clocks);

  std::size_t receiver_of(std::size_t worker) const {
    return static_cast<std::size_t>(pairs_[worker].to);
  }
  void go_to(std::size_t worker, int round) {
    Pair& pair = pairs_[worker];
    if (!chunk_B_.empty()) pair.chunk = phase_.range(round, pair.v).first;
  }
  // Of what a worker sends next; each asks round by round.
  const Taking& next_taking(std::size_t from) { return taking_of(pairs_[from], from); }

 private:
  struct Pair {
    int v = 0;
    int to = 0;
    int chunk = 0;
    std::array<Taking, 2> takings = {};  // sizes of chunks differ by a byte
  };

  bool play_alike(std::vector<Time>& clocks);
  Taking jittered(const Taking& taking, int round, std::size_t from) const;
  double size_of(Pair& pair) const;
  int place(int worker) const {
    return how_.members == nullptr ? worker : (*how_.members)[static_cast<std::size_t>(worker)];
  }
  const Taking& taking_of(Pair& pair, std::size_t from) const;

  const Phase& phase_;
  Wires wires_;
  const RingPlay& how_;
  std::vector<Pair> pairs_;      // by sender
  std::vector<double> chunk_B_;  // of each chunk, if one is sent in a round
};

}  // namespace sgdsim

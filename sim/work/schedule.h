// What must happen, after what: a collective as a short list of stages.
//
// Most collectives are phases of rounds. In a round a worker sends at most one message and receives
// at most one, and who talks to whom, and which chunks travel, is arithmetic on the worker's
// number: nothing is stored per message. The other kind of stage is a pipeline of blocks over the
// edges of trees (pipeline.h), where a worker may be a block ahead on one side.
//
// Workers play in teams: groups of `size` members that lie `stride` apart. One team of everybody is
// {P, 1}; the GPUs of each node are {g, 1}; the i-th GPUs of all nodes are {nodes, g}. All teams of
// a stage play at once. Inside a team, formulas use relative numbers, in which the root is 0.
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>
#include <variant>
#include <vector>

#include "sim/core/units.h"
#include "sim/work/pipeline.h"
#include "sim/work/team.h"

namespace sgdsim {

enum class Talk : uint8_t {
  shift,      // v sends to v + distance(round)
  exchange,   // v and v ^ mask(round), among the power of two that folding leaves
  gather,     // as exchange, but only the upper half sends, and leaves
  tree_down,  // binomial tree from 0: masks from the largest to 1, v sends to v + mask
  tree_up,    // the same tree towards 0: masks from 1, v sends to v - mask and leaves
  star_out,   // 0 sends to 1, 2, 3, ... one after another
  star_in,    // 1, 2, 3, ... send to 0, which takes them in this order
  fold,       // the extra workers of a count that is no power of two hand over what they have
  unfold      // and get the result back
};

enum class Load : uint8_t {
  whole,         // everything
  chunk,         // one of `size` chunks: v + offset + slope * round
  half,          // exchange: the half of the own window that the partner keeps
  window,        // exchange, gather: the own window, which doubles
  subtree,       // tree_down, tree_up: the chunks of the child's subtree
  bruck_window,  // shift by -2^round: the own window of min(2^round, size - 2^round) chunks
  bruck_blocks   // shift by 2^round: every block whose index has bit `round` set
};

enum class Handshake : uint8_t {
  buffered,    // the sender is free when its port is
  rendezvous,  // the sender is free when the receiver has everything
  eager        // tree_up: children push into private buffers while the parent still folds
};

struct Phase {
  Team team;
  Share share;
  Talk talk = Talk::shift;
  Load load = Load::whole;
  int rounds = 0;
  bool folds = false;  // what arrives is folded into what is there, which costs gamma
  Handshake handshake = Handshake::buffered;
  int distance = 1;            // shift
  int distance_step = 0;       // shift: distance(round) = distance + round * step
  bool doubles = false;        // shift: distance(round) = distance * 2^round
  bool far_first = false;      // exchange: masks p'/2, ..., 1 instead of 1, ..., p'/2
  bool odd_stays = true;       // fold: even members hand over to odd ones; else the other way
  int chunk_offset = 0;        // Load::chunk
  int chunk_slope = 0;         // Load::chunk
  bool padded_chunks = false;  // every chunk counts ceil(n / parts) bytes
  bool at_once = false;        // nobody waits for a round before sending in the next one

  int core() const { return static_cast<int>(std::bit_floor(static_cast<unsigned>(team.size))); }
  int extra() const { return team.size - core(); }
  // Number among the core that plays exchanges; -1 for one that was folded away.
  int core_number(int member) const;
  int core_member(int number) const {
    const int r = extra();
    return number >= r ? number + r : 2 * number + (odd_stays ? 1 : 0);
  }
  int mask(int round) const;
  int shift_distance(int round) const;  // in 0 .. size-1
  // What a worker gets in a round goes where what it sends in the same round comes from.
  bool overwrites_what_it_sends() const {
    return (talk == Talk::exchange && load == Load::whole) || load == Load::bruck_blocks;
  }

  // Whether those who send in a round get something in it.
  bool goes_both_ways() const { return talk == Talk::shift || talk == Talk::exchange; }

  // The receiver of what relative member v sends in this round, or -1; and the reverse.
  int receiver(int round, int v) const;
  int sender(int round, int v) const;
  // Which chunks v sends (it must send), and their bytes for a team in this lane.
  ChunkRange range(int round, int v) const;
  double sent_B(int round, int v, int lane) const;

  // Calls f(v, receiver) for every message of a round in which nobody both sends and receives, that
  // is for all talks but shift and exchange. Visits the messages, not the members.
  template <class F>
  void for_each_one_way(int round, const F& f) const;
};

template <class F>
void Phase::for_each_one_way(int round, const F& f) const {
  switch (talk) {
    case Talk::shift:
    case Talk::exchange:
      assert(false);
      return;
    case Talk::gather: {
      const int m = mask(round);
      for (int number = m; number < 2 * m; ++number)
        f(core_member(number), core_member(number - m));
      return;
    }
    case Talk::tree_down: {
      const int m = mask(round);
      for (int v = 0; v + m < team.size; v += 2 * m) f(v, v + m);
      return;
    }
    case Talk::tree_up: {
      const int m = mask(round);
      for (int v = m; v < team.size; v += 2 * m) f(v, v - m);
      return;
    }
    case Talk::star_out:
      f(0, round + 1);
      return;
    case Talk::star_in:
      f(round + 1, 0);
      return;
    case Talk::fold:
    case Talk::unfold:
      for (int pair = 0; pair < extra(); ++pair) {
        const bool even_sends = (talk == Talk::fold) == odd_stays;
        f(2 * pair + (even_sends ? 0 : 1), 2 * pair + (even_sends ? 1 : 0));
      }
      return;
  }
}

// Everybody of a team waits until all of it are here.
struct Barrier {
  Team team;
};

// What a collective costs every worker once, before its first message.
struct Launch {
  Duration length;
};

using Stage = std::variant<Phase, TreePipeline, Barrier, Launch>;

struct Program {
  std::vector<Stage> stages;
  Program& then(const Stage& stage) {
    stages.push_back(stage);
    return *this;
  }
  Program& then(const Program& other) {
    stages.insert(stages.end(), other.stages.begin(), other.stages.end());
    return *this;
  }
};

// ceil(log2 n) and floor(log2 n) for n >= 1.
constexpr int log2_up(int n) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1)));
}
constexpr int log2_down(int n) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(n))) - 1;
}

}  // namespace sgdsim

// The rounds of collectives as what one rank computes, sends and receives.
//
// Every round has a tag of its own. A round begins when the one before it is done: a rank that only
// sends in a round goes on once its port is free, also where the algorithm would let it wait for
// its receiver.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/net/wires.h"
#include "sim/work/rank_schedule.h"
#include "sim/work/schedule.h"

namespace sgdsim {

struct RankWork {
  uint32_t before = 0;  // operations that are not among these, but count in requirements
  std::vector<RankOperation> operations;
  std::vector<RankSchedule::Requirement> requirements;
};

// How many tags a collective takes; empty if it is no list of rounds.
std::optional<uint32_t> rounds_of(const Program& program);

class RankWriter {
 public:
  // The processors of a rank.
  static constexpr uint32_t computes = 0;
  static constexpr uint32_t exchanges = 1;

  explicit RankWriter(RankWork& work) : work_(work) {}

  // What follows carries this number, by which people find it again.
  void set_line(uint32_t line) { line_ = line; }

  uint32_t calc(uint32_t processor, Duration length) {
    return add({.amount = length.ps(), .processor = processor});
  }
  uint32_t add(RankOperation one);
  void require(uint32_t then, const std::vector<uint32_t>& first) {
    for (const uint32_t one : first) work_.requirements.push_back({one, then, false});
  }

  // A member of a group, and the ranks of all members; none: they are the ranks from 0 on.
  struct Member {
    int number = 0;
    std::span<const uint32_t> ranks;
    uint32_t rank(int member) const {
      return ranks.empty() ? static_cast<uint32_t>(member)
                           : ranks[static_cast<std::size_t>(member)];
    }
  };
  // The member's part of a collective behind `last`, which becomes what its end is. Without wires
  // nothing is paid for adding up.
  void play(const Program& program, const Wires* wires, const Member& member, uint32_t tag,
            std::vector<uint32_t>& last);

 private:
  void play(const Phase& phase, const Wires* wires, const Member& member, uint32_t tag,
            std::vector<uint32_t>& last);

  RankWork& work_;
  uint32_t line_ = 0;
};

}  // namespace sgdsim

// What every rank of a program does, operation by operation: it computes, sends, receives and takes
// part in collectives.
//
// An operation begins once all that it requires has ended, or, for some, has begun. Computing,
// sending and receiving take a processor of the rank, of which it may have several; one does one
// thing at a time, of what is ready the first to have become so, in the order of the file. A
// collective takes no processor, and a rank may be in several at once.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/work/program_traffic.h"
#include "sim/work/schedule.h"

namespace sgdsim {

// `until`: what others wait for ends at a time that is known; it takes nothing, and waits for
// nobody.
enum class RankVerb : uint8_t { compute, send, receive, call, until };

// A rank's part of a collective. Members of a group meet in calls of the same number.
struct RankCall {
  uint32_t group = 0;    // of the schedule
  uint32_t number = 0;   // among the calls of the group
  uint32_t program = 0;  // of the schedule
  uint32_t member = 0;   // of the group, who calls
};

struct RankOperation {
  static constexpr uint32_t any = UINT32_MAX;  // peer or tag of a receive

  int64_t amount = 0;      // picoseconds (`until`: from the start), or bytes; of a call its program
                           // and member
  uint32_t peer = 0;       // of a call its group
  uint32_t tag = 0;        // of a call its number
  uint32_t processor = 0;  // of all ranks
  uint32_t line = 0;       // of the file, for people
  uint32_t waits = 0;      // for so many others
  uint16_t card = 0;       // that it sends by, or receives by
  RankVerb verb = RankVerb::compute;

  static RankOperation of(const RankCall& call) {
    return {.amount = static_cast<int64_t>((uint64_t{call.program} << 32U) | call.member),
            .peer = call.group,
            .tag = call.number,
            .verb = RankVerb::call};
  }
  RankCall call() const {
    const auto both = static_cast<uint64_t>(amount);
    return {peer, tag, static_cast<uint32_t>(both >> 32U), static_cast<uint32_t>(both)};
  }
};

class RankSchedule {
 public:
  struct Follower {
    uint32_t operation = 0;
    bool at_start = false;  // it waits for the start only
  };
  struct Requirement {
    uint32_t first = 0;
    uint32_t then = 0;
    bool at_start = false;
  };

  explicit RankSchedule(uint32_t ranks) : first_(1, 0), written_(ranks) {}

  uint32_t ranks() const { return static_cast<uint32_t>(written_.size()); }
  const std::vector<RankOperation>& operations() const { return operations_; }
  uint32_t processors() const { return static_cast<uint32_t>(rank_of_processor_.size()); }
  uint32_t rank_of(uint32_t operation) const {
    return rank_of_processor_[operations_[operation].processor];
  }
  std::span<const Follower> followers_of(uint32_t operation) const {
    const uint64_t count = first_[operation + 1] - first_[operation];
    return {followers_.data() + first_[operation], static_cast<std::size_t>(count)};
  }

  // Who takes part in calls, and what is done in them; each is named by what these return.
  uint32_t add_group(std::vector<int> ranks) {
    groups_.push_back(std::move(ranks));
    return static_cast<uint32_t>(groups_.size() - 1);
  }
  uint32_t add_program(Program program, bool folds = false) {
    programs_.push_back({std::move(program), folds});
    return static_cast<uint32_t>(programs_.size() - 1);
  }
  const std::vector<int>& group(uint32_t number) const { return groups_[number]; }
  std::size_t groups() const { return groups_.size(); }
  const Program& program(uint32_t number) const { return programs_[number].program; }
  // Whether adding up takes time.
  bool folds(uint32_t program) const { return programs_[program].folds; }
  std::size_t programs() const { return programs_.size(); }

  // All operations of a rank, whose processors count from 0, and what they require of each other
  // (places in `operations`). False if the rank has been written before.
  bool write(uint32_t rank, std::vector<RankOperation>& operations,
             const std::vector<Requirement>& requirements);
  // Before so much more is written: where it does not fit, there will be room for all that may
  // come, which is so many times what there is then.
  void make_room(std::size_t operations, std::size_t requirements, double times);

  // What the ranks of another schedule do, so many times one after the other, by ranks that have
  // not been written: `places` of its ranks.
  void add(const RankSchedule& other, const std::vector<int>& places, int times);

  // Operations that require each other in a circle, each the one before it; empty: there are none.
  std::vector<uint32_t> find_circle() const;

  // What sends and calls put on the wires.
  Traffic traffic() const;
  // The sum of this over each send, and over the messages of each call together.
  double sum_of(const std::function<double(double messages, double size_B)>& of) const;

 private:
  std::vector<RankOperation> operations_;
  std::vector<Follower> followers_;
  std::vector<uint64_t> first_;  // of the followers of each operation
  std::vector<uint32_t> rank_of_processor_;
  std::vector<bool> written_;
  std::vector<std::vector<int>> groups_;
  struct Known {
    Program program;
    bool folds = false;
  };
  std::deque<Known> programs_;  // which stay where they are
};

}  // namespace sgdsim

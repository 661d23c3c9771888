// The two ends of each message between ranks, found in dumps in which no number is common to both:
// those of point-to-point calls count what one rank does with all others.
//
// Messages of a group from one rank to another keep their order, so that the n-th send belongs to
// the n-th receive. A dump holds the latest calls only: where the oldest of a group are lost, both
// ends count from the last one that was completed back, and only if all sizes that then meet agree.
// If they do not, nobody can tell, and each end stands for itself. Notes say where that is so.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "traces/measurement/joined_ranks.h"
#include "traces/measurement/measurement.h"

namespace sgdsim {

struct MessageEnd {
  RankEntry entry;           // without its number
  bool is_measured = false;  // else it only counts
  bool is_completed = true;
};

// What lies between two ranks of a group.
struct MessageWay {
  std::string group;
  int64_t from = 0;
  int64_t to = 0;
  auto operator<=>(const MessageWay&) const = default;
};

class MessageEnds {
 public:
  // In the order of the dump of `rank`. `is_whole`: it has all calls of the group from the first.
  void add(const MessageWay& way, bool is_send, int rank, bool is_whole, const MessageEnd& end);
  // Gives each end the number of its message, and notes how where that is not certain.
  void join(RankJoin& join, std::vector<std::string>& notes);

 private:
  struct Side {
    bool is_send = false;
    int rank = 0;
    bool is_whole = true;
    std::vector<MessageEnd> ends;
  };

  std::map<MessageWay, std::vector<Side>> ways_;
};

}  // namespace sgdsim

// Schedules in GOAL, as LogGOPSim and ATLAHS read them: what every rank computes, sends and
// receives, and after what.
//
//   num_ranks 2
//   rank 0 {
//   l1: calc 100
//   l2: send 1048576b to 1 tag 7 cpu 0 nic 0
//   l2 requires l1
//   }
//   rank 1 { l1: recv 1048576b from 0 tag 7 }
//
// `calc` is in nanoseconds (decimals are read, too), `requires` waits for the end and `irequires`
// for the start. `any` or -1 stand for any sender and any tag. Text after // or # is a comment, as
// is what stands between /* and */.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "sim/work/rank_schedule.h"

namespace sgdsim {

// By its beginning.
inline bool is_goal(std::string_view head) {
  constexpr std::string_view first_word = "num_ranks ";
  head = head.substr(0, 1 << 12);
  return head.starts_with(first_word) ||
         head.find("\n" + std::string(first_word)) != std::string_view::npos;
}

// Reads the file as a stream; "-" is standard input. InputError with the line.
RankSchedule read_goal(const std::string& file);
// The same from a text; `where` is what errors name.
RankSchedule parse_goal(const std::string& text, const std::string& where);

// The beginning of a file, and one rank of it. Times are rounded to nanoseconds so that a processor
// is never off by more than half of one; `exact` writes decimals, which not every program reads.
void write_goal_head(std::ostream& out, uint32_t ranks);
void write_goal_rank(std::ostream& out, uint32_t rank, const std::vector<RankOperation>& operations,
                     const std::vector<RankSchedule::Requirement>& requirements, bool exact);

}  // namespace sgdsim

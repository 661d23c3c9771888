// Numbers from the first or from the last call, and a check of sizes before the latter counts.
#include "traces/measurement/message_ends.h"

#include <algorithm>

namespace sgdsim {
namespace {

using EndList = std::vector<MessageEnd>;

// Above all numbers of messages whose ends were found.
constexpr uint64_t first_alone = uint64_t{1} << 62;

// How many there are up to the last one that was completed.
std::size_t completed(const EndList& ends) {
  std::size_t count = ends.size();
  while (count > 0 && !ends[count - 1].is_completed) --count;
  return count;
}

bool is_same_size(const RankEntry& a, const RankEntry& b) {
  return a.size == b.size || a.size == Bytes() || b.size == Bytes();
}

// Whether what meets has one size, if both count back from the last completed one.
bool meet_from_the_end(const EndList& a, const EndList& b) {
  const std::size_t of_a = completed(a);
  const std::size_t of_b = completed(b);
  for (std::size_t back = 1; back <= std::min(of_a, of_b); ++back)
    if (!is_same_size(a[of_a - back].entry, b[of_b - back].entry)) return false;
  return true;
}

// The first of these ends is that of message `first`.
std::size_t add_to(RankJoin& join, EndList& ends, uint64_t first) {
  std::size_t measured = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (!ends[i].is_measured) continue;
    ends[i].entry.number = first + i;
    join.add(ends[i].entry);
    ++measured;
  }
  return measured;
}

std::string ends_text(std::size_t count) {
  return counted(static_cast<int64_t>(count), "end") + " of messages";
}

}  // namespace

void MessageEnds::add(const MessageWay& way, bool is_send, int rank, bool is_whole,
                      const MessageEnd& end) {
  std::vector<Side>& sides = ways_[way];
  auto side = std::find_if(sides.begin(), sides.end(), [&](const Side& one) {
    return one.is_send == is_send && one.rank == rank;
  });
  if (side == sides.end()) side = sides.insert(side, {is_send, rank, is_whole, {}});
  side->ends.push_back(end);
}

void MessageEnds::join(RankJoin& join, std::vector<std::string>& notes) {
  std::size_t from_the_end = 0;
  std::size_t untold = 0;
  for (auto& [way, sides] : ways_) {
    const bool has_both = sides.size() == 2 && sides[0].is_send != sides[1].is_send;
    if (has_both && sides[0].is_whole && sides[1].is_whole) {
      for (Side& side : sides) add_to(join, side.ends, 0);
    } else if (has_both && meet_from_the_end(sides[0].ends, sides[1].ends)) {
      const std::size_t most = std::max(completed(sides[0].ends), completed(sides[1].ends));
      for (Side& side : sides) from_the_end += add_to(join, side.ends, most - completed(side.ends));
    } else {
      for (std::size_t i = 0; i < sides.size(); ++i) {
        const std::size_t count = add_to(join, sides[i].ends, first_alone + (uint64_t{i} << 48U));
        if (has_both) untold += count;
      }
    }
  }
  if (from_the_end > 0)
    notes.push_back(ends_text(from_the_end) +
                    " are paired from the last completed one back: a dump has lost its oldest "
                    "entries (TORCH_NCCL_TRACE_BUFFER_SIZE keeps more), and they fit if both "
                    "dumps were taken at the same moment");
  if (untold > 0)
    notes.push_back(ends_text(untold) +
                    " stand for themselves, and may hold the wait for the other: a dump has lost "
                    "its oldest entries (TORCH_NCCL_TRACE_BUFFER_SIZE keeps more), and sizes "
                    "differ if the last completed ones are taken for the same message");
}

}  // namespace sgdsim

// Operations that have ended, by rank.
#include "app/replay/schedule_slices.h"

#include <algorithm>

namespace sgdsim {

RankSlices slices_of(const std::string& name, const RankSchedule& schedule,
                     const Replayed& played) {
  RankSlices all{.command = "replay",
                 .name = name,
                 .computing = "calc",
                 .number_name = "line",
                 .ranks = schedule.ranks(),
                 .end = *std::max_element(played.ends.begin(), played.ends.end()),
                 .slices = {}};
  for (uint32_t place = 0; place < schedule.operations().size(); ++place) {
    if (played.ended[place] == Time::last()) continue;
    const RankOperation& one = schedule.operations()[place];
    all.slices.push_back({.rank = schedule.rank_of(place),
                          .verb = one.verb,
                          .peer = one.peer,
                          .bytes = one.amount,
                          .number = one.line,
                          .began = played.began[place],
                          .ended = played.ended[place]});
  }
  return all;
}

}  // namespace sgdsim

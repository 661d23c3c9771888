// Letters for slices.
#include "app/rank_picture.h"

#include <algorithm>

#include "app/lane_picture.h"
#include "study/table.h"

namespace sgdsim {

std::string rank_gantt(const RankSlices& all, const Terminal& terminal) {
  LanePicture picture({{'C', 'c', "\033[34m"},
                       {'S', 's', "\033[32m"},
                       {'R', 'r', "\033[33m"},
                       {'A', 'a', "\033[35m"}},
                      Time(), all.end, terminal);
  for (const RankSlice& one : all.slices) {
    const auto verb = static_cast<std::size_t>(one.verb);
    if (one.rank < most_ranks_pictured && one.ended > one.began)
      picture.add({static_cast<int>(one.rank), static_cast<int>(verb)}, verb, 0, one.began,
                  one.ended);
  }
  const bool has_calls =
      std::any_of(all.slices.begin(), all.slices.end(),
                  [](const RankSlice& one) { return one.verb == RankVerb::call; });
  std::string text = "one column is " + short_duration(picture.column_ps() / 1e6, 4) +
                     "; C computes, S sends, R waits for a message or takes it" +
                     (has_calls ? ", A is in a collective" : "") +
                     "; small letters\n"
                     "fill less than half of a column\n";
  if (all.ranks > most_ranks_pictured)
    text += "the first " + std::to_string(most_ranks_pictured) + " of " +
            std::to_string(all.ranks) + " ranks\n";
  int rank = -1;
  return text + '\n' + picture.text([&](LanePicture::Place place) {
    std::string name = place.first != rank ? "rank " + std::to_string(place.first) : "";
    rank = place.first;
    name.resize(std::max<std::size_t>(14, name.size()), ' ');
    return name + verb_lanes[static_cast<std::size_t>(place.second)];
  });
}

}  // namespace sgdsim

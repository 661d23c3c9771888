// Slices by rank and verb.
#include "app/rank_picture.h"

#include <algorithm>
#include <array>

#include "app/lane_picture.h"
#include "app/lane_timeline.h"
#include "sim/core/error.h"
#include "study/table.h"

namespace sgdsim {
namespace {

constexpr std::array<const char*, 3> verb_lanes = {"computing", "sends", "receives"};
constexpr std::array<const char*, 3> categories = {"forward", "comm", "comm"};

std::string name_of(const RankSlice& one, const std::string& computing) {
  if (one.verb == RankVerb::compute) return computing;
  const std::string peer = one.peer == RankOperation::any ? "any" : std::to_string(one.peer);
  return one.verb == RankVerb::send ? "send to " + peer : "receive from " + peer;
}

}  // namespace

std::string rank_timeline(RankSlices all) {
  std::erase_if(all.slices, [](const RankSlice& one) { return one.ended <= one.began; });
  std::stable_sort(all.slices.begin(), all.slices.end(),
                   [](const RankSlice& a, const RankSlice& b) {
                     return std::pair(a.rank, a.began) < std::pair(b.rank, b.began);
                   });
  LaneTimeline timeline(all.command, all.name, "rank", {verb_lanes.begin(), verb_lanes.end()});
  for (const RankSlice& one : all.slices) {
    const auto verb = static_cast<std::size_t>(one.verb);
    Json arguments = Json::object();
    if (one.number >= 0) arguments[all.number_name] = one.number;
    if (one.verb != RankVerb::compute) arguments["bytes"] = one.bytes;
    timeline.add(static_cast<int>(one.rank), verb, one.began, one.ended,
                 name_of(one, all.computing), categories[verb], arguments);
  }
  return timeline.finish();
}

std::string rank_gantt(const RankSlices& all, const Terminal& terminal) {
  LanePicture picture({{'C', 'c', "\033[34m"}, {'S', 's', "\033[32m"}, {'R', 'r', "\033[33m"}},
                      Time(), all.end, terminal);
  for (const RankSlice& one : all.slices) {
    const auto verb = static_cast<std::size_t>(one.verb);
    if (one.rank < most_ranks_pictured && one.ended > one.began)
      picture.add({static_cast<int>(one.rank), static_cast<int>(verb)}, verb, 0, one.began,
                  one.ended);
  }
  std::string text = "one column is " + short_duration(picture.column_ps() / 1e6, 4) +
                     "; C computes, S sends, R waits for a message or takes it; small letters\n"
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

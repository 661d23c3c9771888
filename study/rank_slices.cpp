// Slices by rank and verb.
#include "study/rank_slices.h"

#include <algorithm>

#include "study/lane_timeline.h"

namespace sgdsim {
namespace {

constexpr std::array<const char*, 4> categories = {"forward", "comm", "comm", "comm"};

std::string name_of(const RankSlice& one, const std::string& computing) {
  if (one.verb == RankVerb::compute) return computing;
  if (one.verb == RankVerb::call) return "collective";
  const std::string peer = one.peer == RankOperation::any ? "any" : std::to_string(one.peer);
  return one.verb == RankVerb::send ? "send to " + peer : "receive from " + peer;
}

}  // namespace

void add_slices(TraceEvents& events, RankSlices all, const std::string& prefix, int first) {
  std::erase_if(all.slices, [](const RankSlice& one) { return one.ended <= one.began; });
  std::stable_sort(all.slices.begin(), all.slices.end(),
                   [](const RankSlice& a, const RankSlice& b) {
                     return std::pair(a.rank, a.began) < std::pair(b.rank, b.began);
                   });
  LaneTimeline timeline(events, prefix + "rank", {verb_lanes.begin(), verb_lanes.end()}, first);
  for (const RankSlice& one : all.slices) {
    const auto verb = static_cast<std::size_t>(one.verb);
    Json arguments = Json::object();
    if (one.number >= 0) arguments[all.number_name] = one.number;
    if (one.verb == RankVerb::send || one.verb == RankVerb::receive) arguments["bytes"] = one.bytes;
    timeline.add(static_cast<int>(one.rank), verb, one.began, one.ended,
                 name_of(one, all.computing), categories[verb], arguments);
  }
}

std::string rank_timeline(RankSlices all) {
  TraceEvents events(all.command, all.name);
  add_slices(events, std::move(all));
  return events.finish();
}

}  // namespace sgdsim

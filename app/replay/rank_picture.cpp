// Operations by rank and verb.
#include "app/replay/rank_picture.h"

#include <algorithm>
#include <array>

#include "app/lane_picture.h"
#include "app/lane_timeline.h"
#include "app/table.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_operations_shown = 2'000'000;

constexpr std::array<const char*, 3> verb_lanes = {"computing", "sends", "receives"};
constexpr std::array<const char*, 3> categories = {"forward", "comm", "comm"};

// Operations that took time and have ended, by rank and start.
std::vector<uint32_t> shown_operations(const RankSchedule& schedule, const Replayed& played) {
  std::vector<uint32_t> shown;
  for (uint32_t place = 0; place < schedule.operations().size(); ++place)
    if (played.ended[place] != Time::last() && played.ended[place] > played.began[place])
      shown.push_back(place);
  std::stable_sort(shown.begin(), shown.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(schedule.rank_of(a), played.began[a]) <
           std::pair(schedule.rank_of(b), played.began[b]);
  });
  return shown;
}

std::string name_of(const RankOperation& one) {
  if (one.verb == RankVerb::compute) return "calc";
  const std::string peer = one.peer == RankOperation::any ? "any" : std::to_string(one.peer);
  return one.verb == RankVerb::send ? "send to " + peer : "receive from " + peer;
}

}  // namespace

void check_shown(const RankSchedule& schedule) {
  if (schedule.operations().size() > most_operations_shown)
    throw InputError("", "--timeline and --gantt show at most " +
                             std::to_string(most_operations_shown) + " operations, not " +
                             std::to_string(schedule.operations().size()));
}

std::string rank_timeline(const std::string& name, const RankSchedule& schedule,
                          const Replayed& played) {
  LaneTimeline timeline(name, "rank", {verb_lanes.begin(), verb_lanes.end()});
  for (const uint32_t place : shown_operations(schedule, played)) {
    const RankOperation& one = schedule.operations()[place];
    const auto verb = static_cast<std::size_t>(one.verb);
    Json arguments = {{"line", one.line}};
    if (one.verb != RankVerb::compute) arguments["bytes"] = one.amount;
    timeline.add(static_cast<int>(schedule.rank_of(place)), verb, played.began[place],
                 played.ended[place], name_of(one), categories[verb], arguments);
  }
  return timeline.finish();
}

std::string rank_gantt(const RankSchedule& schedule, const Replayed& played,
                       const Terminal& terminal) {
  const Time end = *std::max_element(played.ends.begin(), played.ends.end());
  LanePicture picture({{'C', 'c', "\033[34m"}, {'S', 's', "\033[32m"}, {'R', 'r', "\033[33m"}},
                      Time(), end, terminal);
  for (const uint32_t place : shown_operations(schedule, played)) {
    const uint32_t rank = schedule.rank_of(place);
    const auto verb = static_cast<std::size_t>(schedule.operations()[place].verb);
    if (rank < most_schedule_ranks_shown)
      picture.add({static_cast<int>(rank), static_cast<int>(verb)}, verb, 0, played.began[place],
                  played.ended[place]);
  }
  std::string text = "one column is " + short_duration(picture.column_ps() / 1e6, 4) +
                     "; C computes, S sends, R waits for a message or takes it; small letters\n"
                     "fill less than half of a column\n";
  if (schedule.ranks() > most_schedule_ranks_shown)
    text += "the first " + std::to_string(most_schedule_ranks_shown) + " of " +
            std::to_string(schedule.ranks()) + " ranks\n";
  int rank = -1;
  return text + '\n' + picture.text([&](LanePicture::Place place) {
    std::string name = place.first != rank ? "rank " + std::to_string(place.first) : "";
    rank = place.first;
    name.resize(std::max<std::size_t>(14, name.size()), ' ');
    return name + verb_lanes[static_cast<std::size_t>(place.second)];
  });
}

}  // namespace sgdsim

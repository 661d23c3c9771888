// A lane of computation and one for each channel; kinds are those of activities.
#include "app/step/gantt.h"

#include <algorithm>

#include "app/lane_picture.h"
#include "study/table.h"

namespace sgdsim {
namespace {

constexpr int compute_lane = -1;  // channels count from 0

int lane_of(const Slice& slice) {
  switch (slice.activity) {
    case Activity::forward:
    case Activity::backward:
    case Activity::compress:
    case Activity::decompress:
    case Activity::update:
      return compute_lane;
    default:
      return slice.channel;
  }
}

LaneKind kind_of(Activity activity) {
  switch (activity) {
    case Activity::forward:
      return {'F', 'f', "\033[34m"};
    case Activity::backward:
      return {'B', 'b', "\033[36m"};
    case Activity::compress:
    case Activity::decompress:
      return {'C', 'c', "\033[35m"};
    case Activity::update:
      return {'U', 'u', "\033[35m"};
    case Activity::broadcast:
      return {'P', 'p', "\033[32m"};
    case Activity::waiting:
      return {'-', '-', "\033[33m"};
    case Activity::message:
      return {' ', ' ', "\033[32m", true};
    case Activity::begin:
    case Activity::load:
      break;
  }
  return {};
}

}  // namespace

std::string gantt_text(const Timeline& timeline, const Terminal& terminal) {
  if (timeline.slices.empty()) return "nothing took any time\n";
  Time begin = Time::last();
  Time end;
  for (const Slice& slice : timeline.slices) {
    begin = std::min(begin, slice.start);
    end = std::max(end, slice.end);
  }
  std::vector<LaneKind> kinds;
  for (int i = 0; i <= static_cast<int>(Activity::load); ++i)
    kinds.push_back(kind_of(static_cast<Activity>(i)));
  LanePicture picture(std::move(kinds), begin, end, terminal);
  for (const Slice& slice : timeline.slices)
    picture.add({slice.worker, lane_of(slice)}, static_cast<std::size_t>(slice.activity),
                slice.index, slice.start, slice.end);
  int worker = -1;
  return "one column is " + short_duration(picture.column_ps() / 1e6, 4) +
         "; F forward, B backward, C compression, U update,\n"
         "P broadcast, - waiting for others; digits: last digit of the message number, ~ several\n"
         "messages, or one in less than half of a column, as small letters are\n\n" +
         picture.text([&](LanePicture::Place place) {
           std::string name = place.first != worker ? "worker " + std::to_string(place.first) : "";
           worker = place.first;
           name.resize(std::max<std::size_t>(14, name.size()), ' ');
           return name + (place.second == compute_lane ? "compute"
                                                       : "channel " + std::to_string(place.second));
         });
}

}  // namespace sgdsim

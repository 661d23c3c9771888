// The first lane that is free.
#include "study/lane_timeline.h"

namespace sgdsim {

int LaneTimeline::lane_of(int rank, std::size_t kind, Time start, Time end) {
  std::vector<Time>& free_from = free_from_[{rank, kind}];
  std::size_t lane = 0;
  while (lane < free_from.size() && free_from[lane] > start) ++lane;
  const int thread = static_cast<int>(1 + kind + lane * kinds_.size());
  if (lane == free_from.size()) {
    free_from.emplace_back();
    const std::string number = lane == 0 ? "" : " " + std::to_string(lane + 1);
    events_.name_thread({first_ + rank, thread}, kinds_[kind] + number);
  }
  free_from[lane] = end;
  return thread;
}

void LaneTimeline::add(int rank, std::size_t kind, Time start, Time end, const std::string& name,
                       const std::string& category, const Json& arguments,
                       const std::string& note) {
  if (named_.insert(rank).second)
    events_.name_process(first_ + rank, rank_ + " " + std::to_string(rank) + note);
  const int thread = lane_of(rank, kind, start, end);
  events_.slice({first_ + rank, thread}, start, end, name, category, arguments);
}

}  // namespace sgdsim

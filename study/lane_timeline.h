// A timeline of ranks that do several things of a kind at once: what overlaps goes to lanes of its
// own, so that no slice hides another one.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "study/trace_events.h"

namespace sgdsim {

class LaneTimeline {
 public:
  // `rank`: what processes are called, whose numbers begin with `first`; `kinds`: what their
  // threads are called.
  LaneTimeline(TraceEvents& events, std::string rank, std::vector<std::string> kinds, int first = 0)
      : events_(events), rank_(std::move(rank)), kinds_(std::move(kinds)), first_(first) {}

  // `note`: stands behind the name of the process. Slices of one kind in the order of their starts.
  void add(int rank, std::size_t kind, Time start, Time end, const std::string& name,
           const std::string& category, const Json& arguments = Json::object(),
           const std::string& note = "");

 private:
  int lane_of(int rank, std::size_t kind, Time start, Time end);

  TraceEvents& events_;
  std::string rank_;
  std::vector<std::string> kinds_;
  int first_;
  std::set<int> named_;
  std::map<std::pair<int, std::size_t>, std::vector<Time>> free_from_;  // of each lane
};

}  // namespace sgdsim

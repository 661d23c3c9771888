// For each port at which the longest way may wait: the best stretch of links that passes it.
#include "models/collective/unlike_ring.h"

#include <algorithm>
#include <deque>
#include <functional>

namespace sgdsim::collective {
namespace {

// Ways that wait at the fastest ports are hardly ever the longest ones.
constexpr std::size_t most_speeds = 16;

std::vector<double> slowest_first(const std::vector<RingLink>& links) {
  std::vector<double> transits_ps;
  for (const RingLink& link : links) transits_ps.push_back(link.transit_ps);
  std::sort(transits_ps.begin(), transits_ps.end(), std::greater<>());
  transits_ps.erase(std::unique(transits_ps.begin(), transits_ps.end()), transits_ps.end());
  if (transits_ps.size() > most_speeds) transits_ps.resize(most_speeds);
  return transits_ps;
}

// What a stretch of at most so many links takes longer than waiting as often, if it passes a member
// whose port takes no less; the most of all.
double longest_stretch_ps(const std::vector<RingLink>& links, int64_t steps, double waits_ps) {
  struct Start {
    int64_t place = 0;
    double before_ps = 0;
  };
  std::deque<Start> passing;   // of stretches that have passed such a member, the best one first
  std::vector<Start> waiting;  // that have not
  const auto members = static_cast<int64_t>(links.size());
  double so_far_ps = 0;
  double most_ps = 0;
  for (int64_t place = 0; place < members + steps; ++place) {
    const RingLink& link = links[static_cast<std::size_t>(place % members)];
    waiting.push_back({place, so_far_ps});
    if (link.transit_ps >= waits_ps) {
      for (const Start& start : waiting) {
        while (!passing.empty() && passing.back().before_ps >= start.before_ps) passing.pop_back();
        passing.push_back(start);
      }
      waiting.clear();
    }
    while (!passing.empty() && place - passing.front().place > steps) passing.pop_front();
    if (!passing.empty()) most_ps = std::max(most_ps, so_far_ps - passing.front().before_ps);
    so_far_ps += link.flight_ps + link.transit_ps - waits_ps;
  }
  return most_ps;
}

}  // namespace

double steps_around_ps(const std::vector<RingLink>& links, int64_t steps) {
  double most_ps = 0;
  for (const double waits_ps : slowest_first(links))
    most_ps = std::max(most_ps, static_cast<double>(steps) * waits_ps +
                                    longest_stretch_ps(links, steps, waits_ps));
  return most_ps;
}

}  // namespace sgdsim::collective

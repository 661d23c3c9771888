// Walking back along what was waited for.
#include "sim/play/causes.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <optional>

namespace sgdsim {

void Causes::start_iteration(uint32_t iteration, std::size_t actions) {
  if (nodes_.empty()) first_ = iteration;
  nodes_.emplace_back(actions);
  if (nodes_.size() <= kept_) return;
  nodes_.pop_front();
  ++first_;
}

void Causes::forget() { nodes_.clear(); }

void Causes::note(Event event, const Action& action, Event cause, Time end) {
  nodes_[event.iteration - first_][event.action] = {action, cause, end};
}

const Causes::Node* Causes::find(Event event) const {
  if (!event.is_known() || event.iteration < first_) return nullptr;
  return &nodes_[event.iteration - first_][event.action];
}

Causes::Circle Causes::circle_from(Event last, Duration mean, uint32_t period) const {
  constexpr std::size_t most_compared = 1'000'000;
  constexpr double alike = 0.2;  // of the mean: iterations that differ by chance
  constexpr double near = 0.01;  // of the mean, of several iterations
  struct Found {
    std::size_t from = 0;
    std::size_t to = 0;
    uint32_t iterations = 0;
  };
  std::vector<Link> back;
  std::vector<Time> ends;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<std::size_t>> met;  // by action and phase
  std::optional<Found> found;
  std::size_t compared = 0;
  for (Event event = last; const Node* node = find(event); event = node->cause) {
    std::vector<std::size_t>& before = met[{event.action, event.iteration % period}];
    bool takes_mean = false;
    for (const std::size_t place : before) {
      const uint32_t iterations = back[place].event.iteration - event.iteration;
      assert(iterations > 0);  // nothing waits for itself
      const double expected_ps = iterations * static_cast<double>(mean.ps());
      const auto takes_ps = static_cast<double>((ends[place] - node->end).ps());
      takes_mean =
          std::abs(takes_ps - expected_ps) <= (found ? near : alike) * expected_ps + iterations;
      if (takes_mean || !found) found = {place, back.size(), iterations};
      if (takes_mean) break;
    }
    compared += before.size();
    if (takes_mean || compared > most_compared) break;
    before.push_back(back.size());
    Duration length;
    if (const Node* cause = find(node->cause))
      length = node->end - cause->end;
    else if (!node->cause.is_known())
      length = node->end - Time();
    back.push_back({event, node->action, length});
    ends.push_back(node->end);
  }
  Circle circle;
  if (!found && !back.empty()) {
    found = {0, back.size(), last.iteration - back.back().event.iteration + 1};
    const bool is_cut = find(back.back().event)->cause.is_known();
    const bool is_one_iteration =
        found->iterations == 1 && back.back().action.activity == Activity::begin;
    if (is_cut && !is_one_iteration) return {};
  }
  if (!found) return circle;
  circle.iterations = found->iterations;
  circle.links.assign(back.begin() + static_cast<std::ptrdiff_t>(found->from),
                      back.begin() + static_cast<std::ptrdiff_t>(found->to));
  std::reverse(circle.links.begin(), circle.links.end());
  return circle;
}

}  // namespace sgdsim

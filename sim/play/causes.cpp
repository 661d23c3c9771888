// Walking back along what was waited for.
#include "sim/play/causes.h"

#include <algorithm>
#include <cassert>
#include <map>

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

Causes::Circle Causes::circle_from(Event last, uint32_t period) const {
  std::vector<Link> back;
  std::map<std::pair<uint32_t, uint32_t>, std::size_t> met;  // where, by action and phase
  Circle circle;
  std::size_t begin = 0;
  bool is_circle = false;
  for (Event event = last; const Node* node = find(event); event = node->cause) {
    const auto [place, is_new] =
        met.try_emplace({event.action, event.iteration % period}, back.size());
    if (!is_new) {
      begin = place->second;
      circle.iterations = back[begin].event.iteration - event.iteration;
      assert(circle.iterations > 0);  // nothing waits for itself
      is_circle = true;
      break;
    }
    Duration length;
    if (const Node* cause = find(node->cause))
      length = node->end - cause->end;
    else if (!node->cause.is_known())
      length = node->end - Time();
    back.push_back({event, node->action, length});
  }
  if (!is_circle && !back.empty()) {
    circle.iterations = last.iteration - back.back().event.iteration + 1;
    const bool is_cut = find(back.back().event)->cause.is_known();
    const bool is_one_iteration =
        circle.iterations == 1 && back.back().action.activity == Activity::begin;
    if (is_cut && !is_one_iteration) return {};
  }
  circle.links.assign(back.begin() + static_cast<std::ptrdiff_t>(begin), back.end());
  std::reverse(circle.links.begin(), circle.links.end());
  return circle;
}

}  // namespace sgdsim

// Why a step takes as long as it does.
#include <algorithm>

#include "models/step/step_player.h"

namespace sgdsim {

// The circle that the last iterations repeat, or all that the last one is made of. What the compute
// stream does between messages is one part for each kind of work.
template <class Clock>
void StepPlayer<Clock>::find_reason() {
  Causes::Event last = flow_.cause_of_next(graph_.graph, graph_.begin);
  if (step_.is_late()) last = flow_.last_of_stream(compute_stream);
  if (step_.pipeline != nullptr)
    last = flow_.last_of_stream(last_of(flow_.free(compute_stream)) == last_end_ ? compute_stream
                                                                                 : network_stream);
  const Causes::Circle circle = causes_->circle_from(
      last,
      Duration::ps(result_.total().ps() /
                   std::max<int64_t>(1, static_cast<int64_t>(result_.iterations.size()))),
      step_.pipeline == nullptr ? 1 : static_cast<uint32_t>(step_.pipeline->every));
  result_.critical_iterations = static_cast<int>(circle.iterations);
  std::size_t stretch = 0;  // where the parts between two messages begin
  for (const Causes::Link& link : circle.links) {
    const Action& action = link.action;
    const bool is_message =
        action.activity == Activity::message || action.activity == Activity::broadcast;
    CriticalPart part{.activity = action.activity,
                      .messages = is_message ? action.last - action.first + 1 : 0,
                      .first_layer = action.first,
                      .last_layer = action.last,
                      .length = link.length};
    if (action.activity == Activity::message || action.activity == Activity::compress) {
      const PlannedMessage& one = step_.plan.messages[static_cast<std::size_t>(action.first)];
      const PlannedMessage& other = step_.plan.messages[static_cast<std::size_t>(action.last)];
      part.first_layer = std::min(one.first_layer, other.first_layer);
      part.last_layer = std::max(one.last_layer, other.last_layer);
    }
    add_part(part, is_message, stretch);
  }
}

// Adds it to one of its kind, if there is one.
template <class Clock>
void StepPlayer<Clock>::add_part(const CriticalPart& part, bool is_message, std::size_t& stretch) {
  std::vector<CriticalPart>& parts = result_.critical;
  if (part.activity == Activity::begin && part.length == Duration()) return;
  const bool follows_message = !parts.empty() && parts.back().messages > 0;
  if (is_message ? !follows_message : follows_message) stretch = parts.size();
  const auto like =
      std::find_if(parts.begin() + static_cast<std::ptrdiff_t>(stretch), parts.end(),
                   [&](const CriticalPart& other) { return other.activity == part.activity; });
  if (like == parts.end())
    parts.push_back(part);
  else
    like->add(part);
}

template void StepPlayer<Time>::find_reason();
template void StepPlayer<Clocks>::find_reason();

}  // namespace sgdsim

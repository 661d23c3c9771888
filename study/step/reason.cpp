// The parts of the critical circle by name.
#include "study/step/reason.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "study/table.h"

namespace sgdsim {
namespace {

// Parts of a layer-wise pass or of messages say which layers; the others are of all.
bool names_layers(Activity activity) {
  switch (activity) {
    case Activity::forward:
    case Activity::backward:
    case Activity::message:
    case Activity::broadcast:
      return true;
    default:
      return false;
  }
}

constexpr Named<Activity, 9> critical_names{{{"forward", Activity::forward},
                                             {"backward", Activity::backward},
                                             {"encoding", Activity::compress},
                                             {"decoding", Activity::decompress},
                                             {"update", Activity::update},
                                             {"messages", Activity::message},
                                             {"broadcasts", Activity::broadcast},
                                             {"loading the next batch", Activity::load},
                                             {"waiting", Activity::waiting}}};

std::string critical_name_of(Activity activity) {
  return std::string(
      name_in(critical_names, activity == Activity::begin ? Activity::waiting : activity));
}

// Which layers, where they are not all that there are; "" if they are.
std::string layers_of(const CriticalPart& part, const Trace& trace) {
  if (!names_layers(part.activity)) return "";
  const auto name = [&](int layer) { return trace.layers[static_cast<std::size_t>(layer)].name; };
  const int last = static_cast<int>(trace.layers.size()) - 1;
  if (part.first_layer == 0 && part.last_layer == last)
    return part.messages > 0 ? "all layers" : "";
  if (part.first_layer == part.last_layer) return name(part.first_layer);
  const bool backwards = part.activity != Activity::forward && part.activity != Activity::broadcast;
  return backwards ? name(part.last_layer) + " down to " + name(part.first_layer)
                   : name(part.first_layer) + " to " + name(part.last_layer);
}

std::string text_of(const CriticalPart& part, const Trace& trace, bool by_turns) {
  std::string text = critical_name_of(part.activity);
  if (part.messages == 1) text = part.activity == Activity::message ? "the message" : "a broadcast";
  if (part.messages > 1)
    text = std::to_string(part.messages) + " " + text + (by_turns ? "" : " one after another");
  const std::string layers = layers_of(part, trace);
  return text + " (" + layers + (layers.empty() ? "" : ", ") + short_duration(part.length.us(), 4) +
         ")";
}

// One part for each kind.
std::vector<CriticalPart> by_kind(const std::vector<CriticalPart>& parts) {
  std::vector<CriticalPart> kinds;
  for (const CriticalPart& part : parts) {
    const auto like = std::find_if(kinds.begin(), kinds.end(), [&](const CriticalPart& kind) {
      return kind.activity == part.activity;
    });
    if (like == kinds.end())
      kinds.push_back(part);
    else
      like->add(part);
  }
  return kinds;
}

// Which steps the parts are of: where steps differ by chance, those may be longer or shorter than
// the mean.
std::string whose_length(const StepResult& result) {
  constexpr double alike = 0.01;
  Duration sum;
  for (const CriticalPart& part : result.critical) sum += part.length;
  const int steps = result.critical_iterations;
  const double mean_us =
      result.total().us() / static_cast<double>(std::max<std::size_t>(1, result.iterations.size()));
  const bool are_alike = std::abs(sum.us() - steps * mean_us) <= alike * steps * mean_us;
  if (are_alike)
    return steps > 1 ? std::to_string(steps) + " steps are as long as " : "the step is as long as ";
  return "steps differ; " + (steps > 1 ? std::to_string(steps) : std::string("one")) + " of " +
         short_duration(sum.us(), 4) + (steps > 1 ? " together are" : " is") + " as long as ";
}

}  // namespace

Fields fields_of(const CriticalPart& part) {
  const bool has_layers = names_layers(part.activity);
  return {
      Field("what", critical_name_of(part.activity), "what it is").one_of(names_in(critical_names)),
      {"length_us", part.length.us(), "its length, with what it waits for within"},
      {"layers",
       has_layers ? std::optional(std::vector<int>{part.first_layer, part.last_layer})
                  : std::nullopt,
       "first and last layer, counted from 0 in forward order"},
      Field("count", part.messages > 0 ? std::optional(part.messages) : std::nullopt,
            "how many messages, one after another")
          .at_least(1)};
}

Fields fields_of(const Reason& reason) {
  Duration sum;
  for (const CriticalPart& part : reason.parts) sum += part.length;
  return {{"iterations", reason.iterations, "how many iterations the parts span together"},
          {"length_us", sum.us(), "the sum of the parts"},
          {"parts", reason.parts, "in the order in which they happen"}};
}

std::optional<Reason> reason_of(const StepResult& result) {
  if (result.critical.empty()) return {};
  return Reason{result.critical_iterations, result.critical};
}

Field critical_field(const StepResult* result) {
  return {"critical", result != nullptr ? reason_of(*result) : std::nullopt,
          "what the time of the last iterations is the sum of: what waited for each other, so that "
          "nothing else would have let them end sooner; not of asynchronous training"};
}

std::string reason_text(const StepResult& result, const Trace& trace) {
  constexpr std::size_t most_parts = 6;
  std::vector<CriticalPart> parts = result.critical;
  std::erase_if(parts, [](const CriticalPart& part) { return part.length == Duration(); });
  if (parts.empty()) return "";
  const bool by_turns = parts.size() > most_parts;
  if (by_turns) parts = by_kind(parts);
  std::string text = whose_length(result);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += text_of(parts[i], trace, by_turns);
  }
  return text + (by_turns ? ", by turns" : "");
}

}  // namespace sgdsim

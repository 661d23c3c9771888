// How far the plans of all strategies move when the constants of the network do.
//
// A strategy that merges by a rule may fall off an edge: MG-WFBP on the authors' GoogLeNet with 64
// nodes loses 16 % of its speed-up when start-ups are 1.6 % longer. So start-ups are moved alone,
// then the time per byte alone, by parts of the range up and down.
#include <algorithm>
#include <array>

#include "sim/core/decimal.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "study/step/plan.h"

namespace sgdsim {
namespace {

constexpr std::array distances = {0.1, 0.2, 0.4, 0.6, 0.8, 1.};  // of the range, up and down

bool is_one_of(const std::string& key, const std::initializer_list<const char*>& keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::string scaled_time(const std::string& text, double factor) {
  const Duration time = parse_duration(text, "");
  return to_text(Duration::nearest_ps(static_cast<double>(time.ps()) * factor));
}

// Of a link, a segment, a line, a curve: whatever stands below.
void scale(Json& json, double start_ups, double bytes) {
  if (json.is_binary()) json = unpacked(json);
  if (json.is_array()) {
    for (Json& item : json) scale(item, start_ups, bytes);
    return;
  }
  if (!json.is_object()) return;
  for (auto& [key, value] : json.items()) {
    if (!value.is_string()) {
      scale(value, start_ups, bytes);
      continue;
    }
    const auto text = value.get<std::string>();
    if (is_one_of(key, {"latency", "switch_latency", "start", "start_up"}))
      value = scaled_time(text, start_ups);
    else if (is_one_of(key, {"per_byte", "reduce"}))
      value = to_text(parse_per_byte(text, "") * bytes);
    else if (key == "bandwidth")
      value = to_text(parse_bandwidth(text, "") * (1 / bytes));
    else if (key == "time")  // of a curve's sample
      value = scaled_time(text, bytes);
  }
}

// The experiment with its cluster's and its collective's start-ups and times per byte times these.
ResolvedExperiment with_constants(const ResolvedExperiment& resolved, double start_ups,
                                  double bytes) {
  ResolvedExperiment moved = resolved;
  for (const char* part : {"cluster", "collective"})
    if (moved.json.contains(part)) scale(moved.json[part], start_ups, bytes);
  if (moved.json.contains("compression") && moved.json["compression"].is_object() &&
      moved.json["compression"].contains("collective"))
    scale(moved.json["compression"]["collective"], start_ups, bytes);
  return moved;
}

}  // namespace

double part_around(const std::string& text, const std::string& where) {
  const std::size_t end = text.find_last_not_of(" %");
  const std::string number = text.substr(0, end == std::string::npos ? 0 : end + 1);
  double value = 0;
  const auto [stop, problem] = read_decimal(number.data(), number.data() + number.size(), value);
  const double part = text.ends_with('%') ? value / 100 : value;
  if (problem != std::errc{} || stop != number.data() + number.size() ||
      !(part >= 0.001 && part <= 0.5))
    throw InputError(where, "expected a part from 0.1 % to 50 %, such as 5%, got \"" + text + "\"");
  return part;
}

void move_constants(
    const ResolvedExperiment& resolved, double part, std::vector<StrategyPlan>& plans,
    const std::function<std::vector<StrategyPlan>(const ResolvedExperiment&)>& again) {
  for (StrategyPlan& plan : plans)
    if (plan.why_not.empty())
      plan.around = {
          .part = part, .least_us = plan.metrics.mean_us, .most_us = plan.metrics.mean_us};
  const auto take = [&](double start_ups, double bytes) {
    for (const StrategyPlan& moved : again(with_constants(resolved, start_ups, bytes))) {
      const auto found = std::find_if(plans.begin(), plans.end(), [&](const StrategyPlan& plan) {
        return plan.strategy == moved.strategy && plan.method == moved.method && plan.around &&
               moved.why_not.empty();
      });
      if (found == plans.end()) continue;
      found->around->least_us = std::min(found->around->least_us, moved.metrics.mean_us);
      found->around->most_us = std::max(found->around->most_us, moved.metrics.mean_us);
    }
  };
  for (const double step : distances)
    for (const double factor : {1 - part * step, 1 + part * step}) {
      take(factor, 1);
      take(1, factor);
    }
}

}  // namespace sgdsim

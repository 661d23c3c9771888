// A dynamic programme over prefixes in backward order. A group computes its backward and its
// selection, then is exchanged when the group before it has been:
//
//   C' = C + backward + t_s(group)      E' = max(E, C') + t_c(group)
//
// Each prefix keeps every pair (C, E) that no other pair beats in both: an earlier C may be worth a
// later E. O(L^2 F) for frontiers of F pairs: a few dozen at most in practice, and one pair where
// nothing is selected.
#include "models/strategy/exact_merge.h"

#include <algorithm>
#include <tuple>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

// 33 million groups take some seconds, and two million with their frontiers as long.
constexpr std::size_t most_gradients = 8192;
constexpr std::size_t most_selected = 2048;

struct State {
  Duration selected;   // C, less the backward passes
  Duration exchanged;  // E
  std::size_t from = 0;
  std::size_t state = 0;  // of `from`
};

// Keeps what no other state beats in both; of equals the one with the largest last group.
std::vector<State> frontier_of(std::vector<State>& states) {
  std::sort(states.begin(), states.end(), [](const State& a, const State& b) {
    return std::tie(a.selected, a.exchanged, a.from, a.state) <
           std::tie(b.selected, b.exchanged, b.from, b.state);
  });
  std::vector<State> kept;
  for (const State& state : states)
    if (kept.empty() || state.exchanged < kept.back().exchanged) kept.push_back(state);
  return kept;
}

void check_count(const PlanInput& input, std::string_view strategy, Gradients& gradients) {
  const std::size_t count = gradients.count();
  const bool selects =
      input.cost.compression() != nullptr && gradients.group(0, count - 1).select > Duration();
  const std::size_t most = selects ? most_selected : most_gradients;
  if (count <= most) return;
  throw InputError("", std::string(strategy) + " merges at most " + std::to_string(most) +
                           " gradients " +
                           (selects ? "that are compressed" : "whose cost is not a straight line") +
                           "; there are " + std::to_string(count));
}

}  // namespace

Gradients::Gradients(const PlanInput& input)
    : input_(input), layers_(layers_with_gradients(input.trace)), job_(input.cost.job()) {
  before_.reserve(layers_.size() + 1);
  before_.emplace_back();
  for (const int layer : layers_)
    before_.push_back(before_.back() +
                      input.trace.layers[static_cast<std::size_t>(layer)].gradient);
}

PlannedMessage Gradients::message(std::size_t first, std::size_t last) const {
  PlannedMessage message;
  message.first_layer = layers_[last];
  message.last_layer = layers_[first];
  message.size = size(first, last);
  return message;
}

GroupTime Gradients::group(std::size_t first, std::size_t last) {
  const Encoded encoded = input_.cost.encoded(message(first, last).group());
  return {encoded.compress, input_.cost.of(encoded, job_)};
}

std::vector<PlannedMessage> merge_exactly(const PlanInput& input, std::string_view strategy,
                                          double cap_B) {
  Gradients gradients(input);
  const std::size_t count = gradients.count();
  if (count == 0) return {};
  check_count(input, strategy, gradients);
  std::vector<std::vector<State>> frontiers(count + 1);
  frontiers[0] = {State()};
  std::vector<State> states;
  for (std::size_t j = 1; j <= count; ++j) {
    states.clear();
    const Duration backward = gradients.backward_until(j - 1);
    for (std::size_t i = j; i-- > 0;) {
      if (i + 1 < j && static_cast<double>(gradients.size(i, j - 1).count()) > cap_B) break;
      const GroupTime group = gradients.group(i, j - 1);
      for (std::size_t s = 0; s < frontiers[i].size(); ++s) {
        const Duration selected = frontiers[i][s].selected + group.select;
        const Duration start = std::max(frontiers[i][s].exchanged, backward + selected);
        states.push_back({selected, start + group.exchange, i, s});
      }
    }
    frontiers[j] = frontier_of(states);
  }
  std::vector<PlannedMessage> messages;
  // The last state of a frontier ends its exchange first.
  for (std::size_t j = count, s = frontiers[count].size() - 1; j > 0;) {
    const State& state = frontiers[j][s];
    messages.push_back(gradients.message(state.from, j - 1));
    s = state.state;
    j = state.from;
  }
  std::reverse(messages.begin(), messages.end());
  return messages;
}

}  // namespace sgdsim

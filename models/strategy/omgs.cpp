// OMGS-SGD (Shi and others, INFOCOM 2020): merging for compressed gradients, whose selection runs
// on the compute stream and delays the gradients behind it. A group computes its backward and its
// selection, then is exchanged when the group before it has been:
//
//   C' = C + backward + t_s(group)      E' = max(E, C') + t_c(group)
//
// `greedy`, the published rule, merges l into l - 1 if waiting costs less than it saves:
// t_b(l-1) + t_s(both) - t_s(l) - t_s(l-1) - (tau_c(l) - ready(l)) < t_c(l) + t_c(l-1) - t_c(both).
// One pass: a decision looks only at groups that are closed. The released code never tests the two
// layers next to the loss and merges them (`merges_top_two`).
//
// `exact` is a dynamic programme over prefixes in backward order that keeps every pair (C, E) that
// no other pair beats in both: an earlier C may be worth a later E. O(L^2 F) for frontiers of F
// pairs, a few dozen at most in practice: milliseconds for hundreds of tensors, where greedy takes
// microseconds. Without compression both are merge rules like mg_wfbp and optimal.
#include <algorithm>
#include <limits>

#include "models/strategy/registry.h"
#include "sim/core/error.h"

namespace sgdsim::strategy::omgs {
namespace {

struct Group {
  Duration select;    // t_s
  Duration exchange;  // t_c
};

class Gradients {
 public:
  explicit Gradients(const PlanInput& input)
      : input_(input), layers_(layers_with_gradients(input.trace)), job_(input.cost.job()) {}

  std::size_t count() const { return layers_.size(); }
  // Backward time up to gradient i, from the start of the iteration.
  Duration backward_until(std::size_t i) const {
    return input_.ready[static_cast<std::size_t>(layers_[i])];
  }
  PlannedMessage message(std::size_t first, std::size_t last) const {
    return message_of(input_.trace, layers_[last], layers_[first]);
  }
  Group group(std::size_t first, std::size_t last) {
    const PlannedMessage one = message(first, last);
    const Encoded encoded = input_.cost.encoded({one.size, one.first_layer, one.last_layer});
    return {encoded.compress, input_.cost.of(encoded, job_)};
  }

 private:
  const PlanInput& input_;
  std::vector<int> layers_;  // in backward order
  Job job_;
};

std::vector<PlannedMessage> greedy(Gradients& gradients, bool merges_top_two) {
  std::vector<PlannedMessage> messages;
  Duration selected;   // C of the closed groups, less the backward passes
  Duration exchanged;  // E
  std::size_t first = 0;
  Group open = gradients.group(0, 0);
  for (std::size_t i = 0; i < gradients.count(); ++i) {
    Group next;
    const Duration there = gradients.backward_until(i) + selected + open.select;
    const Duration start = std::max(exchanged, there);  // of the exchange, if it is closed now
    if (i + 1 < gradients.count()) {
      next = gradients.group(i + 1, i + 1);
      const Group both = gradients.group(first, i + 1);
      const Duration waits = gradients.backward_until(i + 1) - gradients.backward_until(i) +
                             both.select - open.select - next.select - (start - there);
      const Duration saves = open.exchange + next.exchange - both.exchange;
      if (waits < saves || (merges_top_two && i == 0)) {
        open = both;
        continue;
      }
    }
    messages.push_back(gradients.message(first, i));
    selected += open.select;
    exchanged = start + open.exchange;
    first = i + 1;
    open = next;
  }
  return messages;
}

struct State {
  Duration selected;   // C, less the backward passes
  Duration exchanged;  // E
  std::size_t from = 0;
  std::size_t state = 0;  // of `from`
};

// Keeps what no other state beats in both.
std::vector<State> frontier_of(std::vector<State> states) {
  std::sort(states.begin(), states.end(), [](const State& a, const State& b) {
    return a.selected != b.selected ? a.selected < b.selected : a.exchanged < b.exchanged;
  });
  std::vector<State> kept;
  for (const State& state : states)
    if (kept.empty() || state.exchanged < kept.back().exchanged) kept.push_back(state);
  return kept;
}

std::vector<PlannedMessage> exact(Gradients& gradients) {
  const std::size_t count = gradients.count();
  std::vector<std::vector<State>> frontiers(count + 1);
  frontiers[0] = {State()};
  for (std::size_t j = 1; j <= count; ++j) {
    std::vector<State> states;
    const Duration backward = gradients.backward_until(j - 1);
    for (std::size_t i = 0; i < j; ++i) {
      const Group group = gradients.group(i, j - 1);
      for (std::size_t s = 0; s < frontiers[i].size(); ++s) {
        const Duration selected = frontiers[i][s].selected + group.select;
        const Duration start = std::max(frontiers[i][s].exchanged, backward + selected);
        states.push_back({selected, start + group.exchange, i, s});
      }
    }
    frontiers[j] = frontier_of(std::move(states));
  }
  std::vector<PlannedMessage> messages;
  // The last state of a frontier ends its exchange first.
  for (std::size_t j = count, s = frontiers[count].size() - 1; j > 0;) {
    const State& state = frontiers[j][s];
    messages.push_back(gradients.message(state.from, j - 1));
    j = state.from;
    s = state.state;
  }
  std::reverse(messages.begin(), messages.end());
  return messages;
}

Strategy read(Object& fields) {
  bool is_exact = false;
  bool merges_top_two = false;
  if (const auto rule = fields.find("rule")) {
    is_exact = rule->text() == "exact";
    if (!is_exact && rule->text() != "greedy")
      rule->fail(unknown_name("rule", rule->text(), {"greedy", "exact"}));
  }
  if (const auto field = fields.find("merges_top_two")) merges_top_two = field->flag();
  return {.name = "", .plan = [=](const PlanInput& input) {
            GradientPlan plan;
            Gradients gradients(input);
            if (gradients.count() > 0)
              plan.messages = is_exact ? exact(gradients) : greedy(gradients, merges_top_two);
            return plan;
          }};
}

}  // namespace

StrategyKind describe() {
  return {"omgs", "merging that counts selection times; `rule` greedy (published) or exact", read};
}

}  // namespace sgdsim::strategy::omgs

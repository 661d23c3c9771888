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
// `exact` is the optimum (exact_merge.cpp): milliseconds for hundreds of tensors, where greedy
// takes microseconds. Without compression both are merge rules like mg_wfbp and optimal.
#include <algorithm>

#include "models/strategy/exact_merge.h"
#include "models/strategy/registry.h"
#include "sim/core/error.h"

namespace sgdsim::strategy::omgs {
namespace {

std::vector<PlannedMessage> greedy(Gradients gradients, bool merges_top_two) {
  std::vector<PlannedMessage> messages;
  if (gradients.count() == 0) return messages;
  Duration selected;   // C of the closed groups, less the backward passes
  Duration exchanged;  // E
  std::size_t first = 0;
  GroupTime open = gradients.group(0, 0);
  for (std::size_t i = 0; i < gradients.count(); ++i) {
    GroupTime next;
    const Duration there = gradients.backward_until(i) + selected + open.select;
    const Duration start = std::max(exchanged, there);  // of the exchange, if it is closed now
    if (i + 1 < gradients.count()) {
      next = gradients.group(i + 1, i + 1);
      const GroupTime both = gradients.group(first, i + 1);
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

struct Options {
  bool is_exact = false;
  bool merges_top_two = false;
};

Fields fields_of(Options& o) {
  return {Field("rule", o.is_exact, "the published rule, or the exact optimum of merging")
              .one_of({"greedy", "exact"}),
          {"merges_top_two", o.merges_top_two,
           "greedy: the two layers nearest to the loss always share a message"}};
}

Strategy read(Object& fields) {
  const auto options = read_record<Options>(fields);
  return {.name = "", .plan = [options](const PlanInput& input) {
            GradientPlan plan;
            if (options.is_exact)
              plan.messages = merge_exactly(input, "omgs with rule exact");
            else
              plan.messages = greedy(Gradients(input), options.merges_top_two);
            return plan;
          }};
}

}  // namespace

StrategyKind describe() {
  return {"omgs", "merging that counts selection times; `rule` greedy (published) or exact",
          options_of<Options>, read};
}

}  // namespace sgdsim::strategy::omgs

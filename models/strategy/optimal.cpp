// The exact optimum of merging: which consecutive gradients share a message so that the last one
// ends first.
//
// In backward order, with prefix bytes P and ready times r, F[j] = min over i < j of
// max(F[i], r_j) + T(P_j - P_i) is the earliest end of a schedule for the first j gradients, for
// any non-decreasing T. Contiguous groups in order lose nothing.
//
// For T = a + bM it is O(L): F does not decrease, so the i with F[i] <= r_j are a prefix; its last
// member is the best of them, because it leaves the fewest bytes. Among the others the least
// F[i] - b P_i wins, which a monotone deque keeps at its front. A minimum of K lines takes K
// deques. Costs that are no line (measured curves, links with segments, blocks chosen by size) and
// compression on the compute stream take the O(L^2) form of exact_merge.cpp, on the cost as it is.
// A cap on the bytes of a message narrows the window of i; a gradient larger than the cap goes
// alone.
//
// Optima are not unique. For one line the traceback takes the largest possible last group each
// time, which needs the fewest messages: if an optimum cuts later, moving its cut forward to ours
// and merging what lies between ends no later and has no more messages.
#include <algorithm>
#include <deque>
#include <limits>

#include "models/strategy/exact_merge.h"
#include "models/strategy/registry.h"

namespace sgdsim::strategy::optimal {
namespace {

// The gradients that weigh something, in backward order; index 0 stands for "nothing sent yet".
struct Sequence {
  std::vector<int> layers{-1};
  std::vector<double> ready_ps{0};
  std::vector<double> before_B{0};  // P
  std::size_t size() const { return layers.size() - 1; }
};

Sequence sequence_of(const PlanInput& input) {
  Sequence sequence;
  for (const int layer : layers_with_gradients(input.trace)) {
    const auto l = static_cast<std::size_t>(layer);
    const Bytes size = input.trace.layers[l].gradient;
    sequence.layers.push_back(layer);
    sequence.ready_ps.push_back(static_cast<double>(input.ready[l].ps()));
    sequence.before_B.push_back(sequence.before_B.back() + static_cast<double>(size.count()));
  }
  return sequence;
}

struct Solution {
  std::vector<double> end_ps;         // F
  std::vector<std::size_t> previous;  // the argument of each minimum
};

// The candidates of one line that are not in the prefix: indices with growing F[i] - b P_i.
struct Window {
  Line line;
  std::deque<std::size_t> members;
};

class Linear {
 public:
  Linear(const Sequence& sequence, const std::vector<Line>& lines, double cap_B)
      : sequence_(sequence), cap_B_(cap_B) {
    for (const Line& line : lines) windows_.push_back({line, {}});
  }

  Solution solve() {
    const std::size_t n = sequence_.size();
    solution_.end_ps.assign(n + 1, 0);
    solution_.previous.assign(n + 1, 0);
    std::size_t prefix = 0;  // the last i with F[i] <= r_j
    std::size_t first = 0;   // the first i that the cap allows
    for (std::size_t j = 1; j <= n; ++j) {
      while (prefix + 1 < j && solution_.end_ps[prefix + 1] <= sequence_.ready_ps[j]) ++prefix;
      while (first + 1 < j && bytes(first, j) > cap_B_) ++first;
      double best = std::numeric_limits<double>::infinity();
      for (Window& window : windows_) {
        if (j > 1) add(window, j - 1);
        while (!window.members.empty() && window.members.front() < std::max(prefix + 1, first))
          window.members.pop_front();
        if (prefix >= first)
          consider(j, prefix, sequence_.ready_ps[j] + window.line.at(bytes(prefix, j)), best);
        if (!window.members.empty()) {
          const std::size_t i = window.members.front();
          consider(j, i, solution_.end_ps[i] + window.line.at(bytes(i, j)), best);
        }
      }
      solution_.end_ps[j] = best;
    }
    return std::move(solution_);
  }

 private:
  double bytes(std::size_t i, std::size_t j) const {
    return sequence_.before_B[j] - sequence_.before_B[i];
  }
  double key(const Window& window, std::size_t i) const {
    return solution_.end_ps[i] - window.line.per_byte_ps * sequence_.before_B[i];
  }
  void add(Window& window, std::size_t i) {
    while (!window.members.empty() && key(window, window.members.back()) >= key(window, i))
      window.members.pop_back();
    window.members.push_back(i);
  }
  void consider(std::size_t j, std::size_t i, double end_ps, double& best) {
    if (end_ps >= best) return;
    best = end_ps;
    solution_.previous[j] = i;
  }

  const Sequence& sequence_;
  double cap_B_;
  std::vector<Window> windows_;
  Solution solution_;
};

// Makes each last group as large as the end allows (one line, no cap).
void take_fewest_messages(const Sequence& sequence, const Line& line, Solution& solution) {
  constexpr double rounding_ps = 1e-3;
  double deadline = solution.end_ps.back();
  for (std::size_t j = sequence.size(); j > 0;) {
    auto start_of = [&](std::size_t i) {
      return deadline - line.at(sequence.before_B[j] - sequence.before_B[i]) + rounding_ps;
    };
    // The start grows with i: first the i from which on the group is ready in time.
    std::size_t low = 0;
    for (std::size_t high = solution.previous[j]; low < high;) {
      const std::size_t middle = (low + high) / 2;
      if (start_of(middle) >= sequence.ready_ps[j])
        high = middle;
      else
        low = middle + 1;
    }
    while (low < solution.previous[j] && solution.end_ps[low] > start_of(low)) ++low;
    solution.previous[j] = low;
    deadline = start_of(low) - rounding_ps;
    j = low;
  }
}

std::vector<PlannedMessage> messages_of(const PlanInput& input, const Sequence& sequence,
                                        const Solution& solution) {
  std::vector<PlannedMessage> messages;
  for (std::size_t j = sequence.size(); j > 0; j = solution.previous[j])
    messages.push_back(
        message_of(input.trace, sequence.layers[j], sequence.layers[solution.previous[j] + 1]));
  std::reverse(messages.begin(), messages.end());
  return messages;
}

// Whether compressing a message delays the gradients behind it, or what it takes depends on more
// than its bytes.
bool is_more_than_bytes(const PlanInput& input) {
  if (input.cost.compression() == nullptr) return false;
  if (input.cost.compression()->is_by_layer) return true;
  const std::vector<PlannedMessage> all = all_in_one(input.trace);
  return !all.empty() && input.cost.encoded(all.front().group()).compress > Duration();
}

GradientPlan plan(const PlanInput& input, double cap_B) {
  const std::vector<Line>& lines = input.cost.lines();
  GradientPlan plan;
  if (lines.empty() || is_more_than_bytes(input)) {
    plan.messages = merge_exactly(input, "optimal", cap_B);
    return plan;
  }
  const Sequence sequence = sequence_of(input);
  const bool capped = cap_B < std::numeric_limits<double>::infinity();
  if (sequence.size() == 0) return plan;
  Solution solution = Linear(sequence, lines, cap_B).solve();
  if (lines.size() == 1 && !capped) take_fewest_messages(sequence, lines.front(), solution);
  plan.messages = messages_of(input, sequence, solution);
  if (!input.cost.is_algorithm() || capped) return plan;
  // An algorithm's cost is a line up to the rounding of chunks; where that decides, take the
  // better.
  Duration best = end_in_order(plan.messages, input.cost, input.ready);
  for (const StrategyKind& other :
       {mg_wfbp::describe(), wfbp::describe(), sync_easgd::describe()}) {
    const Json none = Json::object();
    Object no_fields(Value(none, "", ""));
    GradientPlan candidate = other.read(no_fields).plan(input);
    const Duration end = end_in_order(candidate.messages, input.cost, input.ready);
    if (end >= best) continue;
    best = end;
    plan.messages = std::move(candidate.messages);
  }
  return plan;
}

struct Options {
  std::optional<Bytes> largest_message;
};

Fields fields_of(Options& o) {
  return {Field("largest_message", o.largest_message,
                "most bytes of a message; a larger gradient goes alone")
              .otherwise("no limit")};
}

Strategy read(Object& fields) {
  const auto options = read_record<Options>(fields);
  const double cap_B = options.largest_message
                           ? static_cast<double>(options.largest_message->count())
                           : std::numeric_limits<double>::infinity();
  return {.name = "", .plan = [cap_B](const PlanInput& input) { return plan(input, cap_B); }};
}

}  // namespace

StrategyKind describe() {
  return {"optimal",
          "a bound, which no program reaches: the exact optimum of merging; field largest_message "
          "caps a message",
          options_of<Options>, read, true};
}

}  // namespace sgdsim::strategy::optimal

// Experts are drawn without putting back: first the groups, then as many as a token visits from
// all of these.
#include "models/training/expert_exchanges.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "models/training/transformer_file.h"
#include "sim/core/cast.h"

namespace sgdsim {
namespace {

constexpr double fp8_token_B = 1 + 4.0 / 128;  // a value, and a scale for 128 of them

double log_factorial(int64_t n) {
  static const std::vector<double> all = [] {
    std::vector<double> logs(at(most_experts) + 1);
    for (std::size_t i = 2; i < logs.size(); ++i)
      logs[i] = logs[i - 1] + std::log(static_cast<double>(i));
    return logs;
  }();
  return all[at(n)];
}

double log_choices(int64_t of, int64_t taken) {
  return log_factorial(of) - log_factorial(taken) - log_factorial(of - taken);
}

// That none of those that are taken is one of `among`.
double chance_of_none(int64_t of, int64_t among, int64_t taken) {
  if (of - among < taken) return 0;
  return std::exp(log_choices(of - among, taken) - log_choices(of, taken));
}

// That a token has none of the experts from..to-1: of a few groups, of which the first and the last
// one may have a part there, and those between are there whole.
double chance_of_none(const Experts& experts, int64_t from, int64_t to) {
  const int64_t size = experts.count / experts.groups;
  const int64_t first = from / size;
  const int64_t last = (to - 1) / size;
  const bool is_in_one = first == last;
  const int64_t in_first = is_in_one ? to - from : (first + 1) * size - from;
  const int64_t in_last = is_in_one ? 0 : to - last * size;
  const int64_t between = std::max<int64_t>(last - first - 1, 0);
  const int64_t elsewhere = experts.groups - between - (is_in_one ? 1 : 2);
  const double all = log_choices(experts.groups, experts.groups_taken);
  double chance = 0;
  for (int64_t x = 0; x <= 1; ++x)
    for (int64_t y = 0; y <= (is_in_one ? 0 : 1); ++y)
      for (int64_t whole = 0; whole <= between; ++whole) {
        const int64_t others = experts.groups_taken - x - y - whole;
        if (others < 0 || others > elsewhere) continue;
        const double groups =
            std::exp(log_choices(between, whole) + log_choices(elsewhere, others) - all);
        chance +=
            groups * chance_of_none(experts.groups_taken * size,
                                    x * in_first + y * in_last + whole * size, experts.per_token);
      }
  return chance;
}

// Of what a rank has for one visit of each of its tokens.
double tokens_B(const TrainingStep& step, double value_B) {
  return rank_tokens(step) / real(step.layout.tensor) * real(step.model.expert_input()) * value_B;
}

// Each node has as many of the ranks that have all experts together; all GPUs may be in one.
bool fits_nodes(const Layout& layout, int64_t expert, int64_t per_node) {
  const int64_t parts = layout.expert_tensor;
  const int64_t ranks = expert * parts;
  if (layout.gpus() <= per_node) return true;
  const int64_t of_node = std::min(ranks, per_node);
  return (ranks > per_node ? ranks % per_node == 0 : per_node % ranks == 0) &&
         (of_node % parts == 0 || parts % of_node == 0);
}

[[noreturn]] void refuse(const Layout& layout, const Experts& experts, int64_t per_node) {
  int64_t near = layout.expert - 1;
  while (near > 1 && (experts.count % near != 0 || layout.expert % near != 0 ||
                      !fits_nodes(layout, near, per_node)))
    --near;
  throw UnfitGroup("layout",
                   "dispatch=node needs nodes of which each has as many of the ranks of "
                   "all experts: ep x etp = " +
                       std::to_string(layout.expert_ranks()) + " does not go into nodes of " +
                       std::to_string(per_node) + "; say dispatch=direct" +
                       (near > 1 ? ", or ep" + std::to_string(near) : ""));
}

ExpertExchanges exchanges_by_nodes(const TrainingStep& step, int64_t per_node, double out_B,
                                   double back_B) {
  const Layout& layout = step.layout;
  const Experts& experts = *step.model.experts;
  const int64_t ranks = layout.expert_ranks();
  const int64_t of_node = std::min(ranks, per_node);
  const int64_t parts = layout.expert_tensor;
  if (!fits_nodes(layout, layout.expert, per_node)) refuse(layout, experts, per_node);
  const int64_t nodes = ranks / of_node;
  const double visited_ranks = real(parts) * visited_parts(experts, layout.expert);
  const double visited_nodes = parts > of_node
                                   ? visited_parts(experts, layout.expert) * real(parts / of_node)
                                   : visited_parts(experts, nodes);
  const auto exchange = [&](GroupKind kind, const RankGroup& group, double visits) {
    return ExpertExchange{
        .kind = kind, .group = group, .out_B = visits * out_B, .back_B = visits * back_B};
  };
  return {{exchange(GroupKind::expert_nodes, {of_node, nodes}, visited_nodes),
           exchange(GroupKind::expert_node, {1, of_node}, visited_ranks)},
          true};
}

}  // namespace

double visited_parts(const Experts& experts, int64_t parts) {
  const int64_t size = experts.count / parts;
  const int64_t of_group = experts.count / experts.groups;
  // From so many parts on they lie in their groups as the first ones do.
  const int64_t unlike = of_group / std::gcd(size, of_group);
  double none = 0;
  for (int64_t part = 0; part < unlike; ++part)
    none += chance_of_none(experts, part * size, (part + 1) * size);
  return real(parts) * (1 - none / real(unlike));
}

ExpertExchanges expert_exchanges(const TrainingStep& step, int64_t per_node) {
  const Layout& layout = step.layout;
  const double out_B =
      tokens_B(step, step.precision == Precision::fp8 ? fp8_token_B : bytes_per_value);
  const double back_B = tokens_B(step, bytes_per_value);
  if (layout.dispatch == Dispatch::node) return exchanges_by_nodes(step, per_node, out_B, back_B);
  const double visits = real(step.model.experts->per_token);
  const double parts = real(layout.expert_tensor);
  return {{{{.kind = GroupKind::experts,
             .group = {layout.expert_tensor, layout.expert},
             .out_B = visits * out_B,
             .back_B = visits * back_B},
            {.kind = GroupKind::expert_parts,
             .group = {1, layout.expert_tensor},
             .out = Operation::allgather,
             .out_B = parts * visits * out_B,
             .back = Operation::reduce_scatter,
             .back_B = parts * visits * back_B}}},
          false};
}

}  // namespace sgdsim

// From arguments to answered points.
#include "study/collective/collective_point.h"

#include <algorithm>

#include "models/collective/registry.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "sim/core/refusal.h"
#include "study/collective/nccl_answer.h"
#include "study/collective/ranges.h"

namespace sgdsim {
namespace {

CollectivePoint asked(const CollectiveArguments& arguments, const std::string& algorithm,
                      const Cluster& cluster, const std::vector<Bytes>& sizes) {
  return {
      algorithm, arguments.operation, cluster.name, cluster.network.workers(), sizes, {}, {}, {},
      {}};
}

CollectiveAnswer simulated(const CollectiveArguments& arguments, const std::string& algorithm,
                           const std::vector<Bytes>& sizes, const Cluster& cluster,
                           const std::string& where, Duration latency = {}) {
  CollectiveQuestion question = question_of(arguments, algorithm, sizes);
  question.latency = latency;
  Stopper stopper(arguments.watch, limits_of(arguments.limits));
  question.stopper = &stopper;
  const TrafficFile traffic = put_on(cluster, arguments, question);
  question.meanwhile = traffic.meanwhile();
  return simulate_collective(question, cluster, where);
}

void add_unless_given(std::vector<std::string>& options, const std::string& option) {
  const bool is_given = std::any_of(options.begin(), options.end(), [&](const std::string& one) {
    return option_key(one) == option_key(option);
  });
  if (!is_given) options.push_back(option);
}

void answer(CollectivePoint& point, const CollectiveArguments& arguments, const Cluster& cluster,
            const std::string& where) {
  if (point.algorithm != "nccl") {
    point.answer = simulated(arguments, point.algorithm, point.sizes, cluster, where);
  } else if (is_nccl_simulated(arguments)) {
    const SimulatedForNccl stand_in = simulated_for_nccl(arguments, cluster, point.sizes);
    CollectiveArguments mine = arguments;
    std::erase_if(mine.options, is_nccl_option);
    if (arguments.sweep) mine = arguments_for(mine, stand_in.algorithm);
    if (!stand_in.option.empty()) add_unless_given(mine.options, stand_in.option);
    point.answer =
        simulated(mine, stand_in.algorithm, point.sizes, cluster, where, stand_in.latency);
    point.stands_for_nccl = {mine.options, stand_in.latency};
    std::vector<std::string>& warnings = point.answer->warnings;
    warnings.insert(warnings.begin(), stand_in.warnings.begin(), stand_in.warnings.end());
  } else {
    const NcclAnswer nccl = answer_like_nccl(arguments, cluster, point.sizes);
    point.answer = nccl.answer;
    point.nccl = nccl.table;
  }
}

// Of a point that was answered.
std::optional<Duration> reducing_in(const CollectivePoint& point,
                                    const CollectiveArguments& arguments, const Cluster& cluster) {
  if (point.nccl || !(cluster.network.worst().reduce > PerByte())) return std::nullopt;
  Cluster free = cluster;
  free.network = cluster.network.with(Folding{0, {}});
  const bool is_nccls = point.stands_for_nccl.has_value();
  CollectivePoint without =
      asked(arguments, is_nccls ? point.algorithm : point.answer->algorithm, free, point.sizes);
  answer(without, is_nccls ? arguments : arguments_for(arguments, without.algorithm), free,
         "collective");
  const Duration reducing = point.answer->time - without.answer->time;
  return reducing > Duration() ? std::optional(reducing) : std::nullopt;
}

// Every option must reach somebody, or a misspelt or misplaced one would pass unseen.
void check_all_count(const CollectiveArguments& arguments, const std::vector<std::string>& names) {
  for (const std::string& option : arguments.options) {
    const bool counts = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      const std::vector<std::string> kept = arguments_for(arguments, name).options;
      return std::find(kept.begin(), kept.end(), option) != kept.end();
    });
    if (!counts)
      throw InputError("--option", idle_word("option " + option_key(option),
                                             "on any of the algorithms of this sweep"));
  }
  const bool has_root = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return takes_root(arguments, name);
  });
  if (!arguments.root.empty() && !has_root)
    throw no_effect("--root", "on any of the algorithms of this sweep");
  const bool has_blocks = std::any_of(names.begin(), names.end(), takes_block);
  if (!arguments.block.empty() && !has_blocks)
    throw InputError("--block", "none of the algorithms of this sweep cuts messages into blocks");
}

}  // namespace

Bytes CollectivePoint::total() const {
  Bytes sum;
  for (const Bytes size : sizes) sum += size;
  return sum;
}

CollectivePoint single_point(const CollectiveArguments& arguments) {
  std::vector<Bytes> sizes;
  double total_B = 0;
  for (const std::string& text : arguments.bytes) {
    sizes.push_back(parse_bytes(text, "--bytes"));
    total_B += static_cast<double>(sizes.back().count());
  }
  if (total_B > 0x1p62) throw InputError("--bytes", "all messages together are larger than 4 EiB");
  const Cluster cluster = cluster_of(arguments, ranks_of(arguments).front());
  check_known_options(arguments, {arguments.algorithm});
  CollectivePoint point = asked(arguments, arguments.algorithm, cluster, sizes);
  answer(point, arguments, cluster, "collective");
  if (arguments.splits_time) point.reducing = reducing_in(point, arguments, cluster);
  return point;
}

std::size_t columns_of(const CollectiveArguments& arguments) {
  return arguments.is_usual ? 1 : algorithms_of(arguments).size();
}

std::vector<std::string> algorithms_of(const CollectiveArguments& arguments) {
  if (arguments.algorithm != "all") return split_list(arguments.algorithm);
  std::vector<std::string> names;
  const Operation operation = operation_named(arguments.operation, "--op");
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.offers(operation)) names.emplace_back(algorithm.name);
  return names;
}

CollectiveArguments arguments_for(const CollectiveArguments& arguments,
                                  const std::string& algorithm) {
  CollectiveArguments mine = arguments;
  std::erase_if(mine.options, [&](const std::string& option) {
    return !has_effect(arguments, algorithm, option_key(option));
  });
  if (!takes_block(algorithm)) mine.block.clear();
  if (!takes_root(arguments, algorithm)) mine.root.clear();
  // A formula, which the others are compared with.
  if (algorithm == "nccl" && !is_nccl_simulated(arguments)) mine.limits = {};
  return mine;
}

std::vector<CollectivePoint> sweep_points(const CollectiveArguments& arguments) {
  const std::vector<std::string> names = algorithms_of(arguments);
  check_known_options(arguments, names);
  if (names.size() > 1) check_all_count(arguments, names);
  std::vector<Bytes> sizes;
  for (const std::string& list : arguments.bytes)
    for (const Bytes size : parse_sizes(list, "--bytes")) sizes.push_back(size);
  std::vector<CollectivePoint> points;
  for (const int ranks : ranks_of(arguments)) {
    CollectiveArguments of_ranks = arguments;
    if (arguments.is_usual) of_ranks.algorithm = usual_at(arguments, ranks, false);
    const Cluster cluster = cluster_of(of_ranks, ranks);
    const std::string of_empty = usual_at(arguments, ranks, true);
    for (const Bytes size : sizes)
      for (const std::string& name : names) {
        if (arguments.is_usual && name != (size.count() == 0 ? of_empty : of_ranks.algorithm))
          continue;
        const CollectiveArguments mine =
            names.size() > 1 ? arguments_for(arguments, name) : arguments;
        if (name != "nccl") question_of(mine, name, {size});  // what is wrong with all points
        CollectivePoint point = asked(arguments, name, cluster, {size});
        try {
          answer(point, mine, cluster, "");
        } catch (const InputError& error) {
          point.why_not = error.what();
        }
        points.push_back(std::move(point));
      }
  }
  if (std::all_of(points.begin(), points.end(), [](const auto& p) { return !p.answer; }))
    throw InputError("collective", "no point has an answer: " + points.front().why_not);
  return points;
}

}  // namespace sgdsim

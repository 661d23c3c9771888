// Hierarchical: one algorithm inside the nodes, another across them.
//
// Sharded (the default where the inner algorithm can reduce-scatter and all-gather): the GPUs of a
// node reduce-scatter, the i-th GPUs of all nodes combine their shards at the same time, each with
// its own network card, and the nodes all-gather. By leader: each node reduces to one GPU, the
// leaders combine, and the nodes broadcast; one card works.
//
// Broadcast and reduce go through a leader too, by binomial trees where a part is a ring.
#include <algorithm>

#include "models/collective/registry.h"
#include "sim/core/error.h"

namespace sgdsim::collective::hierarchical {
namespace {

const OptionOf<std::string> inside{{"inner", "ALGORITHM", "hierarchical: inside a group"}, "ring"};
const OptionOf<std::string> across{{"outer", "ALGORITHM", "hierarchical: across groups"}, "ring"};
constexpr FlagOption by_leader{
    {"hierarchical", "sharded|leader", "all members of a group talk outside, or one"}};
constexpr OptionOf<int> ranks_in_group{
    {"group", "N", "hierarchical: ranks per group; default: the GPUs of a node"}};

struct Part {
  const Algorithm* algorithm;
  CollectiveJob job;
};

int group_size(const CollectiveJob& job) {
  const int given = job.options.of(ranks_in_group);
  const int group = given > 0 ? given : std::min(job.workers_per_node, job.size());
  if (group < 1)
    throw InputError("",
                     "hierarchical needs ranks in whole groups: their nodes do not have as many of "
                     "them each, one node after the other");
  if (job.size() % group != 0)
    throw InputError("", "hierarchical needs ranks in whole groups: " + std::to_string(job.size()) +
                             " ranks do not divide into groups of " + std::to_string(group));
  return group;
}

const Algorithm& part_named(const std::string& name, const std::string& option) {
  if (name == "hierarchical" || name == "torus_ring")
    throw InputError("", "option " + option + ": " + name + " cannot be part of hierarchical");
  return algorithm_named(name, "option " + option);
}

// Rings have no root: where there is one, the binomial tree stands in for them.
const Algorithm& offering(Operation operation, const Algorithm& part) {
  if (part.name == "ring" && !part.offers(operation)) return algorithm_named("mst", "");
  return part;
}

bool is_sharded(const CollectiveOptions& options, const Algorithm& inner) {
  return !options.of(by_leader) && inner.offers(Operation::reduce_scatter) &&
         inner.offers(Operation::allgather);
}

// Shards are of all members of a node; what crosses may have a root.
bool needs_no_root(const CollectiveOptions& options) {
  const Algorithm& outer = part_named(options.of(across), "outer");
  return is_sharded(options, part_named(options.of(inside), "inner")) &&
         outer.needs_no_root != nullptr && outer.needs_no_root(options);
}

class Parts {
 public:
  explicit Parts(const CollectiveJob& job)
      : job_(job),
        group_(group_size(job)),
        inner_(part_named(job.options.of(inside), "inner")),
        outer_(part_named(job.options.of(across), "outer")),
        root_(job.root.value_or(0)) {}

  std::vector<Part> list() const {
    // A worker per node: nothing happens inside the nodes, and the other algorithm is all there is.
    if (group_ == 1) return {outer(job_.operation, false)};
    switch (job_.operation) {
      case Operation::broadcast:
        return {outer(Operation::broadcast, false), inner(Operation::broadcast)};
      case Operation::reduce:
        return {inner(Operation::reduce), outer(Operation::reduce, false)};
      case Operation::reduce_scatter:
        return {inner(Operation::reduce_scatter), outer(Operation::reduce_scatter, true)};
      case Operation::allgather:
        return {outer(Operation::allgather, true), inner(Operation::allgather)};
      default:
        break;
    }
    if (is_sharded(job_.options, inner_))
      return {inner(Operation::reduce_scatter), outer(Operation::allreduce, true),
              inner(Operation::allgather)};
    return {inner(Operation::reduce), outer(Operation::allreduce, false),
            inner(Operation::broadcast)};
  }

 private:
  Part inner(Operation operation) const {
    CollectiveJob job = job_;
    job.operation = operation;
    job.team = {.size = group_, .stride = 1};
    job.root = has_root(operation) ? std::optional(root_ % group_) : std::nullopt;
    return with_cost({&offering(operation, inner_), job});
  }

  Part outer(Operation operation, bool sharded) const {
    CollectiveJob job = job_;
    job.operation = operation;
    job.team = {.size = job_.size() / group_, .stride = group_};
    job.root = has_root(operation) ? std::optional(root_ / group_) : std::nullopt;
    if (sharded)
      job.share.split.push_back(group_);
    else if (group_ > 1)
      job.team.only_lane = root_ % group_;
    return with_cost({&offering(operation, outer_), job});
  }

  Part with_cost(Part part) const {
    part.job.following.clear();
    part.job.is_part = true;
    if (job_.network != nullptr) part.job.cost = worst_of_job(*part.algorithm, part.job);
    return part;
  }

  const CollectiveJob& job_;
  int group_;
  const Algorithm& inner_;
  const Algorithm& outer_;
  int root_;
};

Program schedule(const CollectiveJob& job) {
  Program program;
  for (const Part& part : Parts(job).list()) program.then(schedule_of(*part.algorithm, part.job));
  return program;
}

// Each part is charged its own worst pair. In nodes and across them all pairs are alike, where
// nothing else makes them differ.
bool knows_links(const CollectiveJob& job) {
  const NestedGroups* nested = job.network != nullptr ? job.network->nested() : nullptr;
  if (nested != nullptr && nested->group_sizes == std::vector<int>{group_size(job)}) return true;
  const std::vector<Part> parts = Parts(job).list();
  return std::all_of(parts.begin(), parts.end(), [](const Part& part) {
    return part.algorithm->knows_links != nullptr && part.algorithm->knows_links(part.job);
  });
}

// The sum of the parts: exact where each part ends everywhere at once (equal chunks).
std::optional<Duration> closed_form(const CollectiveJob& job) {
  Duration sum;
  for (const Part& part : Parts(job).list()) {
    const auto time = closed_form_of(*part.algorithm, part.job);
    if (!time) return std::nullopt;
    sum += *time;
  }
  return sum;
}

}  // namespace

Algorithm describe() {
  return {.name = "hierarchical",
          .summary = "one algorithm inside the nodes, another across them",
          .operations = {Operation::broadcast, Operation::reduce, Operation::allreduce,
                         Operation::reduce_scatter, Operation::allgather},
          .options = {inside, across, by_leader, ranks_in_group},
          .schedule = schedule,
          .closed_form = closed_form,
          .takes_block = true,
          .needs_no_root = needs_no_root,
          .parts =
              [](const CollectiveOptions& options) {
                return std::vector{options.of(inside), options.of(across)};
              },
          .waits_each_round = true,
          .knows_links = knows_links};
}

}  // namespace sgdsim::collective::hierarchical

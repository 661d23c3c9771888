// From a request to plans with their data and their checks.
#include "calibrate/tasks.h"

#include <algorithm>
#include <set>

#include "calibrate/pattern.h"
#include "sim/core/error.h"

namespace sgdsim::calibrate {
namespace {

bool wants(const std::vector<std::string>& list, const std::string& name) {
  return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

int64_t whole_elements(int64_t bytes, Type type) {
  return std::max(size_of(type), bytes / size_of(type) * size_of(type));
}

void add_collectives(const Request& request, int ranks, Type type, std::vector<Task>& tasks) {
  for (const CollectiveKind& kind : collective_kinds())
    for (const std::string& operation : kind.operations) {
      if (!wants(request.algorithms, kind.algorithm) || !wants(request.operations, operation))
        continue;
      std::set<int64_t> sizes_B;
      for (const int64_t size_B : request.sizes_B) sizes_B.insert(whole_elements(size_B, type));
      for (const int64_t bytes : sizes_B)
        tasks.push_back(collective_task({.algorithm = kind.algorithm,
                                         .operation = operation,
                                         .ranks = ranks,
                                         .bytes = bytes,
                                         .element_B = size_of(type),
                                         .block_B = request.block_B,
                                         .overlaps = request.overlaps},
                                        type));
    }
}

void add_parts(const Request& request, const std::string& probe, Type type,
               std::vector<Task>& tasks) {
  std::set<int64_t> sizes_B;
  for (const int64_t size_B : request.sizes_B) sizes_B.insert(whole_elements(size_B, type));
  for (const int64_t bytes : sizes_B) {
    if (probe == "copy") tasks.push_back(copy_task(bytes, type));
    if (probe == "fold") tasks.push_back(fold_task(bytes, type));
  }
}

}  // namespace

const std::vector<std::string>& probe_names() {
  static const std::vector<std::string> names = {"collectives", "copy", "fold", "overhead"};
  return names;
}

Task collective_task(const Collective& collective, Type type) {
  Task task{.operation = collective.operation,
            .algorithm = collective.algorithm,
            .note = "",
            .type = type,
            .ranks = collective.ranks,
            .bytes = collective.bytes,
            .block_B = {},
            .data_B = collective.bytes,
            .plan = plan_of(collective),
            .fill = {},
            .first_wrong = {}};
  if (collective.algorithm == "lp") {
    task.block_B = std::min(collective.block_B, collective.bytes);
    task.note = collective.overlaps ? "sums in a stream of their own" : "copies and sums in turns";
  }
  task.fill = [collective, type](int rank, std::vector<std::byte>& data) {
    fill(collective, type, rank, data);
  };
  task.first_wrong = [collective, type](int rank, const std::vector<std::byte>& data) {
    return first_wrong(collective, type, rank, data);
  };
  return task;
}

// A broadcast among two, in one message.
Task copy_task(int64_t bytes, Type type) {
  Task task = collective_task({.algorithm = "mst",
                               .operation = "broadcast",
                               .ranks = 2,
                               .bytes = bytes,
                               .element_B = size_of(type)},
                              type);
  task.operation = "copy";
  task.algorithm = "";
  return task;
}

// The second half of the data is added to the first.
Task fold_task(int64_t bytes, Type type) {
  PlanWriter writer(1, 1);
  const Place first{0, false, 0};
  writer.sum(0, first, first, {0, false, bytes}, bytes);
  const int64_t size_B = size_of(type);
  Task task{.operation = "fold",
            .algorithm = "",
            .note = "",
            .type = type,
            .ranks = 1,
            .bytes = bytes,
            .block_B = {},
            .data_B = 2 * bytes,
            .plan = writer.take(),
            .fill = {},
            .first_wrong = {}};
  task.fill = [bytes, size_B, type](int, std::vector<std::byte>& data) {
    data.resize(static_cast<std::size_t>(2 * bytes));
    for (int64_t i = 0; i < 2 * bytes / size_B; ++i)
      store(type, data.data() + i * size_B, pattern(0, i));
  };
  task.first_wrong = [bytes, size_B, type](int, const std::vector<std::byte>& data) {
    const int64_t count = bytes / size_B;
    for (int64_t i = 0; i < count; ++i)
      if (calibrate::load(type, data.data() + i * size_B) != pattern(0, i) + pattern(0, i + count))
        return i;
    return int64_t{-1};
  };
  return task;
}

// Nothing but the start and the end of a run.
Task overhead_task(int ranks) {
  PlanWriter writer(ranks, 1);
  for (int rank = 0; rank < ranks; ++rank) writer.mark(writer.stream(rank));
  return {.operation = "overhead",
          .algorithm = "",
          .note = "starting and ending all streams",
          .type = Type::float32,
          .ranks = ranks,
          .bytes = 0,
          .block_B = {},
          .data_B = 4,
          .plan = writer.take(),
          .fill = [](int, std::vector<std::byte>& data) { data.resize(4); },
          .first_wrong = [](int, const std::vector<std::byte>&) { return int64_t{-1}; }};
}

std::vector<Task> tasks_of(const Request& request) {
  std::vector<Task> tasks;
  for (const int ranks : request.ranks) {
    if (wants(request.probes, "overhead")) tasks.push_back(overhead_task(ranks));
    for (const Type type : request.types)
      if (wants(request.probes, "collectives")) add_collectives(request, ranks, type, tasks);
  }
  for (const std::string& probe : {std::string("copy"), std::string("fold")})
    for (const Type type : request.types)
      if (wants(request.probes, probe)) add_parts(request, probe, type, tasks);
  if (tasks.empty())
    throw InputError("",
                     "no algorithm has such an operation; ring: allreduce, reduce_scatter, "
                     "allgather; mst, be, lp: broadcast, reduce, allreduce");
  return tasks;
}

}  // namespace sgdsim::calibrate

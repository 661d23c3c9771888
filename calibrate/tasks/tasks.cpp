// From a request to a list of tasks.
#include "calibrate/tasks/tasks.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "calibrate/tasks/pattern.h"
#include "sim/core/error.h"

namespace sgdsim::calibrate {
namespace {

bool wants(const std::vector<std::string>& list, const std::string& name) {
  return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

// Every size once, in whole units.
std::set<int64_t> sizes_in(const Request& request, int64_t unit_B) {
  std::set<int64_t> sizes_B;
  for (const int64_t size_B : request.sizes_B)
    sizes_B.insert(std::max(unit_B, size_B / unit_B * unit_B));
  return sizes_B;
}

int64_t pairs_of(const Request& request, int64_t elements) {
  const double count = std::ceil(request.density * static_cast<double>(elements));
  return std::clamp<int64_t>(static_cast<int64_t>(count), 1, elements);
}

void add_collective(const Request& request, const Collective& collective, Type type,
                    std::vector<Task>& tasks) {
  // The chunks of NCCL, and of all-to-all by definition, are equal.
  const bool is_even = collective.algorithm == "nccl" || collective.algorithm == "direct";
  const int64_t unit_B = size_of(type) * (is_even ? collective.ranks : 1);
  for (const int64_t bytes : sizes_in(request, unit_B)) {
    Collective one = collective;
    one.bytes = bytes;
    tasks.push_back(collective_task(one, type));
  }
}

// In every setting, called one by one and in a graph.
void add_nccl(const Request& request, Collective collective, Type type, std::vector<Task>& tasks) {
  for (const LibrarySetting& setting : request.settings)
    for (const bool in_graph : {false, true}) {
      collective.setting = setting;
      collective.in_graph = in_graph;
      add_collective(request, collective, type, tasks);
    }
}

void add_collectives(const Request& request, int ranks, Type type, std::vector<Task>& tasks) {
  for (const CollectiveKind& kind : collective_kinds())
    for (const std::string& operation : kind.operations) {
      if (!wants(request.algorithms, kind.algorithm) || !wants(request.operations, operation))
        continue;
      Collective collective{.algorithm = kind.algorithm,
                            .operation = operation,
                            .ranks = ranks,
                            .element_B = size_of(type),
                            .overlaps = request.overlaps};
      if (kind.algorithm == "nccl") {
        add_nccl(request, collective, type, tasks);
        continue;
      }
      if (kind.algorithm != "lp") {
        add_collective(request, collective, type, tasks);
        continue;
      }
      for (const int64_t block_B : request.blocks_B) {
        collective.block_B = block_B;
        add_collective(request, collective, type, tasks);
      }
    }
}

void add_copies(const Request& request, Type type, std::vector<Task>& tasks) {
  const auto add = [&](Way way, bool by_kernel) {
    for (const int64_t bytes : sizes_in(request, size_of(type)))
      tasks.push_back(copy_task(way, bytes, type, by_kernel));
  };
  for (const Way way : {Way::between_ranks, Way::within_a_rank, Way::through_host}) add(way, false);
  for (const Way way : {Way::between_ranks, Way::within_a_rank}) add(way, true);
}

void add_compressions(const Request& request, Type type, std::vector<Task>& tasks) {
  for (const int bits : {16, 8})
    for (const int64_t bytes : sizes_in(request, size_of(type)))
      if (bits < 8 * size_of(type)) tasks.push_back(compress_task(type, bytes, bits));
}

void add_products(const Request& request, Type type, std::vector<Task>& tasks) {
  for (const ProductShape& shape : request.shapes)
    tasks.push_back(shaped_product_task(shape, type));
  if (!request.shapes.empty()) return;
  std::set<int64_t> rows;
  for (const int64_t bytes : request.sizes_B) rows.insert(product_rows(bytes, type));
  for (const int64_t one : rows) tasks.push_back(product_task(one, type));
}

// What takes part without regard to the number of ranks.
void add_parts(const Request& request, Type type, std::vector<Task>& tasks) {
  if (wants(request.probes, "copy")) add_copies(request, type, tasks);
  const std::set<int64_t> sizes_B = sizes_in(request, size_of(type));
  if (wants(request.probes, "fold"))
    for (const int64_t bytes : sizes_B) tasks.push_back(fold_task(bytes, type));
  if (wants(request.probes, "top_k"))
    for (const int64_t bytes : sizes_B)
      tasks.push_back(top_k_task(type, bytes, pairs_of(request, bytes / size_of(type))));
  if (wants(request.probes, "product")) add_products(request, type, tasks);
  if (wants(request.probes, "compress")) add_compressions(request, type, tasks);
}

void add_gtopk(const Request& request, int ranks, Type type, std::vector<Task>& tasks) {
  for (const int64_t bytes : sizes_in(request, size_of(type)))
    tasks.push_back(gtopk_task(ranks, type, bytes, pairs_of(request, bytes / size_of(type))));
}

// Each sample is the mean of calls.
std::string note_of_nccl(const Collective& collective) {
  const LibrarySetting& setting = collective.setting;
  std::string text;
  for (const std::string& word : {setting.algorithm, setting.protocol})
    if (!word.empty()) text += word + ", ";
  if (setting.channels > 0)
    text +=
        std::to_string(setting.channels) + (setting.channels == 1 ? " channel, " : " channels, ");
  return text + (collective.in_graph ? "calls in a graph" : "calls in a row");
}

}  // namespace

const std::vector<std::string>& probe_names() {
  static const std::vector<std::string> names = {"collectives", "gtopk",  "copy",     "pairs",
                                                 "fold",        "top_k",  "compress", "overhead",
                                                 "product",     "overlap"};
  return names;
}

Task collective_task(const Collective& collective, Type type) {
  Task task{.operation = collective.operation,
            .algorithm = collective.algorithm,
            .type = type,
            .bytes = collective.bytes,
            .plan = plan_of(collective)};
  task.plan.room.data_B = room_B(collective);
  if (collective.algorithm == "lp") {
    task.block_B = collective.block_B;
    task.note = collective.overlaps ? "sums in a stream of their own" : "copies and sums in turns";
  }
  if (collective.algorithm == "nccl") task.note = note_of_nccl(collective);
  task.before = [collective, type](int rank) { return content_before(collective, type, rank); };
  task.after = [collective, type](int rank) { return content_after(collective, type, rank); };
  return task;
}

std::vector<Task> tasks_of(const Request& request) {
  std::vector<Task> tasks;
  for (const int ranks : std::set<int>(request.ranks.begin(), request.ranks.end())) {
    const std::size_t before = tasks.size();
    for (const Type type : request.types) {
      if (wants(request.probes, "collectives")) add_collectives(request, ranks, type, tasks);
      if (wants(request.probes, "gtopk")) add_gtopk(request, ranks, type, tasks);
    }
    for (const Type type : request.types) {
      if (!wants(request.probes, "pairs")) continue;
      const std::set<int64_t> sizes_B = sizes_in(request, size_of(type));
      for (const bool by_kernel : {false, true})
        for (Task& task : pair_tasks(ranks, {sizes_B.begin(), sizes_B.end()}, type, by_kernel))
          tasks.push_back(std::move(task));
    }
    for (const Type type : request.types) {
      if (!wants(request.probes, "overlap")) continue;
      const std::set<int64_t> sizes_B = sizes_in(request, ranks * size_of(type));
      for (Task& task : overlap_tasks(ranks, {sizes_B.begin(), sizes_B.end()}, type))
        tasks.push_back(std::move(task));
    }
    // Every collective holds the start of a run, which `sgdsim fit` tells from its messages.
    const bool has_collectives = tasks.size() > before;
    if (has_collectives || wants(request.probes, "overhead"))
      tasks.insert(tasks.begin() + static_cast<std::ptrdiff_t>(before), start_task(ranks));
  }
  if (!tasks.empty() || wants(request.probes, "product")) tasks.push_back(launch_task());
  if (wants(request.probes, "overhead")) tasks.push_back(handover_task());
  for (const Type type : request.types) add_parts(request, type, tasks);
  if (tasks.empty())
    throw InputError("",
                     "no algorithm has such an operation; ring: allreduce, reduce_scatter, "
                     "allgather; mst, be, lp: broadcast, reduce, allreduce; direct: alltoall; "
                     "nccl: all of these");
  // Neighbours with the same number of ranks share buffers.
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const Task& a, const Task& b) { return a.plan.ranks < b.plan.ranks; });
  return tasks;
}

}  // namespace sgdsim::calibrate

// From a request to plans with their data and their checks.
#include "calibrate/tasks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "calibrate/algorithms.h"
#include "calibrate/pattern.h"
#include "calibrate/sparse.h"
#include "sim/core/error.h"

namespace sgdsim::calibrate {
namespace {

bool wants(const std::vector<std::string>& list, const std::string& name) {
  return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

int64_t whole_elements(int64_t bytes, Type type) {
  return std::max(size_of(type), bytes / size_of(type) * size_of(type));
}

int64_t pairs_of(const Request& request, int64_t bytes) {
  const int64_t elements = bytes / 4;
  const double count = std::ceil(request.density * static_cast<double>(elements));
  return std::clamp<int64_t>(static_cast<int64_t>(count), 1, elements);
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
    if (type != Type::float32) continue;
    if (probe == "top_k") tasks.push_back(top_k_task(bytes, pairs_of(request, bytes)));
  }
  for (const int bits : {16, 8})
    for (const int64_t bytes : sizes_B)
      if (probe == "compress" && type == Type::float32) tasks.push_back(compress_task(bytes, bits));
}

void add_gtopk(const Request& request, int ranks, std::vector<Task>& tasks) {
  for (const int64_t size_B : request.sizes_B) {
    const int64_t bytes = whole_elements(size_B, Type::float32);
    tasks.push_back(gtopk_task(ranks, bytes, pairs_of(request, bytes)));
  }
}

}  // namespace

const std::vector<std::string>& probe_names() {
  static const std::vector<std::string> names = {"collectives", "gtopk",    "copy",    "fold",
                                                 "top_k",       "compress", "overhead"};
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

namespace {

// Whole numbers of either sign, so that sums are exact.
float sparse_value(int rank, int64_t i) {
  return 64 * pattern(rank, i) + 16 * pattern(rank + 7, i) - 160 + pattern(rank + 13, i);
}

void fill_sparse(int rank, int64_t bytes, std::vector<std::byte>& data) {
  for (int64_t i = 0; i < bytes / 4; ++i)
    store(Type::float32, data.data() + 4 * i, sparse_value(rank, i));
}

// The `count` largest of a map from index to value, in the plainest way.
using Sparse = std::map<uint32_t, float>;
Sparse largest_of(const Sparse& all, int64_t count) {
  std::vector<std::pair<float, uint32_t>> order;
  for (const auto& [index, value] : all) order.emplace_back(-std::abs(value), index);
  std::sort(order.begin(), order.end());
  Sparse kept;
  for (const auto& [size, index] : order)
    if (static_cast<int64_t>(kept.size()) < count) kept[index] = all.at(index);
  return kept;
}

Sparse selected(int rank, int64_t bytes, int64_t count) {
  Sparse all;
  for (int64_t i = 0; i < bytes / 4; ++i) all[static_cast<uint32_t>(i)] = sparse_value(rank, i);
  return largest_of(all, count);
}

// What the tree leaves at rank 0.
Sparse merged_by_tree(int ranks, int64_t bytes, int64_t count) {
  std::vector<Sparse> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(selected(rank, bytes, count));
  for (std::size_t mask = 1; mask < all.size(); mask *= 2)
    for (std::size_t parent = 0; parent + mask < all.size(); parent += 2 * mask) {
      for (const auto& [index, value] : all[parent + mask]) all[parent][index] += value;
      all[parent] = largest_of(all[parent], count);
    }
  return all.front();
}

// The first pair that is not expected, in any order; -1 if the two are equal.
int64_t first_wrong_pair(const std::byte* at, int64_t count, Sparse expected) {
  const std::vector<Pair> pairs = load_pairs(at, count);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto found = expected.find(pairs[i].index);
    if (found == expected.end() || found->second != pairs[i].value) return static_cast<int64_t>(i);
    expected.erase(found);
  }
  return -1;
}

Task sparse_task(const std::string& operation, int ranks, int64_t data_B, int64_t count) {
  Task task{.operation = operation,
            .algorithm = "",
            .note = "float32 entries",
            .type = Type::float32,
            .ranks = ranks,
            .bytes = count * pair_B,
            .block_B = {},
            .data_B = data_B + count * pair_B,
            .plan = {},
            .fill = {},
            .first_wrong = {}};
  task.fill = [data_B, size_B = task.data_B](int rank, std::vector<std::byte>& data) {
    data.assign(static_cast<std::size_t>(size_B), std::byte{0xff});
    fill_sparse(rank, data_B, data);
  };
  return task;
}

}  // namespace

Task gtopk_task(int ranks, int64_t data_B, int64_t count) {
  Task task = sparse_task("gtopk", ranks, data_B, count);
  task.plan = plan_gtopk(ranks, data_B, count);
  task.first_wrong = [ranks, data_B, count](int, const std::vector<std::byte>& data) {
    return first_wrong_pair(data.data() + data_B, count, merged_by_tree(ranks, data_B, count));
  };
  return task;
}

// One rank's selection; here the size is that of the data it selects from.
Task top_k_task(int64_t data_B, int64_t count) {
  Task task = sparse_task("top_k", 1, data_B, count);
  PlanWriter writer(1, 1);
  writer.select(0, {0, false, data_B}, {0, false, 0}, data_B, count);
  task.plan = writer.take();
  task.bytes = data_B;
  task.first_wrong = [data_B, count](int rank, const std::vector<std::byte>& data) {
    return first_wrong_pair(data.data() + data_B, count, selected(rank, data_B, count));
  };
  return task;
}

// The result lies behind the data.
Task compress_task(int64_t bytes, int bits) {
  Task task = sparse_task("compress", 1, bytes, (bytes / 2 + 4) / pair_B + 1);
  task.algorithm = "to " + std::to_string(bits) + " bits";
  task.bytes = bytes;
  PlanWriter writer(1, 1);
  writer.narrow(bits == 16 ? Act::narrow16 : Act::narrow8, 0, {0, false, bytes}, {0, false, 0},
                bytes);
  task.plan = writer.take();
  task.first_wrong = [bytes, bits](int rank, const std::vector<std::byte>& data) {
    const std::byte* result = data.data() + bytes;
    float largest = 0;
    for (int64_t i = 0; i < bytes / 4; ++i)
      largest = std::max(largest, std::abs(sparse_value(rank, i)));
    for (int64_t i = 0; i < bytes / 4; ++i) {
      const float exact = sparse_value(rank, i);
      const bool is_right = bits == 16
                                ? calibrate::load(Type::float16, result + 2 * i) == exact
                                : std::abs(static_cast<float>(static_cast<int8_t>(result[4 + i])) *
                                               calibrate::load(Type::float32, result) -
                                           exact) <= largest / 127 * 0.501F;
      if (!is_right) return i;
    }
    return int64_t{-1};
  };
  return task;
}

std::vector<Task> tasks_of(const Request& request) {
  std::vector<Task> tasks;
  for (const int ranks : request.ranks) {
    if (wants(request.probes, "overhead")) tasks.push_back(overhead_task(ranks));
    for (const Type type : request.types)
      if (wants(request.probes, "collectives")) add_collectives(request, ranks, type, tasks);
    if (wants(request.probes, "gtopk")) add_gtopk(request, ranks, tasks);
  }
  for (const std::string probe : {"copy", "fold", "top_k", "compress"})
    for (const Type type : request.types)
      if (wants(request.probes, probe)) add_parts(request, probe, type, tasks);
  if (tasks.empty())
    throw InputError("",
                     "no algorithm has such an operation; ring: allreduce, reduce_scatter, "
                     "allgather; mst, be, lp: broadcast, reduce, allreduce");
  return tasks;
}

}  // namespace sgdsim::calibrate

// Selection, gTop-k and compression, with results that are known from the numbers alone.
//
// Values are whole numbers from -160 to 164, of either sign and with many ties. How often each
// magnitude occurs tells where the k largest end, without a sort, so that a gigabyte is checked in
// seconds. Sums are rounded as the type demands, in the order of the tree.
#include "calibrate/sparse.h"

#include <array>
#include <cmath>
#include <map>
#include <memory>

#include "calibrate/plan/algorithms.h"
#include "calibrate/tasks/pattern.h"
#include "calibrate/tasks/tasks.h"

namespace sgdsim::calibrate {
namespace {

constexpr std::size_t magnitudes = 165;

float sparse_value(int rank, int64_t i) {
  return 64 * pattern(rank, i) + 16 * pattern(rank + 7, i) - 160 + pattern(rank + 13, i);
}

std::size_t magnitude(float value) { return static_cast<std::size_t>(std::abs(value)); }

// Those of a rank's data of `type`, as numbers of the type `as`.
Stretch sparse_values(Type type, Type as, int rank, int64_t data_B, int64_t at_B) {
  const int64_t elements = data_B / size_of(type);
  return repeating(
      as, elements, [rank](int64_t i) { return sparse_value(rank, i); }, at_B, 0,
      elements * size_of(as));
}

using Sparse = std::map<uint32_t, float>;

// The `count` largest of a rank's entries; of equal ones the first.
Sparse selected(int rank, int64_t elements, int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < std::min(elements, pattern_period); ++i)
    values.push_back(sparse_value(rank, i));
  const auto value_at = [&](int64_t i) {
    return values[static_cast<std::size_t>(i % pattern_period)];
  };
  std::array<int64_t, magnitudes> left{};  // how many of a magnitude are to be taken
  for (int64_t i = 0; i < elements; ++i) ++left[magnitude(value_at(i))];
  for (std::size_t size = magnitudes; size-- > 0;) {
    left[size] = std::min(left[size], count);
    count -= left[size];
  }
  Sparse kept;
  for (int64_t i = 0; i < elements; ++i)
    if (left[magnitude(value_at(i))]-- > 0)
      kept.emplace_hint(kept.end(), static_cast<uint32_t>(i), value_at(i));
  return kept;
}

// The `count` largest of the sum of both, in the plainest way.
Sparse merged(Sparse a, const Sparse& b, Type type, int64_t count) {
  for (const auto& [index, value] : b) a[index] = rounded(type, a[index] + value);
  std::vector<std::pair<float, uint32_t>> order;
  for (const auto& [index, value] : a) order.emplace_back(-std::abs(value), index);
  std::sort(order.begin(), order.end());
  for (auto i = static_cast<std::size_t>(count); i < order.size(); ++i) a.erase(order[i].second);
  return a;
}

// What the tree leaves at rank 0.
Sparse merged_by_tree(int ranks, Type type, int64_t elements, int64_t count) {
  std::vector<Sparse> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(selected(rank, elements, count));
  for (std::size_t mask = 1; mask < all.size(); mask *= 2)
    for (std::size_t parent = 0; parent + mask < all.size(); parent += 2 * mask)
      all[parent] = merged(std::move(all[parent]), all[parent + mask], type, count);
  return all.front();
}

// The first pair that is not expected, in any order; -1 if the two are equal.
int64_t first_wrong_pair(Type type, const std::byte* at, int64_t count, Sparse expected) {
  const std::vector<Pair> pairs = load_pairs(type, at, count);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto found = expected.find(pairs[i].index);
    if (found == expected.end() || found->second != pairs[i].value) return static_cast<int64_t>(i);
    expected.erase(found);
  }
  return -1;
}

// Results lie behind the data.
Task sparse_task(const std::string& operation, Type type, int64_t data_B, int64_t result_B,
                 Plan plan) {
  Task task{.operation = operation, .type = type, .bytes = data_B, .plan = std::move(plan)};
  task.plan.room.data_B = aligned_B(data_B) + result_B;
  task.before = [type, data_B, size_B = task.plan.room.data_B](int rank) {
    return Stretches{sparse_values(type, type, rank, data_B, 0),
                     {.at_B = data_B, .bytes = size_B - data_B}};
  };
  return task;
}

// The largest element by far is 164: an error of half a step of 164 / 127, and of rounding.
int64_t first_wrong_byte(Type type, const std::byte* result, int rank, int64_t elements) {
  float largest = 0;
  for (int64_t i = 0; i < std::min(elements, pattern_period); ++i)
    largest = std::max(largest, std::abs(sparse_value(rank, i)));
  const float scale = load(Type::float32, result);
  for (int64_t i = 0; i < elements; ++i) {
    const auto steps = static_cast<float>(static_cast<int8_t>(result[4 + i]));
    const float error = std::abs(steps * scale - rounded(type, sparse_value(rank, i)));
    if (!(error <= largest / 127 * 0.501F)) return i;  // a scale that is no number is wrong too
  }
  return -1;
}

}  // namespace

Task gtopk_task(int ranks, Type type, int64_t data_B, int64_t count) {
  Task task = sparse_task("gtopk", type, data_B, count * pair_B(type),
                          plan_gtopk(ranks, type, data_B, count));
  task.bytes = count * pair_B(type);
  task.plan.room.searched = data_B / size_of(type);
  task.plan.room.sorted = 2 * count;
  // The same for every rank, hence found once.
  const auto expected = std::make_shared<Sparse>();
  task.first_broken = [=](int, const std::vector<std::byte>& data) {
    if (expected->empty()) *expected = merged_by_tree(ranks, type, data_B / size_of(type), count);
    return first_wrong_pair(type, data.data() + aligned_B(data_B), count, *expected);
  };
  return task;
}

Task top_k_task(Type type, int64_t data_B, int64_t count) {
  PlanWriter writer(1, 1);
  writer.select(0, {0, Buffer::data, aligned_B(data_B)}, {0, Buffer::data, 0}, data_B, count);
  Task task = sparse_task("top_k", type, data_B, count * pair_B(type), writer.take());
  task.plan.room.searched = data_B / size_of(type);
  task.plan.room.sorted = count;
  task.first_broken = [=](int rank, const std::vector<std::byte>& data) {
    return first_wrong_pair(type, data.data() + aligned_B(data_B), count,
                            selected(rank, data_B / size_of(type), count));
  };
  return task;
}

Task compress_task(Type type, int64_t bytes, int bits) {
  const int64_t elements = bytes / size_of(type);
  PlanWriter writer(1, 1);
  writer.narrow(bits == 16 ? Act::narrow16 : Act::narrow8, 0, {0, Buffer::data, aligned_B(bytes)},
                {0, Buffer::data, 0}, bytes);
  Task task = sparse_task("compress", type, bytes, 4 + elements * bits / 8, writer.take());
  task.algorithm = "to " + std::to_string(bits) + " bits";
  if (bits == 16)
    task.after = [=](int rank) {
      return Stretches{sparse_values(type, Type::float16, rank, bytes, aligned_B(bytes))};
    };
  else
    task.first_broken = [=](int rank, const std::vector<std::byte>& data) {
      return first_wrong_byte(type, data.data() + aligned_B(bytes), rank, elements);
    };
  return task;
}

}  // namespace sgdsim::calibrate

// Every plan played step by step: collectives, and gradients that are sparse or of fewer bits.
#include <array>
#include <cstring>
#include <doctest/doctest.h>

#include "calibrate/sparse.h"
#include "calibrate/tasks/tasks.h"
#include "models/collective/registry.h"

namespace sgdsim::calibrate {
namespace {

// ---- plans

// The steps one after the other, with an event that must be passed before it is awaited.
class Player {
 public:
  Player(const Task& task) : task_(task) {
    for (int rank = 0; rank < task.plan.ranks; ++rank) {
      const Room& room = task.plan.room;
      data_.emplace_back();
      task.fill(rank, data_.back());
      data_.back().resize(static_cast<std::size_t>(room.data_B), std::byte{0xff});
      scratch_.emplace_back(static_cast<std::size_t>(room.scratch_B), std::byte{0xff});
      host_.emplace_back(static_cast<std::size_t>(room.host_B), std::byte{0xff});
    }
    passed_.assign(static_cast<std::size_t>(task.plan.events), false);
  }

  bool play() {
    bool in_order = true;
    for (const Step& step : task_.plan.steps) {
      if (step.act == Act::mark) passed_[static_cast<std::size_t>(step.event)] = true;
      if (step.act == Act::await) in_order &= passed_[static_cast<std::size_t>(step.event)];
      if (step.act == Act::copy)
        std::memmove(at(step.to), at(step.from), static_cast<std::size_t>(step.bytes));
      if (step.act == Act::sum)
        sum(task_.type, at(step.to), at(step.from), at(step.with), step.bytes);
      if (step.act == Act::select)
        select(task_.type, at(step.to), at(step.from), step.bytes, step.count);
      if (step.act == Act::product)
        multiply(task_.type, at(step.to), at(step.from), at(step.with), step.shape.rows,
                 step.shape.columns, step.shape.inner, step.shape.groups);
      if (step.act == Act::merge) merge(task_.type, at(step.to), at(step.from), step.count);
    }
    return in_order;
  }

  int64_t first_wrong() const {
    for (int rank = 0; rank < task_.plan.ranks; ++rank)
      if (task_.first_wrong(rank, data_[static_cast<std::size_t>(rank)]) >= 0) return rank;
    return -1;
  }

 private:
  std::byte* at(const Place& place) {
    auto& buffers = place.buffer == Buffer::host      ? host_
                    : place.buffer == Buffer::scratch ? scratch_
                                                      : data_;
    return buffers[static_cast<std::size_t>(place.rank)].data() + place.at_B;
  }
  const Task& task_;
  std::vector<std::vector<std::byte>> data_;
  std::vector<std::vector<std::byte>> scratch_;
  std::vector<std::vector<std::byte>> host_;
  std::vector<bool> passed_;
};

std::vector<Collective> every_collective(int ranks, int64_t bytes, bool overlaps) {
  std::vector<Collective> all;
  for (const CollectiveKind& kind : collective_kinds())
    for (const std::string& operation : kind.operations)
      if (kind.algorithm != "nccl")  // has no steps of its own
        all.push_back({.algorithm = kind.algorithm,
                       .operation = operation,
                       .ranks = ranks,
                       .bytes = bytes,
                       .block_B = 100,
                       .overlaps = overlaps});
  return all;
}

TEST_CASE("calibrate: every collective is right, step by step") {
  for (int ranks = 2; ranks <= 17; ++ranks)
    for (const int64_t bytes : {4, 8, 100, 996, 4096})
      for (const bool overlaps : {false, true})
        for (const Collective& collective : every_collective(ranks, bytes, overlaps)) {
          const Task task = collective_task(collective, Type::float32);
          INFO(collective.algorithm << " " << collective.operation << " " << ranks << " " << bytes);
          Player player(task);
          if (bytes >= 100) CHECK(player.first_wrong() >= 0);  // not right before it began
          CHECK(player.play());
          CHECK(player.first_wrong() == -1);
        }
}

// One mistake in a plan is seen: any copied or summed step that is left out leaves a wrong element.
TEST_CASE("calibrate: the check sees every step that is left out") {
  for (const Collective& collective : every_collective(5, 1000, false)) {
    Task task = collective_task(collective, Type::float32);
    const std::vector<Step> steps = task.plan.steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].act != Act::copy && steps[i].act != Act::sum) continue;
      // The ring of be's broadcast carries chunks to ranks that have them from the scatter.
      if (collective.algorithm == "be" && collective.operation == "broadcast") continue;
      task.plan.steps = steps;
      task.plan.steps.erase(task.plan.steps.begin() + static_cast<std::ptrdiff_t>(i));
      Player player(task);
      player.play();
      INFO(collective.algorithm << " " << collective.operation << " step " << i);
      CHECK(player.first_wrong() >= 0);
    }
  }
}

// 3 x 64 x 64 elements of 2 bytes are 24 KiB.
TEST_CASE("calibrate: products of matrices are right, and mistakes in them are seen") {
  CHECK(product_rows(1, Type::bfloat16) == 64);
  CHECK(product_rows(24 << 10, Type::bfloat16) == 64);
  CHECK(product_rows(4 * (24 << 10) - 1, Type::bfloat16) == 64);
  CHECK(product_rows(4 * (24 << 10), Type::bfloat16) == 128);
  CHECK(product_rows(4 * (24 << 10), Type::float32) == 64);
  for (const Type type : {Type::float32, Type::float16, Type::bfloat16})
    for (const int64_t rows : {64, 192}) {
      Task task = product_task(rows, type);
      CHECK(task.bytes == 3 * rows * rows * size_of(type));
      CHECK(task.plan.flop() == 2.0 * 64 * 64 * 64 * (rows == 64 ? 1 : 27));
      Player right(task);
      CHECK(right.first_wrong() >= 0);
      CHECK(right.play());
      CHECK(right.first_wrong() == -1);
      // The other way round, and one row less.
      const Step step = task.plan.steps.front();
      std::swap(task.plan.steps.front().from, task.plan.steps.front().with);
      Player swapped(task);
      swapped.play();
      CHECK(swapped.first_wrong() >= 0);
      task.plan.steps.front() = step;
      task.plan.steps.front().shape.rows = rows - 1;
      Player smaller(task);
      smaller.play();
      CHECK(smaller.first_wrong() >= 0);
    }
}

TEST_CASE("calibrate: products of any shape are right, and each side that is shorter is seen") {
  for (const Type type : {Type::float32, Type::float16, Type::bfloat16})
    for (const ProductShape& shape : {ProductShape{3, 40, 17}, ProductShape{64, 2, 9},
                                      ProductShape{5, 33, 12, 4}, ProductShape{2, 2, 2}}) {
      const Task task = shaped_product_task(shape, type);
      CAPTURE(task.algorithm);
      CHECK(task.plan.flop() == shape.flop());
      Player right(task);
      CHECK(right.first_wrong() >= 0);
      CHECK(right.play());
      CHECK(right.first_wrong() == -1);
      for (int64_t ProductShape::*side :
           {&ProductShape::rows, &ProductShape::columns, &ProductShape::inner}) {
        Task smaller = task;
        --(smaller.plan.steps.front().shape.*side);
        Player player(smaller);
        player.play();
        CHECK(player.first_wrong() >= 0);
      }
      if (shape.groups == 1) continue;
      Task fewer = task;
      --fewer.plan.steps.front().shape.groups;
      Player player(fewer);
      player.play();
      CHECK(player.first_wrong() >= 0);
    }
  CHECK(shaped_product_task({5, 33, 12, 4}, Type::float32).algorithm == "5x33x12x4");
  // 4 groups of 5 x 12, 12 x 33 and 5 x 33 numbers of 4 bytes.
  CHECK(shaped_product_task({5, 33, 12, 4}, Type::float32).bytes ==
        4 * 4 * (5 * 12 + 12 * 33 + 5 * 33));
}

// What is sent is what the simulator's schedule of the same name sends.
TEST_CASE("calibrate: messages and bytes are those of the simulated schedules") {
  for (int ranks = 2; ranks <= 9; ++ranks)
    for (const Collective& collective : every_collective(ranks, 9 * 16 * 7 * 20, false)) {
      INFO(collective.algorithm << " " << collective.operation << " " << ranks);
      CollectiveJob job;
      job.operation = operation_named(collective.operation, "");
      job.team = {.size = ranks, .stride = 1};
      job.share = {.total = Bytes(collective.bytes), .fractional = false, .split = {}};
      job.cost = PairCost{Duration::us(1), PerByte::ps(1), {}};
      if (collective.algorithm == "lp") job.block = Bytes(collective.block_B);
      const Traffic expected =
          traffic_of(schedule_of(algorithm_named(collective.algorithm, ""), job), ranks);
      const Plan plan = plan_of(collective);
      int64_t messages = 0;
      int64_t bytes = 0;
      for (const Step& step : plan.steps) {
        if (step.act != Act::copy) continue;
        ++messages;
        bytes += step.bytes;
      }
      CHECK(messages == expected.messages);
      // Chunks are cut between elements here and between bytes there.
      CHECK(static_cast<double>(bytes) == doctest::Approx(expected.wire_B).epsilon(0.01));
    }
}

// ---- sparse gradients

constexpr std::array<Type, 3> all_types = {Type::float32, Type::float16, Type::bfloat16};

std::vector<std::byte> bytes_of(Type type, const std::vector<float>& values) {
  const auto size_B = static_cast<std::size_t>(size_of(type));
  std::vector<std::byte> bytes(size_B * values.size());
  for (std::size_t i = 0; i < values.size(); ++i) store(type, bytes.data() + size_B * i, values[i]);
  return bytes;
}

// By hand.
TEST_CASE("calibrate: selection and merging of the largest entries") {
  struct Row {
    std::string reason;
    std::vector<float> data;
    std::vector<Pair> kept;  // by index
  };
  const std::vector<Row> rows = {
      {"by magnitude", {1, -5, 3, 2}, {{1, -5}, {2, 3}}},
      {"of equal ones the first", {4, -4, 4, 4}, {{0, 4}, {1, -4}}},
      {"zeros too", {0, 0, 7}, {{0, 0}, {2, 7}}},
      {"all of them", {1, 2}, {{0, 1}, {1, 2}}},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    for (const Type type : all_types) {
      std::vector<std::byte> result(static_cast<std::size_t>(2 * pair_B(type)));
      const std::vector<std::byte> data = bytes_of(type, row.data);
      select(type, result.data(), data.data(), static_cast<int64_t>(data.size()), 2);
      CHECK(load_pairs(type, result.data(), 2) == row.kept);
    }
  }
}

TEST_CASE("calibrate: merging two sets of pairs") {
  for (const Type type : all_types) {
    std::vector<std::byte> one(static_cast<std::size_t>(2 * pair_B(type)));
    std::vector<std::byte> other(one.size());
    const auto merged = [&](const std::vector<Pair>& a, const std::vector<Pair>& b) {
      store_pairs(type, one.data(), a);
      store_pairs(type, other.data(), b);
      merge(type, one.data(), other.data(), 2);
      return load_pairs(type, one.data(), 2);
    };
    // Entry 1 becomes 0.
    CHECK(merged({{1, -5}, {2, 3}}, {{0, -4}, {1, 5}}) == std::vector<Pair>{{0, -4}, {2, 3}});
    // The same indices in both.
    CHECK(merged({{1, 5}, {2, 3}}, {{1, 5}, {2, 3}}) == std::vector<Pair>{{1, 10}, {2, 6}});
    // 2048 + 3 is 2052 in float16, a tie to even, and 2048 in bfloat16; then the first one stays.
    const float sum = type == Type::float32 ? 2051 : type == Type::float16 ? 2052 : 2048;
    CHECK(merged({{4, 2048}, {9, 1}}, {{4, 3}, {5, -2048}}) ==
          std::vector<Pair>{{4, sum}, {5, -2048}});
  }
}

// The scale is 254 / 127 = 2; 63.5 and 0.5 round to even.
TEST_CASE("calibrate: fewer bits") {
  std::vector<std::byte> result(8);
  for (const Type type : all_types) {
    const std::vector<std::byte> data = bytes_of(type, {0, 127, -254, 1});
    narrow_to_8(type, result.data(), data.data(), static_cast<int64_t>(data.size()));
    CHECK(calibrate::load(Type::float32, result.data()) == 2);
    const std::vector<int> expected = {0, 64, -127, 0};
    for (std::size_t i = 0; i < expected.size(); ++i)
      CHECK(static_cast<int>(static_cast<int8_t>(result[4 + i])) == expected[i]);
    const std::vector<std::byte> zeros = bytes_of(type, {0, 0});
    narrow_to_8(type, result.data(), zeros.data(), static_cast<int64_t>(zeros.size()));
    CHECK(static_cast<int>(result[4]) == 0);
  }
  narrow_to_16(result.data(), bytes_of(Type::float32, {0, 127, -254, 1}).data(), 16);
  CHECK(calibrate::load(Type::float16, result.data() + 4) == -254);
}

TEST_CASE("calibrate: gTop-k is right, step by step") {
  for (int ranks = 2; ranks <= 9; ++ranks)
    for (const Type type : all_types)
      for (const int64_t count : {1, 7, 50}) {
        INFO(ranks << " " << name_of(type) << " " << count);
        const Task task = gtopk_task(ranks, type, 4000, count);
        Player player(task);
        CHECK(player.first_wrong() >= 0);
        CHECK(player.play());
        CHECK(player.first_wrong() == -1);
      }
}

}  // namespace
}  // namespace sgdsim::calibrate

// Steps of a plan that touch the same bytes, one of them writing, must be ordered by streams and
// events, whatever order a machine happens to choose.
//
// The order is that of vector clocks: of each step, how far every stream has come when it begins.
// A plan is right here if every two such steps are ordered, what is read from scratch or host
// memory has been written, and nothing leaves its buffer. The check knows from the kind of a step
// which bytes it reads and writes; that kernels touch no others is for tests of kernels. It knows
// nothing of what a library of collectives does within a call.
#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/sparse.h"
#include "calibrate/tasks/tasks.h"

namespace sgdsim::calibrate {
namespace {

constexpr std::size_t none = ~std::size_t{0};

bool does_something(const Step& step) { return step.act != Act::mark && step.act != Act::await; }

// Which steps have ended when another one begins. `left_out`: an await that is not done.
class Order {
 public:
  explicit Order(const Plan& plan, std::size_t left_out = none) : plan_(plan) {
    const auto streams = static_cast<std::size_t>(plan.streams());
    std::vector<Clock> now(streams, Clock(streams, 0));
    std::vector<Clock> marks(static_cast<std::size_t>(plan.events));
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      const Step& step = plan.steps[i];
      const auto stream = static_cast<std::size_t>(step.stream);
      Clock& clock = now[stream];
      if (step.act == Act::await && i != left_out) {
        const Clock& mark = marks[static_cast<std::size_t>(step.event)];
        is_marked_ &= !mark.empty();
        for (std::size_t s = 0; s < mark.size(); ++s) clock[s] = std::max(clock[s], mark[s]);
      }
      begins_.push_back(clock);
      numbers_.push_back(++clock[stream]);
      if (step.act == Act::mark) marks[static_cast<std::size_t>(step.event)] = clock;
    }
  }

  bool is_before(std::size_t first, std::size_t second) const {
    const auto stream = static_cast<std::size_t>(plan_.steps[first].stream);
    return begins_[second][stream] >= numbers_[first];
  }
  // Whether every event was marked before it was awaited.
  bool is_marked() const { return is_marked_; }
  // Whether all that does anything begins with the same behind it.
  bool is_that_of(const Order& other) const {
    for (std::size_t second = 0; second < begins_.size(); ++second)
      for (std::size_t first = 0; first < second; ++first) {
        if (!does_something(plan_.steps[first]) || !does_something(plan_.steps[second])) continue;
        if (is_before(first, second) != other.is_before(first, second)) return false;
      }
    return true;
  }

 private:
  using Clock = std::vector<int>;

  const Plan& plan_;
  std::vector<Clock> begins_;
  std::vector<int> numbers_;  // of each step in its stream, from 1
  bool is_marked_ = true;
};

struct Access {
  std::size_t step = 0;
  int64_t from_B = 0;
  int64_t end_B = 0;
  bool writes = false;
};
using Accesses = std::map<std::pair<int, Buffer>, std::vector<Access>>;  // by rank and buffer

Accesses accesses_of(const Plan& plan, Type type) {
  Accesses all;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    const auto touch = [&](const Place& place, int64_t bytes, bool writes) {
      all[{place.rank, place.buffer}].push_back({i, place.at_B, place.at_B + bytes, writes});
    };
    const int64_t pairs_B = step.count * pair_B(type);
    const int64_t matrix_B = step.count * step.count * size_of(type);
    switch (step.act) {
      case Act::copy:
        touch(step.from, step.bytes, false);
        touch(step.to, step.bytes, true);
        break;
      case Act::sum:
        touch(step.from, step.bytes, false);
        touch(step.with, step.bytes, false);
        touch(step.to, step.bytes, true);
        break;
      case Act::select:
        touch(step.from, step.bytes, false);
        touch(step.to, pairs_B, true);
        break;
      case Act::merge:
        touch(step.from, pairs_B, false);
        touch(step.to, pairs_B, true);
        break;
      case Act::narrow16:
        touch(step.from, step.bytes, false);
        touch(step.to, step.bytes / 2, true);
        break;
      case Act::narrow8:
        touch(step.from, step.bytes, false);
        touch(step.to, 4 + step.bytes / size_of(type), true);
        break;
      case Act::product:
        touch(step.from, matrix_B, false);
        touch(step.with, matrix_B, false);
        touch(step.to, matrix_B, true);
        break;
      case Act::library:
        touch(step.to, step.bytes, true);
        break;
      case Act::nothing:
      case Act::mark:
      case Act::await:
        break;
    }
  }
  return all;
}

bool are_apart(const Access& a, const Access& b) {
  return a.step == b.step || (!a.writes && !b.writes) || a.end_B <= b.from_B || b.end_B <= a.from_B;
}

bool has_race(const std::vector<Access>& accesses, const Order& order) {
  for (std::size_t b = 0; b < accesses.size(); ++b)
    for (std::size_t a = 0; a < b; ++a)  // steps are listed in an order that is possible
      if (!are_apart(accesses[a], accesses[b]) &&
          !order.is_before(accesses[a].step, accesses[b].step))
        return true;
  return false;
}

// What a step reads lies in what steps before it have written.
bool is_written(const Access& read, const std::vector<Access>& accesses, const Order& order) {
  std::vector<std::pair<int64_t, int64_t>> parts;
  for (const Access& other : accesses)
    if (other.writes && other.step != read.step && order.is_before(other.step, read.step))
      parts.emplace_back(other.from_B, other.end_B);
  std::sort(parts.begin(), parts.end());
  int64_t known_B = read.from_B;
  for (const auto& [from_B, end_B] : parts)
    if (from_B <= known_B) known_B = std::max(known_B, end_B);
  return known_B >= read.end_B;
}

int64_t room_B(const Plan& plan, Buffer buffer) {
  switch (buffer) {
    case Buffer::data:
      return plan.room.data_B;
    case Buffer::scratch:
      return plan.room.scratch_B;
    case Buffer::host:
      return plan.room.host_B;
  }
  return 0;
}

// What is wrong with a plan, or nothing.
std::string wrong_in(const Plan& plan, const Accesses& all, const Order& order) {
  if (!order.is_marked()) return "an event is awaited before it is marked";
  for (const auto& [where, accesses] : all) {
    for (const Access& one : accesses) {
      if (one.from_B < 0 || one.end_B > room_B(plan, where.second)) return "outside of a buffer";
      if (!one.writes && where.second != Buffer::data && !is_written(one, accesses, order))
        return "read before it is written";
    }
    if (has_race(accesses, order)) return "a race";
  }
  return "";
}
std::string wrong_in(const Plan& plan, Type type, std::size_t left_out = none) {
  return wrong_in(plan, accesses_of(plan, type), Order(plan, left_out));
}

Place data(int rank, int64_t at_B) { return {rank, Buffer::data, at_B}; }
Place scratch(int rank, int64_t at_B) { return {rank, Buffer::scratch, at_B}; }

// Two ranks of 64 bytes; rank 1 takes 16 bytes of rank 0, which does something before or after it.
TEST_CASE("calibrate: the check of races knows what a race is") {
  struct Row {
    std::string reason;
    std::string wrong;
    std::vector<Step> steps;
    int events = 1;
  };
  const Step take{.act = Act::copy, .stream = 1, .bytes = 16, .to = data(1, 0), .from = data(0, 8)};
  const auto change = [](int64_t at_B, int64_t bytes, int stream = 0) {
    return Step{.act = Act::copy,
                .stream = stream,
                .bytes = bytes,
                .to = data(0, at_B),
                .from = data(0, 32)};
  };
  const Step mark{.act = Act::mark, .stream = 0, .event = 0};
  const Step await{.act = Act::await, .stream = 1, .event = 0};
  const Step read{
      .act = Act::copy, .stream = 0, .bytes = 8, .to = data(0, 0), .from = scratch(0, 4)};
  const auto write = [](int64_t at_B, int64_t bytes) {
    return Step{.act = Act::copy, .bytes = bytes, .to = scratch(0, at_B), .from = data(0, 8)};
  };
  const std::vector<Row> rows = {
      {"written before it is taken", "", {change(8, 16), mark, await, take}},
      {"nobody waits", "a race", {change(8, 16), mark, take}},
      {"the mark is too early", "a race", {mark, change(8, 16), await, take}},
      {"the wait is too late", "a race", {change(8, 16), mark, take, await}},
      {"the last byte", "a race", {change(23, 1), take}},
      {"the byte behind it", "", {change(24, 1), take}},
      {"the first byte", "a race", {change(8, 1), take}},
      {"the byte before it", "", {change(0, 8), take}},
      {"written after it is taken", "a race", {take, change(8, 16)}},
      {"one stream", "", {change(8, 16, 1), take}},
      {"both only read", "", {take, write(0, 16)}},
      {"both write", "a race", {change(0, 4, 0), change(2, 4, 1)}},
      {"never marked", "an event is awaited before it is marked", {await, mark, take}},
      {"outside", "outside of a buffer", {change(60, 5)}},
      {"below", "outside of a buffer", {change(-1, 5)}},
      {"scratch is known", "", {write(4, 4), write(8, 4), read}},
      {"a hole in it", "read before it is written", {write(4, 3), write(8, 4), read}},
      {"its end is not", "read before it is written", {write(4, 7), read}},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    Plan plan;
    plan.ranks = 2;
    plan.room = {.data_B = 64, .scratch_B = 64};
    plan.events = row.events;
    plan.steps = row.steps;
    CHECK(wrong_in(plan, Type::float32) == row.wrong);
  }
}

// Collectives of every kind. The data's room is what a task gives them.
std::vector<Task> collectives(const std::vector<int>& ranks, const std::vector<int64_t>& sizes_B,
                              const std::vector<int64_t>& blocks_B) {
  std::vector<Task> tasks;
  for (const Type type : {Type::float32, Type::float16, Type::bfloat16})
    for (const CollectiveKind& kind : collective_kinds())
      for (const std::string& operation : kind.operations)
        for (const int one : ranks)
          for (const int64_t bytes : sizes_B)
            for (const int64_t block_B : blocks_B)
              for (const bool overlaps : {false, true}) {
                const bool is_first = block_B == blocks_B.front() && !overlaps;
                if (kind.algorithm != "lp" && !is_first) continue;
                tasks.push_back(collective_task({.algorithm = kind.algorithm,
                                                 .operation = operation,
                                                 .ranks = one,
                                                 .bytes = bytes,
                                                 .element_B = size_of(type),
                                                 .block_B = block_B,
                                                 .overlaps = overlaps},
                                                type));
              }
  return tasks;
}

std::string text_with_block(const Task& task) {
  return text_of(task) + ", blocks of " + std::to_string(task.block_B.value_or(0));
}

TEST_CASE("calibrate: no collective has a race") {
  const std::vector<Task> tasks =
      collectives({1, 2, 3, 4, 5, 6, 7, 8, 9, 16}, {4, 20, 1004, 4096}, {100, 1000, 8192});
  CHECK(tasks.size() > 2000);
  for (const Task& task : tasks) {
    const std::string wrong = wrong_in(task.plan, task.type);
    if (!wrong.empty()) FAIL_CHECK(text_with_block(task) << ": " << wrong);
  }
}

// Copies, folds, pairs, compression, selection, gTop-k, products and overheads, as they are
// measured.
TEST_CASE("calibrate: no probe has a race") {
  std::map<std::string, int> plans;
  for (const bool overlaps : {false, true}) {
    Request request;
    request.probes = probe_names();
    request.ranks = {2, 3, 4, 5, 6, 7, 8, 9, 16};
    request.types = {Type::float32, Type::float16, Type::bfloat16};
    request.sizes_B = {4, 100, 4104, (3 << 20) + 12};
    request.blocks_B = {int64_t{1} << 18};
    request.density = 0.01;
    request.overlaps = overlaps;
    for (const Task& task : tasks_of(request)) {
      ++plans[task.operation];
      const std::string wrong = wrong_in(task.plan, task.type);
      if (!wrong.empty()) FAIL_CHECK(text_with_block(task) << ": " << wrong);
    }
  }
  for (const std::string operation : {"allreduce", "alltoall", "compress", "copy", "fold", "gtopk",
                                      "overhead", "product", "top_k"})
    CHECK_MESSAGE(plans[operation] > 0, operation);
}

// Each await by itself: without it there is a race, or another way orders the same steps.
struct Awaits {
  int all = 0;
  int shown = 0;
  int redundant = 0;               // the order is the same without
  std::set<std::string> unneeded;  // where the order is another, and still without a race
};

void leave_out_each(const Task& task, Awaits& awaits) {
  const Accesses accesses = accesses_of(task.plan, task.type);
  const Order whole(task.plan);
  for (std::size_t i = 0; i < task.plan.steps.size(); ++i) {
    if (task.plan.steps[i].act != Act::await) continue;
    ++awaits.all;
    const Order order(task.plan, i);
    if (!wrong_in(task.plan, accesses, order).empty())
      ++awaits.shown;
    else if (order.is_that_of(whole))
      ++awaits.redundant;
    else
      awaits.unneeded.insert(task.operation + " " + task.algorithm);
  }
}

// What is not needed for the result orders messages in time, as the schedule has them: a sender of
// a tree's broadcast gives one message after another, and be's ring begins when its scatter has
// ended.
TEST_CASE("calibrate: the check of races sees every await that is left out") {
  Awaits awaits;
  for (const Task& task : collectives({2, 3, 4, 5, 8}, {20, 1004}, {100, 304}))
    if (task.type == Type::float32) leave_out_each(task, awaits);
  for (const int ranks : {2, 3, 5, 8})
    leave_out_each(gtopk_task(ranks, Type::float32, 400, 9), awaits);
  leave_out_each(copy_task(Way::through_host, 5 << 20, Type::float32), awaits);
  CHECK(awaits.all > 5000);
  CHECK(awaits.shown > 4000);
  CHECK(awaits.unneeded == std::set<std::string>{"broadcast be", "broadcast mst"});
}

// The plan with a mark before the last thing that its stream has done until then; nothing where
// there is none, or where no other stream waits for the mark.
std::optional<Plan> with_early_mark(const Plan& plan, std::size_t mark) {
  const Step& step = plan.steps[mark];
  const bool is_awaited =
      std::any_of(plan.steps.begin(), plan.steps.end(), [&step](const Step& other) {
        return other.act == Act::await && other.event == step.event && other.stream != step.stream;
      });
  if (step.act != Act::mark || !is_awaited) return std::nullopt;
  for (std::size_t before = mark; before-- > 0;) {
    const Step& other = plan.steps[before];
    if (other.stream != step.stream || !does_something(other)) continue;
    Plan early = plan;
    const auto first = early.steps.begin();
    std::rotate(first + static_cast<std::ptrdiff_t>(before),
                first + static_cast<std::ptrdiff_t>(mark),
                first + static_cast<std::ptrdiff_t>(mark) + 1);
    return early;
  }
  return std::nullopt;
}

TEST_CASE("calibrate: the check of races sees every mark that is too early") {
  int marks = 0;
  std::set<std::string> unseen;  // of messages in time, as above
  for (const Task& task : collectives({2, 3, 4, 5, 8}, {1004}, {100, 304})) {
    if (task.type != Type::float32) continue;
    for (std::size_t i = 0; i < task.plan.steps.size(); ++i) {
      const std::optional<Plan> early = with_early_mark(task.plan, i);
      if (!early) continue;
      ++marks;
      if (wrong_in(*early, task.type).empty()) unseen.insert(task.operation + " " + task.algorithm);
    }
  }
  CHECK(marks > 2500);
  CHECK(unseen == std::set<std::string>{"allreduce mst", "broadcast be", "broadcast mst"});
}

}  // namespace
}  // namespace sgdsim::calibrate

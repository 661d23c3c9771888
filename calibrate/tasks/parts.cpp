// The parts of collectives: one message, its reduction, and what starting and waiting cost.
#include <algorithm>
#include <string_view>

#include "calibrate/tasks/pattern.h"
#include "calibrate/tasks/tasks.h"

namespace sgdsim::calibrate {
namespace {

constexpr std::string_view within_a_rank = "within a rank";

// Enough for the start of a run to vanish among them.
constexpr int repeats = 100;

Stretch pattern_at(Type type, int64_t at_B, int64_t bytes) {
  return repeating(
      type, bytes / size_of(type), [](int64_t i) { return pattern(0, i); }, at_B, 0, bytes);
}

Plan plan_within(int64_t bytes) {
  PlanWriter writer(1, 1);
  writer.copy(0, {0, Buffer::data, aligned_B(bytes)}, {0, Buffer::data, 0}, bytes);
  Plan plan = writer.take();
  plan.room.data_B = aligned_B(bytes) + bytes;
  return plan;
}

// Two slots: while the receiver takes a piece from one, the sender fills the other.
Plan plan_through_host(int64_t bytes) {
  constexpr int64_t piece_B = int64_t{1} << 20;
  PlanWriter writer(2, 1);
  const int64_t slots_B[] = {writer.reserve_on_host(piece_B), writer.reserve_on_host(piece_B)};
  int taken[] = {-1, -1};
  for (int64_t j = 0; j * piece_B < bytes; ++j) {
    const int64_t at_B = j * piece_B;
    const int64_t size_B = std::min(piece_B, bytes - at_B);
    const Place slot{0, Buffer::host, slots_B[j % 2]};
    writer.await(writer.stream(0), taken[j % 2]);
    writer.copy(writer.stream(0), slot, {0, Buffer::data, at_B}, size_B);
    writer.await(writer.stream(1), writer.mark(writer.stream(0)));
    writer.copy(writer.stream(1), {1, Buffer::data, at_B}, slot, size_B);
    taken[j % 2] = writer.mark(writer.stream(1));
  }
  Plan plan = writer.take();
  plan.room.data_B = bytes;
  return plan;
}

// A task without data.
Task overhead_task(const std::string& algorithm, Plan plan) {
  const auto nothing = [](int) { return Stretches{}; };
  return {.operation = "overhead",
          .algorithm = algorithm,
          .plan = std::move(plan),
          .before = nothing,
          .after = nothing};
}

}  // namespace

Task copy_task(Way way, int64_t bytes, Type type, bool by_kernel) {
  // Between ranks: a broadcast among two, in one message.
  Task task = collective_task({.algorithm = "mst",
                               .operation = "broadcast",
                               .ranks = 2,
                               .bytes = bytes,
                               .element_B = size_of(type)},
                              type);
  task.operation = "copy";
  task.algorithm = "";
  if (way == Way::through_host) {
    task.algorithm = "through host memory";
    task.plan = plan_through_host(bytes);
  }
  if (way == Way::within_a_rank) {
    task.algorithm = within_a_rank;
    task.plan = plan_within(bytes);
    task.before = [bytes, type](int) { return Stretches{pattern_at(type, 0, bytes)}; };
    task.after = [bytes, type](int) {
      return Stretches{pattern_at(type, aligned_B(bytes), bytes)};
    };
  }
  for (Step& step : task.plan.steps) step.by_kernel = by_kernel && step.act == Act::copy;
  task.note = note_of_copy(by_kernel);
  return task;
}

std::string_view note_of_copy(bool by_kernel) { return by_kernel ? "by the multiprocessors" : ""; }

bool is_copy_within_a_rank(const Task& task) {
  return task.operation == "copy" && task.algorithm == within_a_rank;
}

// The second message is added to the first.
Task fold_task(int64_t bytes, Type type) {
  PlanWriter writer(1, 1);
  const Place first{0, Buffer::data, 0};
  const int64_t second_B = aligned_B(bytes);
  writer.sum(0, first, first, {0, Buffer::data, second_B}, bytes);
  Task task{.operation = "fold", .type = type, .bytes = bytes, .plan = writer.take()};
  task.plan.room.data_B = second_B + bytes;
  task.before = [bytes, second_B, type](int) {
    return Stretches{pattern_at(type, 0, second_B + bytes)};
  };
  task.after = [bytes, second_B, type](int) {
    const int64_t second = second_B / size_of(type);
    return Stretches{repeating(
        type, bytes / size_of(type),
        [second](int64_t i) { return pattern(0, i) + pattern(0, i + second); }, 0, 0, bytes)};
  };
  return task;
}

Task start_task(int ranks) {
  PlanWriter writer(ranks, 1);
  for (int rank = 0; rank < ranks; ++rank) writer.nothing(writer.stream(rank));
  Task task = overhead_task("", writer.take());
  task.note = "starting and ending all streams, with an empty kernel in each";
  return task;
}

Task launch_task() {
  PlanWriter writer(1, 1);
  for (int i = 0; i < repeats; ++i) writer.nothing(0);
  Task task = overhead_task("launch", writer.take());
  task.note = "one of many empty kernels in a stream";
  task.repeats = repeats;
  return task;
}

Task handover_task() {
  PlanWriter writer(2, 1);
  for (int i = 0; i < repeats; ++i) {
    writer.nothing(i % 2);
    writer.await((i + 1) % 2, writer.mark(i % 2));
  }
  Task task = overhead_task("handover", writer.take());
  task.note = "an empty kernel, and another stream that waits for its event";
  task.repeats = repeats;
  return task;
}

}  // namespace sgdsim::calibrate

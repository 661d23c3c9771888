// A message between every two ranks: which links a machine has, and whether both directions of one
// share it.
#include "calibrate/tasks/pattern.h"
#include "calibrate/tasks/tasks.h"

namespace sgdsim::calibrate {
namespace {

// What is received lies behind what is sent.
Task pair_task(int ranks, int from, int to, bool both_ways, int64_t bytes, Type type,
               bool by_kernel) {
  PlanWriter writer(ranks, 1);
  const auto copy = [&](int sender, int receiver) {
    writer.copy(writer.stream(receiver), {receiver, Buffer::data, aligned_B(bytes)},
                {sender, Buffer::data, 0}, bytes, by_kernel);
  };
  copy(from, to);
  if (both_ways) copy(to, from);
  const std::string names =
      std::to_string(from) + (both_ways ? " and " : " to ") + std::to_string(to);
  Task task{.operation = "copy",
            .algorithm = both_ways ? "between " + names + ", both ways" : "from " + names,
            .note = std::string(note_of_copy(by_kernel)),
            .type = type,
            .bytes = bytes,
            .plan = writer.take()};
  task.plan.room.data_B = aligned_B(bytes) + bytes;
  const auto numbers_of = [bytes, type](int rank, int64_t at_B) {
    return repeating(
        type, bytes / size_of(type), [rank](int64_t i) { return pattern(rank, i); }, at_B, 0,
        bytes);
  };
  task.before = [=](int rank) {
    return Stretches{numbers_of(rank, 0), {.at_B = bytes, .bytes = aligned_B(bytes)}};
  };
  task.after = [=](int rank) {
    const bool receives = rank == to || (both_ways && rank == from);
    return receives ? Stretches{numbers_of(rank == to ? from : to, aligned_B(bytes))} : Stretches{};
  };
  return task;
}

}  // namespace

std::vector<Task> pair_tasks(int ranks, const std::vector<int64_t>& sizes_B, Type type,
                             bool by_kernel) {
  std::vector<Task> tasks;
  const auto add = [&](int from, int to, bool both_ways) {
    for (const int64_t bytes : sizes_B)
      tasks.push_back(pair_task(ranks, from, to, both_ways, bytes, type, by_kernel));
  };
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (from != to) add(from, to, false);
  for (int from = 0; from < ranks; ++from)
    for (int to = from + 1; to < ranks; ++to) add(from, to, true);
  return tasks;
}

}  // namespace sgdsim::calibrate

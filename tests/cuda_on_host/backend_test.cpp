// The CUDA backend on the stand-in: every collective and probe, in many of the orders that a GPU
// might choose, and proof that a dependency which is missing shows in some of them.
#include <doctest/doctest.h>

#include "calibrate/tasks.h"
#include "sim/core/error.h"
#include "tests/cuda_on_host/cuda_runtime.h"

namespace sgdsim::calibrate {
namespace {

// Buffers are new, and full of garbage, for every order: what an earlier run left there would hide
// what this one did not write.
bool is_right(Backend& backend, const Task& task, uint64_t order) {
  cuda_on_host::set_order(order);
  backend.prepare(task.ranks, task.plan.lanes, task.data_B, task.plan.scratch_B);
  backend.load(task.plan, task.type);
  std::vector<std::byte> data;
  for (int rank = 0; rank < task.ranks; ++rank) {
    task.fill(rank, data);
    backend.write(rank, data);
  }
  backend.run_us();
  for (int rank = 0; rank < task.ranks; ++rank)
    if (task.first_wrong(rank, backend.read(rank, task.data_B)) >= 0) return false;
  return true;
}

std::string described(const Task& task) {
  return task.operation + " " + task.algorithm + " of " + std::to_string(task.bytes) + " B, " +
         std::string(name_of(task.type)) + ", among " + std::to_string(task.ranks);
}

void check_orders(const std::vector<Task>& tasks, int devices, uint64_t orders,
                  bool are_peers = true) {
  cuda_on_host::restart(devices, are_peers);
  {
    const auto backend = cuda_backend({});
    for (const Task& task : tasks)
      for (uint64_t order = 1; order <= orders; ++order)
        if (!is_right(*backend, task, order))
          FAIL_CHECK(described(task) << ", " << devices << " GPUs, order " << order);
  }
  CHECK(cuda_on_host::alive() == 0);
}

Request everything(const std::vector<int64_t>& sizes_B) {
  Request request;
  request.probes = probe_names();
  request.ranks = {2, 3, 4, 5, 6, 7, 8};
  request.types = {Type::float32, Type::float16, Type::bfloat16};
  request.sizes_B = sizes_B;
  request.block_B = 256;
  request.density = 0.3;
  return request;
}

TEST_CASE("cuda on host: everything is right, of every type, among 2 to 8 ranks, in any order") {
  Request request = everything({4, 12, 1000});
  for (const bool overlaps : {false, true}) {
    request.overlaps = overlaps;
    const std::vector<Task> tasks = tasks_of(request);
    check_orders(tasks, 1, 3);
    check_orders(tasks, 3, 3);
  }
}

TEST_CASE("cuda on host: messages of many blocks") {
  Request request = everything({65540});
  request.ranks = {3, 8};
  request.block_B = 4096;
  request.density = 0.001;
  for (const bool overlaps : {false, true}) {
    request.overlaps = overlaps;
    check_orders(tasks_of(request), overlaps ? 3 : 1, 1);
  }
}

}  // namespace
}  // namespace sgdsim::calibrate

// Kernels by themselves: every alignment and length, and that plans meet the fast ones.
#include "calibrate/cuda/kernels.cuh"

#include <array>
#include <cstring>
#include <doctest/doctest.h>

#include "calibrate/cuda/values.cuh"
#include "calibrate/element.h"
#include "calibrate/tasks/tasks.h"
#include "tests/cuda_on_host/cuda_runtime.h"

namespace sgdsim::calibrate::cuda {
namespace {

constexpr int64_t room_B = 512;

float first_summand(int64_t i) { return static_cast<float>(i % 13); }
float second_summand(int64_t i) { return static_cast<float>(i % 7 + 20); }

struct Operands {
  Memory to = make_memory(0, room_B);
  Memory from = make_memory(0, room_B);
  Memory with = make_memory(0, room_B);
  Stream stream = make_stream(0);

  static std::byte* at(const Memory& memory, int64_t at_B) {
    return static_cast<std::byte*>(memory.get()) + at_B;
  }
};

// The sum of so many elements at these places, with nothing written before or behind it.
bool is_sum_right(const Operands& all, Type type, const std::array<int64_t, 3>& places_B,
                  int64_t count) {
  const int64_t size_B = size_of(type);
  std::memset(all.to.get(), 0x7f, room_B);
  for (int64_t i = 0; i < count; ++i) {
    store(type, Operands::at(all.from, places_B[1] + i * size_B), first_summand(i));
    store(type, Operands::at(all.with, places_B[2] + i * size_B), second_summand(i));
  }
  launch_sum(type, Operands::at(all.to, places_B[0]), Operands::at(all.from, places_B[1]),
             Operands::at(all.with, places_B[2]), count * size_B, all.stream.get());
  SGDSIM_CUDA_CHECK(cudaStreamSynchronize(all.stream.get()));
  for (int64_t at_B = 0; at_B < room_B; ++at_B) {
    const int64_t from_B = at_B - places_B[0];
    const bool is_inside = from_B >= 0 && from_B < count * size_B;
    if (!is_inside && *Operands::at(all.to, at_B) != std::byte{0x7f}) return false;
    if (!is_inside || from_B % size_B != 0) continue;
    const int64_t i = from_B / size_B;
    if (load(type, Operands::at(all.to, at_B)) != first_summand(i) + second_summand(i))
      return false;
  }
  return true;
}

}  // namespace

TEST_CASE("cuda on host: sums at every alignment and length, alike modulo 16 or not") {
  cuda_on_host::restart(1);
  const Operands all;
  for (const Type type : {Type::float32, Type::float16, Type::bfloat16})
    for (int64_t at_B = 0; at_B < 32; at_B += size_of(type))
      for (int64_t count = 1; count <= 40; ++count) {
        const int64_t unlike_B = at_B + size_of(type);
        const bool is_right = is_sum_right(all, type, {at_B, at_B + 32, at_B + 16}, count) &&
                              is_sum_right(all, type, {at_B, unlike_B, at_B}, count) &&
                              is_sum_right(all, type, {at_B, at_B, unlike_B}, count);
        if (!is_right) FAIL_CHECK(name_of(type) << " at " << at_B << ", " << count << " elements");
      }
}

// Chunks of 3, 5, 6 and 7 ranks, odd sizes and odd blocks lie off 16 bytes; what they are summed
// with must lie off as far.
TEST_CASE("cuda on host: whatever is summed lies alike modulo 16") {
  int sums = 0;
  for (const std::string algorithm : {"ring", "mst", "be", "lp"})
    for (const Type type : {Type::float32, Type::float16})
      for (int ranks = 2; ranks <= 8; ++ranks)
        for (const int64_t bytes : {20, 1000, 1004, 65540}) {
          const Task task = collective_task({.algorithm = algorithm,
                                             .operation = "allreduce",
                                             .ranks = ranks,
                                             .bytes = bytes,
                                             .element_B = size_of(type),
                                             .block_B = 1004},
                                            type);
          for (const Step& step : task.plan.steps) {
            if (step.act != Act::sum) continue;
            ++sums;
            const bool is_alike = step.to.at_B % 16 == step.from.at_B % 16 &&
                                  step.to.at_B % 16 == step.with.at_B % 16;
            if (!is_alike) FAIL_CHECK(text_of(task));
          }
        }
  CHECK(sums > 1000);
  const Task fold = fold_task(1004, Type::float16);
  CHECK(fold.plan.steps[0].with.at_B % 16 == 0);
}

}  // namespace sgdsim::calibrate::cuda

// What a measurement knows of a GPU's clock, and how its data is filled and compared there.
#include "calibrate/cuda/clocks.cuh"

#include <cmath>
#include <doctest/doctest.h>

#include "calibrate/cuda/content.cuh"
#include "calibrate/record.h"
#include "calibrate/tasks/pattern.h"
#include "calibrate/tasks/tasks.h"
#include "sim/core/json.h"
#include "tests/cuda_on_host/cuda_runtime.h"

namespace sgdsim::calibrate {
namespace {

const Watcher undisturbed{[] { return false; }, [](const std::string&) {}};

// Pieces of work take a microsecond, and so does a look at the timer.
TEST_CASE("cuda on host: the mean clock rate between two looks") {
  const cuda::Patience patience;
  for (const double MHz : {200., 1000., 1980.}) {
    cuda_on_host::restart(1);
    cuda_on_host::set_clock([MHz](double) { return MHz; });
    cuda::Clocks clocks(0, patience);
    clocks.look_before(nullptr);
    clocks.look_after(nullptr);
    SGDSIM_CUDA_CHECK(cudaStreamSynchronize(nullptr));
    CHECK(clocks.mean_MHz() == doctest::Approx(MHz).epsilon(0.01));
    CHECK(clocks.highest_MHz() == 1000);
  }
}

// It rises by half of what is missing every 100 us, to 1900 MHz; 16 rates of seven pieces each take
// 112 us, over which it rises by less than 1 % when less than 2 % are missing. Or it swings for
// ever.
TEST_CASE("cuda on host: a GPU is warmed up until its clock stands still") {
  const cuda::Patience patience;
  cuda_on_host::restart(1);
  cuda_on_host::set_clock([](double us) { return 1900 - 1600 * std::exp2(-us / 100); });
  CHECK(cuda::Clocks(0, patience).warm_up(nullptr) == doctest::Approx(1900).epsilon(0.025));
  cuda_on_host::restart(1);
  bool is_high = false;
  cuda_on_host::set_clock([&](double) { return (is_high = !is_high) ? 1900. : 1000.; });
  CHECK(cuda::Clocks(0, patience).warm_up(nullptr) > 0);  // and it ends
}

// The highest rate is 1000 MHz: after 750 us of 900 MHz there are 740, which are marked.
TEST_CASE("cuda on host: every sample has its clock rate, and slow ones are marked") {
  cuda_on_host::restart(1);
  const auto backend = cuda_backend({});
  double rate = 900;
  cuda_on_host::set_clock([&](double) { return rate; });
  const std::vector<Task> tasks = {copy_task(Way::within_a_rank, 4000, Type::float32)};
  MeasureOptions options;
  options.rule = {1, 10, 10};
  const Outcome fast = measure(*backend, tasks, options, undisturbed);
  rate = 740;
  const Outcome slow = measure(*backend, tasks, options, undisturbed);
  for (const auto& [outcome, expected] : {std::pair(&fast, 900.), std::pair(&slow, 740.)}) {
    const Measured& point = outcome->points[0];
    REQUIRE(point.clocks_MHz.size() == point.samples_us.size());
    for (const double clock : point.clocks_MHz)
      CHECK(clock == doctest::Approx(expected).epsilon(0.02));
  }
  const auto record = [&](const Outcome& outcome) {
    return record_of(*backend, backend->machine(), tasks, outcome,
                     {.before = backend->states(), .after = backend->states()});
  };
  CHECK_FALSE(record(fast)["series"][0]["points"][0].contains("slow"));
  CHECK(record(slow)["series"][0]["points"][0]["slow"].size() == 10);
  CHECK(record(slow)["highest_clock_MHz"] == 1000);
}

// The stand-in of NVML: bits 0x4 and 0x20, and no answer about MIG.
TEST_CASE("cuda on host: what the driver says before and after") {
  cuda_on_host::restart(2);
  const auto states = cuda_backend({})->states();
  REQUIRE(states.size() == 2);
  CHECK(states[1].device == "0000:11:00.0");
  const DeviceState& state = states[0];
  CHECK(state.driver == "580.159.03");
  CHECK(state.temperature_C == 72);
  CHECK(state.power_W == doctest::Approx(698.5));
  CHECK(state.power_limit_W == doctest::Approx(700));
  CHECK(state.clock_MHz == 1755);
  CHECK(state.memory_clock_MHz == 2619);
  CHECK(state.ecc == true);
  CHECK(state.ecc_errors == 3);
  CHECK_FALSE(state.mig);
  CHECK(state.processes == 2);
  CHECK(state.slowed_by == std::vector<std::string>{"power limit", "temperature, by software"});
}

// As in the memory of this machine, for any alignment, length and place in the period.
TEST_CASE("cuda on host: a GPU fills and compares as the host does") {
  cuda_on_host::restart(2);
  const cuda::Patience patience;
  cuda::Content content(patience);
  constexpr int64_t room_B = 60'000;
  for (const int device : {0, 1})
    for (const Type type : {Type::float32, Type::float16})
      for (const int64_t at_B : {0, 4, 1236})
        for (const int64_t bytes : {0, 4, 1000, 45'000})
          for (const int64_t from_B : {0, 8, 19'944}) {
            const cuda::Memory memory = cuda::make_memory(device, room_B);
            auto* const data = static_cast<std::byte*>(memory.get());
            const Stretch stretch = repeating(
                type, 1'000'000, [](int64_t i) { return pattern(3, i); }, at_B, from_B, bytes);
            content.write(device, data, {.at_B = 0, .bytes = room_B});
            content.write(device, data, stretch);
            std::vector<std::byte> expected(room_B, std::byte{0xff});
            write(stretch, expected.data());
            CHECK(content.read(device, data, room_B) == expected);
            CHECK(content.first_difference(device, data, stretch) == -1);
            if (bytes == 0) continue;
            // The first of two elements that are wrong, whichever is written first.
            for (const int64_t wrong_B : {bytes - 4, bytes / 8 * 4}) {
              content.write(device, data, {.at_B = at_B + wrong_B, .bytes = 4});
              write(Stretch{.at_B = at_B + wrong_B, .bytes = 4}, expected.data());
              CHECK(content.first_difference(device, data, stretch) ==
                    first_difference(stretch, expected.data()));
            }
            CHECK(first_difference(stretch, expected.data()) == at_B + bytes / 8 * 4);
          }
}

// Mantissas are used whole, signs are even, and numbers neither vanish nor overflow in a visit.
TEST_CASE("calibrate: data for measuring has random mantissas") {
  for (const Type type : {Type::float32, Type::float16, Type::bfloat16}) {
    const int64_t bytes = 9000 * size_of(type);
    std::vector<std::byte> one(static_cast<std::size_t>(bytes));
    std::vector<std::byte> other = one;
    write(noise(type, 0, bytes), one.data());
    write(noise(type, 1, bytes), other.data());
    CHECK(one != other);
    int negative = 0;
    int upper_half = 0;
    for (int64_t i = 0; i < 9000; ++i) {
      const float value = load(type, one.data() + i * size_of(type));
      int exponent = 0;
      const float part = std::abs(std::frexp(value, &exponent));
      CHECK(std::isnormal(value));
      negative += value < 0 ? 1 : 0;
      upper_half += part >= 0.75F ? 1 : 0;
    }
    // Five standard deviations of 9000 even draws are 237.
    CHECK(std::abs(negative - 4500) < 237);
    CHECK(std::abs(upper_half - 4500) < 237);
  }
}

}  // namespace
}  // namespace sgdsim::calibrate

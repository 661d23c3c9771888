// Measuring, without a GPU: statistics on invented samples, every collective played step by step
// and by threads, and the program from end to end.
#include <array>
#include <cmath>
#include <cstring>
#include <doctest/doctest.h>
#include <sstream>

#include "calibrate/command.h"
#include "calibrate/pattern.h"
#include "calibrate/sparse.h"
#include "calibrate/statistics.h"
#include "calibrate/summary.h"
#include "calibrate/tasks.h"
#include "models/collective/registry.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/random.h"
#include "tests/run_program.h"
#include "tests/schema_check.h"
#include "traces/measurement/measurement.h"

namespace sgdsim::calibrate {
namespace {

// ---- statistics

TEST_CASE("calibrate: median, its error, outliers") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  CHECK(std::isnan(median({})));
  CHECK(std::isinf(relative_error({1, 2, 3, 4, 5})));
  // Of six values the smallest and the largest enclose the median: P = 1 - 2/64.
  CHECK(relative_error({8, 9, 10, 10, 11, 12}) == doctest::Approx(2. / 10));
  // Of ten values the second smallest and the second largest: P = 1 - 2 * 11/1024.
  CHECK(relative_error({1, 8, 9, 10, 10, 10, 10, 11, 12, 99}) == doctest::Approx(2. / 10));
  CHECK(relative_error(std::vector<double>(20, 5.)) == 0);
  const std::vector<double> samples = {10, 11, 9, 10, 12, 8, 10, 100, 10.5, 9.5};
  CHECK(outliers(samples) == std::vector<std::size_t>{7});
  CHECK(outliers({5, 5, 5, 5, 9}).empty());  // no spread, no scale
}

TEST_CASE("calibrate: the interval of the median holds it 19 times in 20") {
  Random random(1);
  int inside = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    std::vector<double> values;
    for (int i = 0; i < 25; ++i)
      values.push_back(random.exponential(1) + 9.306852819440055);  // median 10
    const double half = relative_error(values) * median(values);
    // The interval is not centred; its half width around the median is what is reported.
    inside += std::abs(median(values) - 10) <= 1.5 * half ? 1 : 0;
  }
  CHECK(inside >= 3700);
}

TEST_CASE("calibrate: when to stop") {
  const StoppingRule rule{0.05, 10, 20};
  CHECK_FALSE(rule.is_enough({}));
  CHECK_FALSE(rule.is_enough(std::vector<double>(9, 1.)));
  CHECK(rule.is_enough(std::vector<double>(10, 1.)));
  std::vector<double> wide;
  for (int i = 0; i < 19; ++i) wide.push_back(i + 1);
  CHECK_FALSE(rule.is_enough(wide));
  wide.push_back(20);
  CHECK(rule.is_enough(wide));
}

// ---- numbers

// IEEE 754: 1, the largest float16, the smallest normal and the smallest of all, and ties.
TEST_CASE("calibrate: 16-bit numbers") {
  CHECK(to_float16(1) == 0x3c00);
  CHECK(to_float16(-2) == 0xc000);
  CHECK(to_float16(65504) == 0x7bff);
  CHECK(to_float16(65519) == 0x7bff);
  CHECK(to_float16(65520) == 0x7c00);
  CHECK(to_float16(0x1p-14F) == 0x0400);
  CHECK(to_float16(0x1p-24F) == 0x0001);
  CHECK(to_float16(0x1p-25F) == 0x0000);  // half of it: to even
  CHECK(to_float16(0x1.8p-25F) == 0x0001);
  CHECK(to_float16(2049) == to_float16(2048));  // halfway: to even
  CHECK(to_float16(2051) == to_float16(2052));
  CHECK(to_bfloat16(1) == 0x3f80);
  CHECK(to_bfloat16(257) == to_bfloat16(256));
  CHECK(to_bfloat16(259) == to_bfloat16(260));
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = from_float16(half);
    if (std::isnan(value))
      CHECK(std::isnan(from_float16(to_float16(value))));
    else if (to_float16(value) != half)
      FAIL_CHECK("float16 " << bits << " does not come back");
    const float brain = from_bfloat16(half);
    if (!std::isnan(brain) && to_bfloat16(brain) != half)
      FAIL_CHECK("bfloat16 " << bits << " does not come back");
  }
  CHECK(std::isnan(from_bfloat16(to_bfloat16(NAN))));
}

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

// What is sent is what the simulator's schedule of the same name sends.
TEST_CASE("calibrate: messages and bytes are those of the simulated schedules") {
  for (int ranks = 2; ranks <= 9; ++ranks)
    for (const Collective& collective : every_collective(ranks, 9 * 16 * 7 * 20, false)) {
      INFO(collective.algorithm << " " << collective.operation << " " << ranks);
      Job job;
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

// ---- the host backend

TEST_CASE("calibrate: threads give the right results, of every type") {
  const auto backend = host_backend();
  const Watcher watcher{[] { return false; }, [](const std::string&) {}};
  for (const Type type : {Type::float32, Type::float16, Type::bfloat16}) {
    Request request;
    request.probes = probe_names();
    request.density = 0.05;
    request.ranks = {2, 3, 5};
    request.types = {type};
    request.sizes_B = {4, 1000, 40000};
    request.blocks_B = {4096, 60};
    request.overlaps = type != Type::float32;
    MeasureOptions options;
    options.verify_only = true;
    std::vector<Task> tasks = tasks_of(request);
    std::erase_if(tasks, [&](const Task& task) { return !backend->why_not(task.plan).empty(); });
    const Outcome outcome = measure(*backend, tasks, options, watcher);
    CHECK(tasks.size() >= 100);
    CHECK(outcome.wrong == std::vector<std::string>{});
    CHECK(outcome.is_complete);
  }
}

// A copy that is left out: the task is named, and not timed.
TEST_CASE("calibrate: a wrong result is not timed") {
  std::vector<Task> tasks = {copy_task(Way::between_ranks, 1000, Type::float32),
                             copy_task(Way::between_ranks, 2000, Type::float32)};
  std::erase_if(tasks[0].plan.steps, [](const Step& step) { return step.act == Act::copy; });
  MeasureOptions options;
  options.rule = {1, 1, 5};
  const Outcome outcome =
      measure(*host_backend(), tasks, options, {[] { return false; }, [](const std::string&) {}});
  CHECK(outcome.wrong.size() == 1);
  CHECK(outcome.points[0].samples_us.empty());
  CHECK(outcome.points[1].samples_us.size() == 5);
  CHECK(outcome.points[1].samples_us[0] > 0);
}

TEST_CASE("calibrate: an interruption keeps what was measured") {
  std::vector<Task> tasks;
  for (int i = 1; i <= 50; ++i)
    tasks.push_back(copy_task(Way::between_ranks, 1000 * i, Type::float32));
  int visits = 0;
  MeasureOptions options;
  options.rule = {0, 5, 5};
  const Outcome outcome =
      measure(*host_backend(), tasks, options,
              {[&] { return visits >= 3; }, [&](const std::string&) { ++visits; }});
  CHECK_FALSE(outcome.is_complete);
  CHECK_FALSE(outcome.points[0].samples_us.empty());
  CHECK(outcome.points[49].samples_us.empty());
}

// A copy of 1 MiB reads and writes 2 MiB, in 100 us. The ring among two moves 7 MiB: half of the
// data is copied (2 bytes for each) and summed (3) by each of them, then half is copied by each.
// That is 350 us of one memory, or 175 us of two.
TEST_CASE("calibrate: the summary sets times against memory traffic") {
  constexpr int64_t bytes = 1 << 20;
  const std::vector<Task> tasks = {
      copy_task(Way::within_a_rank, bytes / 2, Type::float32),
      copy_task(Way::within_a_rank, bytes, Type::float32),
      collective_task({.algorithm = "ring", .operation = "allreduce", .ranks = 2, .bytes = bytes},
                      Type::float32)};
  Outcome outcome;
  outcome.points = {{{70}, true}, {{100}, true}, {{700}, true}};
  const auto of = [&](int memories) {
    return summary_of(tasks, outcome, [memories](int ranks) { return ranks == 1 ? 1 : memories; });
  };
  REQUIRE(of(1).size() == 3);
  CHECK(of(1)[0].find("100 us    10.49 GB/s       1 x memory traffic  copy within a rank") !=
        std::string::npos);
  CHECK(of(1)[1].find("700 us    1.498 GB/s       2 x memory traffic  allreduce ring, 2 ranks, "
                      "1 MiB of float32") != std::string::npos);
  CHECK(of(1)[2].find("20.97 GB/s") != std::string::npos);
  CHECK(of(2)[1].find(" 4 x memory traffic") != std::string::npos);
  CHECK(of(0)[1].find("traffic") == std::string::npos);
}

// ---- the program

struct Answered {
  int exit_code;
  std::string out;
  std::string log;
};
Answered calibrated(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream log;
  const int exit_code = run(arguments, out, log);
  return {exit_code, out.str(), log.str()};
}

TEST_CASE("calibrate: what it writes fits its schema, is read, and is fitted") {
  const Answered ran =
      calibrated({"--backend", "host", "--ranks", "2", "-a", "ring,lp", "--probe",
                  "collectives,copy,fold,overhead", "--block", "8 KiB,16KiB", "--from", "4 KiB",
                  "--to", "64 KiB", "--least", "6", "--most", "6", "-q"});
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(ran.out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/measurement/1", json) ==
        std::vector<std::string>{});
  CHECK(json["complete"] == true);
  const Measurement measurement = read_measurement({ran.out, "m.json", {}, ""});
  // Ring 3, lp 2 x 3, copy 3, fold, overhead 3.
  CHECK(measurement.series.size() == 16);
  const Temporary file(Temporary::Kind::file, ran.out);
  const Ran fit =
      run_sgdsim({"fit", file.name(), "--from-collective", "stated", "--format", "json"});
  CHECK(fit.exit_code == 0);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/fit/1", Json::parse(fit.out)) ==
        std::vector<std::string>{});
}

// A copy through host memory is slower than the link: only where it is asked for is it one.
TEST_CASE("calibrate: a copy by a detour is no part of the link") {
  const auto series = [](const std::string& algorithm, double beta_us_per_KiB) {
    Json one = {{"operation", "copy"}, {"ranks", 2}, {"points", Json::array()}};
    if (!algorithm.empty()) one["algorithm"] = algorithm;
    for (const int kib : {1, 2, 4, 8, 16})
      one["points"].push_back({{"size_B", kib * 1024}, {"time_us", 3 + kib * beta_us_per_KiB}});
    return one;
  };
  const Json all = {{"schema", "sgdsim/measurement/1"},
                    {"series", {series("", 1.024), series("through host memory", 4.096)}}};
  const Temporary file(Temporary::Kind::file, all.dump());
  const auto beta_of = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"fit",        file.name(), "--from-collective", "stated",
                                      "--segments", "1",         "--format",          "json"};
    words.insert(words.end(), more.begin(), more.end());
    return Json::parse(run_sgdsim(words).out)["fits"][0]["pieces"][0]["beta_ps_per_B"];
  };
  CHECK(beta_of({}).get<double>() == doctest::Approx(1000));
  CHECK(beta_of({"-a", "through host memory"}).get<double>() == doctest::Approx(4000));
}

TEST_CASE("calibrate: refused with a sentence") {
  struct Row {
    std::vector<std::string> arguments;
    std::string sentence;
  };
  const std::vector<Row> rows = {
      {{"--backend", "gpu"}, "unknown backend"},
      {{"--backend", "host", "--ranks", "1"}, "--ranks"},
      {{"--backend", "host", "--ranks", "two"}, "--ranks"},
      {{"--backend", "host", "--ranks", "2x"}, "--ranks"},
      {{"--backend", "host", "--device", "0"}, "--device"},
      {{"--backend", "host", "-a", "rings"}, "ring"},
      {{"--backend", "host", "-a", "nccl"}, "NCCL runs on GPUs only"},
      {{"--backend", "host", "-a", "ring", "--op", "broadcast"}, "no algorithm"},
      {{"--backend", "host", "--op", "gather"}, "allgather"},
      {{"--backend", "host", "--type", "float64"}, "float32"},
      {{"--backend", "host", "--from", "4"}, "unit"},
      {{"--backend", "host", "--from", "2 MiB", "--to", "1 MiB"}, "--to"},
      {{"--backend", "host", "--to", "1 TiB"}, "256 GB"},
      {{"--backend", "host", "--probe", "copies"}, "copy"},
      {{"--backend", "host", "--time-limit", "5"}, "--time-limit"},
      {{"--backend", "host", "--block", "1 B"}, "--block"},
      {{"--backend", "host", "--least", "0"}, "--least"},
      {{"--sizes", "4"}, "--help"},
  };
  for (const Row& row : rows) {
    INFO(row.sentence);
    const Answered ran = calibrated(row.arguments);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK(ran.log.find(row.sentence) != std::string::npos);
  }
}

// Without CUDA in the program, or without a GPU in the machine. With both this test has nothing to
// say: calibrate_cuda_test.cpp then does.
TEST_CASE("calibrate: no GPU is a clear sentence") {
  try {
    cuda_backend({});
    MESSAGE("there is a GPU here");
  } catch (const InputError& error) {
    CHECK(std::string(error.what()).find("--backend host") != std::string::npos);
    CHECK(calibrated({}).exit_code == 2);
  }
}

TEST_CASE("calibrate: help and version") {
  CHECK(calibrated({"--help"}).exit_code == 0);
  CHECK(calibrated({"--help"}).out.find("--backend") != std::string::npos);
  CHECK(calibrated({"--version"}).out.starts_with("sgdsim-calibrate "));
}

}  // namespace
}  // namespace sgdsim::calibrate

// sgdsim-calibrate from end to end, on the threads of this machine.
#include <array>
#include <doctest/doctest.h>
#include <sstream>

#include "app/schema_check.h"
#include "calibrate/command.h"
#include "calibrate/tasks/tasks.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "tests/run_program.h"
#include "traces/measurement/measurement.h"

namespace sgdsim::calibrate {
namespace {

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
  CHECK(json["asked"].size() == json["series"].size());
  for (std::size_t i = 0; i < json["asked"].size(); ++i) {
    std::vector<Json> sizes;
    for (const Json& point : json["series"][i]["points"]) sizes.push_back(point["size_B"]);
    CHECK(json["asked"][i]["operation"] == json["series"][i]["operation"]);
    CHECK(json["asked"][i]["sizes_B"] == Json(sizes));
  }
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

// A record whose time was over says what it lacks by what was asked for.
TEST_CASE("calibrate: what was asked for stands in the record, measured or not") {
  const Answered ran = calibrated({"--backend", "host", "--ranks", "2,3", "-a", "ring", "--from",
                                   "4 KiB", "--to", "8 KiB", "--time-limit", "0 s", "-q"});
  const Json json = Json::parse(ran.out);
  CHECK(json["complete"] == false);
  CHECK(json["series"].empty());
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/measurement/1", json) ==
        std::vector<std::string>{});
  // An empty kernel, then an empty run and three operations for each number of ranks.
  REQUIRE(json["asked"].size() == 1 + 2 * (1 + 3));
  CHECK(json["asked"][2]["algorithm"] == "ring");
  CHECK(json["asked"][2]["sizes_B"] == Json({4096, 8192}));
}

// What visits say of a time is read, and a time that is known badly weighs less: by the inverse
// square beyond 2 %. Without its last row the line is 1 us and 1 ns/B.
TEST_CASE("calibrate: a fit weighs rows by how well their times are known") {
  const auto alpha_us = [](double error) {
    Json points = Json::array();
    for (const int kib : {1, 2, 4, 8})
      points.push_back({{"size_B", kib * 1000}, {"time_us", 1 + kib}, {"relative_error", 0.01}});
    points.push_back({{"size_B", 3000}, {"time_us", 2}, {"relative_error", error}});
    points.back()["visits"] = {5, 5, 5, 5, 5, 4};
    points.back()["interval_us"] = {1, 3};
    points.back()["spread"] = 0.1;
    const Json series = {{"operation", "broadcast"}, {"ranks", 2}, {"points", points}};
    const Json record = {{"schema", "sgdsim/measurement/1"}, {"series", {series}}};
    CHECK(faults_of_value(embedded_shelf(), "sgdsim/measurement/1", record).empty());
    const Temporary file(Temporary::Kind::file, record.dump());
    const Ran ran = run_sgdsim({"fit", file.name(), "--segments", "1", "--format", "json"});
    REQUIRE(ran.exit_code == 0);
    return Json::parse(ran.out)["fits"][0]["pieces"][0]["alpha_us"].get<double>();
  };
  CHECK(alpha_us(0.02) == alpha_us(0.001));
  CHECK(alpha_us(0.2) != doctest::Approx(alpha_us(0.02)).epsilon(0.01));
  CHECK(alpha_us(20) == doctest::Approx(1).epsilon(1e-3));
}

// What GPUs and several processes add to a record: the schema and the reader agree about it.
TEST_CASE("calibrate: rounds, processes and nodes are read, and checked") {
  const auto record = [](int rounds, int processes, int nodes) {
    const Json point = {{"size_B", 8}, {"time_us", 3}, {"rounds", rounds}};
    const Json series = {{"operation", "broadcast"}, {"ranks", 4},
                         {"processes", processes},   {"nodes", nodes},
                         {"points", {point}},        {"placement", "4 processes on 2 nodes"}};
    return Json({{"schema", "sgdsim/measurement/1"}, {"series", {series}}});
  };
  const auto faults = [](const Json& json) {
    return faults_of_value(embedded_shelf(), "sgdsim/measurement/1", json).size();
  };
  CHECK(faults(record(9, 4, 2)) == 0);
  CHECK(read_measurement({record(9, 4, 2).dump(), "m.json", {}, ""}).series.size() == 1);
  for (const auto& [rounds, processes, nodes] : {std::array{0, 4, 2}, {9, 0, 2}, {9, 4, 0}}) {
    const Json json = record(rounds, processes, nodes);
    CHECK(faults(json) == 1);
    CHECK_THROWS_AS(read_measurement({json.dump(), "m.json", {}, ""}), InputError);
  }
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
      {{"--backend", "host", "--ranks", ""}, "--ranks: expected at least one"},
      {{"--backend", "host", "--type", ""}, "--type: expected at least one"},
      {{"--backend", "host", "--probe", ""}, "--probe: expected at least one"},
      {{"--backend", "host", "--block", ""}, "--block: expected at least one"},
      {{"--backend", "host", "--probe", "copy", "-a", "ring"}, "no effect without --probe"},
      {{"--backend", "host", "--to", "4 KiB", "--out", "no/such/m.json"}, "cannot be written"},
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
      {{"--backend", "host", "--probe", "top_k", "--to", "16 GiB"}, "32 bits"},
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

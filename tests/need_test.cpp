// What a target needs: values that formulas give, and words that mean nothing.
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <fstream>

#include "app/schema_check.h"
#include "sim/core/error.h"
#include "sim/core/random.h"
#include "study/need/crossing.h"
#include "study/sweep/axis_points.h"
#include "tests/one_layer.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

constexpr double knee_gain = 0.05;
constexpr double to_a_thousandth = 1.1e-3;

using Figure = std::function<std::optional<double>(double)>;

NeedFound found_with(const std::string& axis, const Goal& goal, const Figure& figure) {
  const FieldRange range(axis);
  return look_for(range, goal, knee_gain, [&](const Json& value) -> NeedPoint {
    NeedPoint point{.value = value, .reached = figure(FieldRange::at(value))};
    if (!point.reached) point.error = "none";
    return point;
  });
}

double position_of(const std::optional<NeedPoint>& point) {
  REQUIRE(point.has_value());
  return FieldRange::at(point->value);
}

Json needed(std::vector<std::string> words) {
  words.insert(words.begin(), "need");
  words.insert(words.end(), {"--format", "json"});
  const Ran ran = call_sgdsim(words);
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  Json json = Json::parse(ran.out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/need/1", json).empty());
  return json;
}

// Of one_layer().
constexpr double forward_s = 0.010;
constexpr double backward_s = 0.020;
constexpr double gradient_B = 100e6;
constexpr double alpha_s = 20e-6;  // of two links of 10 us
double ring_s(double workers, double bandwidth_Bps) {
  return 2 * (workers - 1) * alpha_s + 2 * (workers - 1) / workers * gradient_B / bandwidth_Bps;
}

TEST_CASE("need: a bandwidth, a latency and a number of workers, by the formula of the ring") {
  const Temporary file(Temporary::Kind::file);
  std::ofstream(file.name()) << one_layer().dump();
  const double target_s = 0.100;
  const double others_s = forward_s + backward_s;

  const Json rate = needed(
      {file.name(), "--axis", "cluster.nic.bandwidth=1Gbps..400Gbps", "--target", "step=100ms"});
  const double bandwidth = 2 * 15. / 16 * gradient_B / (target_s - others_s - 2 * 15 * alpha_s);
  CHECK(rate["met"] == "at_least");
  CHECK(FieldRange::at(rate["needed"]["value"]) ==
        doctest::Approx(bandwidth).epsilon(to_a_thousandth));
  CHECK(FieldRange::at(rate["needed"]["value"]) >= bandwidth * (1 - 1e-6));
  CHECK(FieldRange::at(rate["before"]["value"]) <= bandwidth * (1 + 1e-6));
  CHECK(rate["needed"]["reached"].get<double>() <= 1e6 * target_s);
  CHECK(rate["before"]["reached"].get<double>() > 1e6 * target_s);

  // 2 (n - 1) alpha = 350 ms - 30 ms - 187.5 MB / (1.25 GB/s), alpha is two latencies.
  const Json latency =
      needed({file.name(), "--axis", "cluster.nic.latency=1us..100ms", "--target", "step<=350ms"});
  const double link_s = (0.350 - others_s - 2 * 15. / 16 * gradient_B / 1.25e9) / (2 * 15) / 2;
  CHECK(latency["met"] == "at_most");
  CHECK(FieldRange::at(latency["needed"]["value"]) ==
        doctest::Approx(link_s * 1e12).epsilon(to_a_thousandth));

  int most = 2;
  while (others_s + ring_s(most + 1, 1.25e9) <= 0.186) ++most;
  const Json nodes =
      needed({file.name(), "--axis", "cluster.nodes=2..500", "--target", "step=186ms"});
  CHECK(nodes["met"] == "at_most");
  CHECK(nodes["needed"]["value"] == most);
  CHECK(nodes["before"]["value"] == most + 1);
}

TEST_CASE("need: a target that every value meets, and one that none does") {
  const Temporary file(Temporary::Kind::file);
  std::ofstream(file.name()) << one_layer().dump();
  const std::string axis = "cluster.nic.bandwidth=1Gbps..400Gbps";
  const Json all = needed({file.name(), "--axis", axis, "--target", "step=100s"});
  CHECK(all["met"] == "everywhere");
  CHECK(!all.contains("needed"));
  const Json none = needed({file.name(), "--axis", axis, "--target", "step=30ms"});
  CHECK(none["met"] == "nowhere");
  CHECK(none["best"]["value"] == "400Gbps");
  CHECK(none["best"]["limit"] == "computing");
  const Json one = needed(
      {file.name(), "--axis", "cluster.nic.bandwidth=10Gbps..10Gbps", "--target", "step=1s"});
  CHECK(one["met"] == "everywhere");
  CHECK(one["points"].size() == 1);
  const Ran ran = call_sgdsim({"need", file.name(), "--axis", axis, "--target", "step=30ms"});
  CHECK(ran.out.find("Not reached: the best is 34") != std::string::npos);
}

TEST_CASE("need: a layout's bandwidth, from two of its steps") {
  // Nothing overlaps: a step is what is computed, start-ups, and bytes over the bandwidth.
  const std::vector<std::string> words = {"--model",  "llama3.1_8b",
                                          "-c",       "dgx_h100_4",
                                          "--gpus",   "32",
                                          "--layout", "dp32 zero1 overlap=off",
                                          "--memory", "192GB",
                                          "--set",    "pcie.bandwidth=1000 GBps",
                                          "--set",    "gpu_link.bandwidth=1000 GBps"};
  auto all = words;
  all.insert(all.end(),
             {"--axis", "cluster.nic.bandwidth=50Gbps..800Gbps", "--target", "step=1.2s"});
  const Json json = needed(all);
  const Json& points = json["points"];
  const auto rate = [](const Json& point) { return FieldRange::at(point["value"]); };
  const auto step = [](const Json& point) { return point["reached"].get<double>(); };
  const Json first = points.front();
  const Json last = points.back();
  const double bytes = (step(first) - step(last)) / (1 / rate(first) - 1 / rate(last));
  const double rest = step(last) - bytes / rate(last);
  CHECK(json["met"] == "at_least");
  CHECK(rate(json["needed"]) ==
        doctest::Approx(bytes / (1.2e6 - rest)).epsilon(2 * to_a_thousandth));
}

TEST_CASE("need: a target that is met, lost and met again") {
  // sin is at least 0.5 from 30 to 150 degrees, and once more in each further turn.
  const double degree = std::acos(-1.) / 180;
  const NeedFound found = found_with("x=200..1100", {0.5 - 1e-9, false},
                                     [&](double x) { return std::sin(x * degree); });
  REQUIRE(found.met.size() == 2);
  CHECK(found.met[0].from.value == 390);
  CHECK(found.met[0].to.value == 510);
  CHECK(found.met[1].from.value == 750);
  CHECK(found.met[1].to.value == 870);
  CHECK(position_of(found.needed) == 390);
  CHECK(position_of(found.before) == 389);
  CHECK(!found.is_largest);
  CHECK(!found.is_everywhere);
}

// Two buckets and more are met until there is hardly any overlap left: larger ones miss it again.
TEST_CASE("need: a target that larger values miss again") {
  const std::vector<std::string> words = {
      "need",     SGDSIM_SOURCE_DIR "/app/experiments/bert_base_10gbe.json",
      "--set",    "strategy=fixed_buckets",
      "--axis",   "strategy.bucket=64KiB..1GiB",
      "--target", "step=1.98s"};
  std::vector<std::string> as_json = words;
  as_json.insert(as_json.end(), {"--format", "json"});
  const Ran ran = call_sgdsim(as_json);
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(ran.out);
  CHECK(json["met"] == "within");
  REQUIRE(json["stretches"].size() == 1);
  CHECK(json["stretches"][0]["from"] == json["needed"]["value"]);
  for (const Json& point : json["points"])
    if (point["value"] == "1GiB") CHECK(point["reached"].get<double>() > 1.98e6);
  const std::string text = call_sgdsim(words).out;
  CHECK(text.find("Larger values miss the target again. It is met from " +
                  json["needed"]["value"].get<std::string>()) != std::string::npos);
}

TEST_CASE("need: whole numbers that divide, and values without an answer") {
  const auto inverse = [](double x) { return 10'000 / x; };
  // Multiples of 48 only: 10,000 / x <= 30 from 333.3 on.
  const NeedFound divides =
      found_with("x=48..9600", {30, true}, [&](double x) -> std::optional<double> {
        if (std::fmod(x, 48) != 0) return {};
        return inverse(x);
      });
  CHECK(position_of(divides.needed) == 336);
  CHECK(position_of(divides.before) == 288);
  // Powers of two only.
  const NeedFound powers =
      found_with("x=1..4096", {30, true}, [&](double x) -> std::optional<double> {
        if (std::fmod(std::log2(x), 1) != 0) return {};
        return inverse(x);
      });
  CHECK(position_of(powers.needed) == 512);
  CHECK(position_of(powers.before) == 256);
  // A list, in which 3 and 5 have no answer.
  const NeedFound list =
      found_with("x=1,2,3,4,5,6,7", {2500, true}, [&](double x) -> std::optional<double> {
        if (x == 3 || x == 5) return {};
        return inverse(x);
      });
  CHECK(position_of(list.needed) == 4);
  CHECK(position_of(list.before) == 2);
  CHECK(list.met.size() == 1);
  // Nothing fits below 5000 of a quantity, whatever the target.
  const NeedFound fits =
      found_with("x=1.0..10000.0", {1e9, true}, [&](double x) -> std::optional<double> {
        if (x < 5000) return {};
        return inverse(x);
      });
  CHECK(position_of(fits.needed) == doctest::Approx(5000).epsilon(to_a_thousandth));
  CHECK(!fits.before->reached);
  // The same of whole numbers, to the last one.
  const NeedFound whole =
      found_with("x=128..65536", {1e9, true}, [&](double x) -> std::optional<double> {
        if (x < 5000 || std::fmod(x, 128) != 0) return {};
        return inverse(x);
      });
  CHECK(position_of(whole.needed) == 5120);
}

// 1, 0.96, 1.92, 3.84, ...: two are slower than one, and then each doubling doubles.
// Nothing is drawn in this step, so that its seed changes nothing; links do.
TEST_CASE("need: a field that changes nothing has no knee, and that is said") {
  const auto asked = [](const char* axis, const char* format) {
    return call_sgdsim({"need", "resnet50_v100", "-c", "25gbe_16", "--axis", axis, "--target",
                        "step=500ms", "--format", format});
  };
  const std::string text = asked("seed=1..10", "table").out;
  CHECK(text.find("seed changes nothing here: step is the same at all values that were asked") !=
        std::string::npos);
  CHECK(text.find("knee") == std::string::npos);
  const Json json = Json::parse(asked("seed=1..10", "json").out);
  CHECK(json["changes_nothing"] == true);
  CHECK(!json.contains("knee"));
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/need/1", json).empty());
  const Ran links = asked("cluster.nic.bandwidth=1Gbps..10Gbps", "table");
  CHECK(links.out.find("changes nothing") == std::string::npos);
}

TEST_CASE("need: a curve that falls first has no knee there") {
  const NeedFound found = found_with("nodes=1..64", {1000, false},
                                     [](double nodes) { return nodes < 1.5 ? 1 : 0.48 * nodes; });
  REQUIRE(found.knee);
  CHECK(!found.knee->is_within);
  CHECK(found.knee->gain == doctest::Approx(1));
}

TEST_CASE("need: the knee of a + b / x is at 9 b / a, where doubling gains a twentieth") {
  for (const double b : {1., 7., 30.}) {
    const NeedFound found =
        found_with("x=1.0..1000.0", {0, true}, [&](double x) { return 2 + b / x; });
    REQUIRE(found.knee);
    CHECK(found.knee->is_within);
    CHECK(!found.knee->is_halving);
    CHECK(FieldRange::at(found.knee->point.value) == doctest::Approx(9 * b / 2).epsilon(0.011));
    CHECK(found.knee->gain == doctest::Approx(knee_gain).epsilon(0.011));
  }
  // a + b x, where halving gains b x / 2 / (a + b x): a twentieth at x = a / (9 b).
  const NeedFound down = found_with("x=1.0..1000.0", {0, true}, [](double x) { return 90 + x; });
  REQUIRE(down.knee);
  CHECK(down.knee->is_halving);
  CHECK(FieldRange::at(down.knee->point.value) == doctest::Approx(10).epsilon(0.011));
  const NeedFound steep = found_with("x=1.0..64.0", {0, true}, [](double x) { return 1 / x; });
  REQUIRE(steep.knee);
  CHECK(!steep.knee->is_within);
  CHECK(steep.knee->gain == doctest::Approx(0.5));
  // Of a list only what is double another one of it.
  const NeedFound list =
      found_with("x=1,2,3,4,8,16,32", {0, true}, [](double x) { return 2 + 1 / x; });
  REQUIRE(list.knee);
  CHECK(list.knee->point.value == 8);
  CHECK(!found_with("x=3,5", {0, true}, [](double x) { return x; }).knee);
}

// A rough curve: values that only the knee asks for are answers as well.
TEST_CASE("need: what it answers is what its points say") {
  Random random(91);
  for (int round = 0; round < 300; ++round) {
    const uint64_t curve = random.bits();
    const Goal goal{0.5 + random.uniform(), true};
    const NeedFound found = found_with("x=1.0..100.0", goal, [&](double x) {
      return 50 / x + 2 * Random::of(curve, {static_cast<uint64_t>(16 * std::log2(x))}).uniform();
    });
    const bool is_met = std::any_of(found.points.begin(), found.points.end(),
                                    [](const NeedPoint& point) { return point.meets; });
    CHECK(is_met == !found.met.empty());
    REQUIRE(found.best);
    for (const NeedPoint& point : found.points) CHECK(*found.best->reached <= *point.reached);
  }
}

// Only multiples of 3 have an answer, the first of which is 6: doublings go from there.
TEST_CASE("need: the knee is looked for from the first value that has an answer") {
  const NeedFound found = found_with("nodes=4..3072", {0, true}, [](double nodes) {
    return std::fmod(nodes, 3) == 0 ? std::optional(2 + 60 / nodes) : std::nullopt;
  });
  REQUIRE(found.knee);
  CHECK(found.knee->is_within);
  CHECK(FieldRange::at(found.knee->point.value) == doctest::Approx(270).epsilon(0.02));
}

// 16 - x until nothing is left: from 16 on a doubling gains nothing, and from 8 on all.
TEST_CASE("need: where nothing is left doubling gains nothing") {
  const NeedFound found =
      found_with("x=1.0..100.0", {5, true}, [](double x) { return std::max(0., 16 - x); });
  REQUIRE(found.knee);
  CHECK(found.knee->is_within);
  CHECK(FieldRange::at(found.knee->point.value) == doctest::Approx(16).epsilon(0.011));
}

TEST_CASE("need: grids have all of a list, and else about nine values") {
  CHECK(FieldRange("x=2..10:2").grid().size() == 5);
  CHECK(FieldRange("x=1,5,3").grid() == std::vector<Json>{1, 3, 5});
  CHECK(FieldRange("x=10..14").grid() == std::vector<Json>{10, 11, 12, 13, 14});
  CHECK(FieldRange("x=1 Gbps..256 Gbps").grid().size() == 9);
  CHECK(FieldRange("x=1 Gbps..10 Gbps").grid().size() == 11);  // thirds of doublings
  CHECK(FieldRange("x=0us..8us").grid() ==
        std::vector<Json>{"0us", "1 us", "2 us", "3 us", "4 us", "5 us", "6 us", "7 us", "8us"});
  CHECK(FieldRange("x=1 GB..9 GB").value(3.14159265e9) == "3.1416 GB");
  const FieldRange whole("x=1..100");
  CHECK(!whole.between(5, 6));
  CHECK(*whole.between(5, 7) == 6);
}

TEST_CASE("need: without a batch no throughput is known") {
  Json json = one_layer();
  json["trace"].erase("batch");
  const Temporary file(Temporary::Kind::file, json.dump());
  const Ran ran = call_sgdsim(
      {"need", file.name(), "--axis", "cluster.nodes=2..8", "--target", "throughput<=600"});
  CHECK(ran.exit_code == 2);
  CHECK(ran.log.find("the trace states no `batch`") != std::string::npos);
}

TEST_CASE("need: mistakes are a sentence with what to type") {
  const std::string k80 = SGDSIM_SOURCE_DIR "/app/experiments/googlenet_k80.json";
  struct Row {
    std::vector<std::string> words;
    std::string says;
  };
  const std::string target = "step=1s";
  const std::vector<std::string> layout = {"--model", "llama3.1_8b", "-c", "dgx_h100_4"};
  const std::vector<Row> rows = {
      {{k80, "--axis", "cluster.nodes", "--target", target}, "expected FIELD=FROM..TO"},
      {{k80, "--axis", "=2..4", "--target", target}, "expected FIELD=FROM..TO"},
      {{k80, "--axis", "cluster.nodes=", "--target", target}, "cluster.nodes"},
      {{k80, "--axis", "cluster.nodes=2..64.0", "--target", "efficiency=0.95"},
       "write both ends as such, as in cluster.nodes=2..64"},
      {{k80, "--axis", "cluster.nodes=2..1e2", "--target", "efficiency=0.95"}, "whole numbers"},
      {{"--model", "llama3.1_8b", "-c", "dgx_h100_4", "--gpus", "64", "--axis",
        "cluster.nic.bandwidth=50Gbps..800Gbps", "--target", "days=1"},
       "--tokens"},
      {{k80, "--axis", "cluster.nodes=2..8", "--target", "days=1"}, "unknown figure \"days\""},
      {{k80, "--axis", "cluster.nodes=8..2", "--target", target},
       "write the smaller end first: 2..8"},
      {{k80, "--axis", "cluster.nodes=NaN..8", "--target", target}, "expected numbers"},
      {{k80, "--axis", "cluster.nodes=2..1e999", "--target", target}, "expected numbers"},
      {{k80, "--axis", "cluster.nodes=1..99999999999999999999", "--target", target},
       "numbers up to 2^53"},
      {{k80, "--axis", "cluster.nic.bandwidth=1..100Gbps", "--target", target}, "in one unit"},
      {{k80, "--axis", "strategy=wfbp,ddp", "--target", target}, "`sgdsim sweep`"},
      {{k80, "--axis", "cluster.nodes=2..8", "--target", "efficiency=90"}, "as 0.9 or 90%"},
      {{k80, "--axis", "cluster.nodes=2..8", "--target", "metrics.iteration_us.p95<=140"}, "unit"},
      {{k80, "--axis", "cluster.nodez=2..8", "--target", target}, "did you mean \"nodes\"?"},
      {{k80, "--axis", "nic.bandwidth=1Gbps..2Gbps", "--target", target},
       "write cluster.nic.bandwidth"},
      {{k80, "--axis", "cluster.nodes=2..8", "--zip", "cluster.nodes", "--target", target},
       "takes the values already"},
      {{k80, "--axis", "cluster.nodes=2..8", "--target", "step"}, "as in step=120ms"},
      {{k80, "--axis", "cluster.nodes=2..8", "--target", "step="}, "as in step=120ms"},
      {{k80, "--axis", "cluster.nodes=2..8", "--target", "step<1s"}, "FIGURE<=VALUE"},
      {{k80, "--axis", "cluster.nodes=2..8", "--target", "step=12"}, "with a unit"},
      {{k80, "--axis", "cluster.nodes=2..8", "--target", "step=0us"}, "above 0"},
      {{k80, "--axis", "cluster.nodes=2..8", "--target", "efficiency=NaN"}, "a number above 0"},
      {{k80, "--axis", "cluster.nodes=2..8", "--target", "efficiency=1e999"}, "a number above 0"},
      {{k80, "--axis", "cluster.nodes=2..8", "--target", "efficiency=-1"}, "a number above 0"},
      {{k80, "--axis", "cluster.nodes=2..8", "--target", "eficiency=1"},
       "did you mean \"efficiency\"?"},
      {{k80, "--axis", "cluster.nodes=2..8", "--target", target, "--gpus", "8"},
       "--gpus: is about layouts; it goes with --model"},
      {{k80, "--axis", "cluster.nodes=2..8", "--target", target, "--model", "llama3.1_8b"},
       "leave the experiment out, or the model"},
      {{"--axis", "gpus=8..16", "--target", target}, "expected an experiment"},
      {{"--model", "llama3.1_8b", "--axis", "gpus=8..16", "--target", target}, "needs --cluster"},
      {{layout[0], layout[1], layout[2], layout[3], "--axis", "nic.bandwidth=1Gbps..2Gbps",
        "--target", target},
       "write cluster.nic.bandwidth"},
      {{layout[0], layout[1], layout[2], layout[3], "--axis", "layout=tp8,tp4", "--target", target},
       "`sgdsim layout --axis`"},
      {{layout[0], layout[1], layout[2], layout[3], "--axis", "cluster.nicc.bandwidth=1Gbps..2Gbps",
        "--target", target},
       "did you mean \"nic\"?"},
      {{layout[0], layout[1], layout[2], layout[3], "--axis", "gpus=8..16", "--target", target,
        "--seed", "x"},
       "expected a whole number"},
      {{layout[0], layout[1], layout[2], layout[3], "--axis", "gpus=8..16", "--target", target,
        "--ports", "turns"},
       "is about experiments"},
      {{k80, "--axis", "cluster.nodes=2..8", "--target", target, "--knee", "0"}, "knee"},
  };
  for (const Row& row : rows) {
    std::vector<std::string> words = row.words;
    words.insert(words.begin(), "need");
    const Ran ran = call_sgdsim(words);
    INFO(row.says, " in: ", ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(row.says) != std::string::npos);
    CHECK(std::count(ran.log.begin(), ran.log.end(), '\n') <= 2);
  }
}

}  // namespace
}  // namespace sgdsim

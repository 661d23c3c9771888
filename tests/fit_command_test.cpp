// `sgdsim fit` as people use it: logs in, clusters, curves, cases and pictures out.
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <functional>

#include "app/schema_check.h"
#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

using Words = std::vector<std::string>;
using Faults = std::vector<std::string>;

const std::string own = "tests/data/measurement.json";
const std::string measurements = "traces/measurement/data/";

Json json_of(Words words) {
  words.insert(words.begin(), "fit");
  words.insert(words.end(), {"--format", "json"});
  const Ran ran = run_sgdsim(words);
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(ran.out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/fit/1", json) == Faults{});
  return json;
}

// The file was made with alpha 2 us, beta 100 ps/B and gamma 50 ps/B.
TEST_CASE("fit command: the link under collectives, and what it predicts") {
  const Temporary cluster(Temporary::Kind::file);
  const Temporary cases(Temporary::Kind::file);
  const Json json = json_of(
      {own, "--from-collective", "stated", "--out", cluster.name(), "--case", cases.name()});
  const Json& piece = json["fits"][0]["pieces"][0];
  CHECK(piece["alpha_us"].get<double>() == doctest::Approx(2));
  CHECK(piece["beta_ps_per_B"].get<double>() == doctest::Approx(100));
  CHECK(piece["gamma_ps_per_B"].get<double>() == doctest::Approx(50));
  CHECK(json["fits"][0]["held_out"]["max_percent"].get<double>() < 0.01);
  const Json written = Json::parse(read_text(cluster.name()));
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/cluster/1", written) == Faults{});
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/case/1", Json::parse(read_text(cases.name()))) ==
        Faults{});
  // 2 (P-1) alpha + 2 (P-1)/P n beta + (P-1)/P n gamma = 12 + 39.3216 + 9.8304 us.
  const Ran collective =
      run_sgdsim({"collective", "-c", cluster.name(), "-n", "256 KiB", "--format", "json"});
  CHECK(Json::parse(collective.out)["time_us"].get<double>() == doctest::Approx(61.152));
  CHECK(run_sgdsim({"validate", cases.name()}).exit_code == 0);
}

TEST_CASE("fit command: ranks that were held out") {
  const Json json = json_of({own, "--from-collective", "stated", "--holdout", "ranks=4"});
  CHECK(json["fits"][0]["held_out"]["by"] == "ranks");
  CHECK(json["fits"][0]["held_out"]["rows"] == 18);
  CHECK(json["fits"][0]["held_out"]["max_percent"].get<double>() < 0.01);
  CHECK_FALSE(json_of({own, "--holdout", "none"})["fits"][0].contains("held_out"));
  const Json some = json_of({own, "--from-collective", "stated", "--holdout", "ranks=4,64"});
  CHECK(some["fits"][0]["held_out"]["rows"] == 18);
  CHECK(some["notes"][0] == "--holdout: no series among 64 ranks was measured; there are: 2, 4");
}

// Runs of 10 us + 100 ps/B and of 30 us + 300 ps/B: the middle is 20 us + 200 ps/B.
TEST_CASE("fit command: of the same measured in two files the middle counts") {
  const auto log = [](double a_us, double b_ps) {
    std::string text = "# OSU MPI Broadcast Latency Test v7.0\n";
    for (const int size : {1000, 100000, 10000000})
      text += std::to_string(size) + " " + std::to_string(a_us + b_ps * size / 1e6) + "\n";
    return text;
  };
  const Temporary one(Temporary::Kind::file, log(10, 100));
  const Temporary two(Temporary::Kind::file, log(30, 300));
  const Json json = json_of({one.name(), two.name(), "-p", "4"});
  REQUIRE(json["fits"].size() == 1);
  CHECK(json["fits"][0]["pieces"][0]["alpha_us"].get<double>() == doctest::Approx(20));
  CHECK(json["fits"][0]["pieces"][0]["beta_ps_per_B"].get<double>() == doctest::Approx(200));
  CHECK(json["notes"][0].get<std::string>().find(
            "broadcast of 1 KB among 4: 2 runs took from 10.1 us to 30.3 us") == 0);
  // Once, whatever the number of sizes.
  CHECK(json["notes"][0].get<std::string>().ends_with(
      "; the median is used, and so it is of 2 more whose runs differ by a factor above 2"));
  const std::string notes = json["notes"].dump();
  CHECK(notes.find("runs took") == notes.rfind("runs took"));
  const Json cut = json_of({one.name(), "-p", "4", "--segments", "3"});
  CHECK(cut["notes"][0].get<std::string>().find("the sizes are enough for 1") != std::string::npos);
}

TEST_CASE("fit command: standard output holds one file") {
  const Ran page = run_sgdsim({"fit", "tests/data/nccl_tests.log", "--report", "-"});
  CHECK(page.exit_code == 0);
  CHECK(page.out.starts_with("<!DOCTYPE html>"));
  CHECK(page.out.ends_with("</html>\n"));
}

// alpha 2 us, beta 100 ps/B, gamma 500 ps/B through a root of 4: the broadcast takes three
// messages, the reduction one message and three folds, which are the slower ones but for the
// start-up.
TEST_CASE("fit command: a cost that is no sum is fitted about its own result") {
  Json broadcast = {{"operation", "broadcast"}, {"algorithm", "linear"}, {"ranks", 4}};
  Json reduce = {{"operation", "reduce"}, {"algorithm", "linear"}, {"ranks", 4}};
  for (double size_B = 1 << 10; size_B <= 1 << 24; size_B *= 4) {
    const double message_us = 2 + 100e-6 * size_B;
    const double fold_us = 500e-6 * size_B;
    broadcast["points"].push_back({{"size_B", std::llround(size_B)}, {"time_us", 3 * message_us}});
    const double time_us = message_us + fold_us + 2 * std::max(message_us, fold_us);
    reduce["points"].push_back({{"size_B", std::llround(size_B)}, {"time_us", time_us}});
  }
  const Json file = {{"schema", "sgdsim/measurement/1"}, {"series", {broadcast, reduce}}};
  const Temporary measured(Temporary::Kind::file, file.dump());
  const Json json = json_of({measured.name(), "--from-collective", "linear"});
  REQUIRE(json["fits"][0]["pieces"].size() == 1);
  const Json& piece = json["fits"][0]["pieces"][0];
  CHECK(piece["alpha_us"].get<double>() == doctest::Approx(2));
  CHECK(piece["beta_ps_per_B"].get<double>() == doctest::Approx(100));
  CHECK(piece["gamma_ps_per_B"].get<double>() == doctest::Approx(500));
  CHECK(json["notes"].empty());
}

TEST_CASE("fit command: a given gamma, and a beta that stands for both") {
  const Json given =
      json_of({own, "-a", "ring", "--from-collective", "ring", "--gamma", "50 ps/B"});
  CHECK(given["fits"][0]["pieces"][0]["beta_ps_per_B"].get<double>() == doctest::Approx(100));
  CHECK(given["fits"][0]["given_gamma_ps_per_B"] == 50);
  const Json both = json_of({own, "-a", "ring", "--from-collective", "ring"});
  CHECK(both["fits"][0]["pieces"][0]["beta_ps_per_B"].get<double>() == doctest::Approx(125));
  CHECK_FALSE(both["fits"][0]["pieces"][0].contains("gamma_ps_per_B"));
}

// Three segments of a measured NVSwitch box, as a cluster, predict the sizes that they did not see.
TEST_CASE("fit command: a segmented cluster predicts what was held out") {
  const Temporary cases(Temporary::Kind::file);
  const Json json =
      json_of({measurements + "nccl_a100x8.json", "--op", "allreduce", "--from-collective", "ring",
               "--segments", "3", "--case", cases.name()});
  CHECK(json["fits"][0]["pieces"].size() == 3);
  const Ran validated = run_sgdsim({"validate", cases.name(), "--format", "json"});
  REQUIRE(validated.exit_code == 0);
  const Json held = Json::parse(validated.out)["suites"][0]["held"];
  const Json& assessed = json["fits"][0]["held_out"];
  CHECK(held["rows"] == assessed["rows"]);
  CHECK(held["median_percent"].get<double>() ==
        doctest::Approx(assessed["median_percent"].get<double>()).epsilon(1e-3));
  CHECK(held["max_percent"].get<double>() ==
        doctest::Approx(assessed["max_percent"].get<double>()).epsilon(1e-3));
  CHECK(held["median_percent"].get<double>() < 10);
  CHECK(held["max_percent"].get<double>() < 25);
}

TEST_CASE("fit command: a curve serves an experiment, which says where it ends") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string curve = folder.name() + "/curve.json";
  json_of({"tests/data/osu_allreduce.log", "--ranks", "4", "--out", curve});
  const Json written = Json::parse(read_text(curve));
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/collective-cost/1", written) == Faults{});
  const std::string root = SGDSIM_SOURCE_DIR;
  const auto experiment = [&](const std::string& name, const std::string& collective,
                              int nodes = 4) {
    const Json json = {{"schema", "sgdsim/experiment/1"},
                       {"trace", root + "/traces/data/googlenet_k80.json"},
                       {"cluster",
                        {{"shape", "single_switch"},
                         {"nodes", nodes},
                         {"nic", {{"latency", "1 us"}, {"bandwidth", "10 Gbps"}}}}},
                       {"collective", collective},
                       {"strategy", "wfbp"}};
    std::ofstream(folder.name() + "/" + name) << json.dump();
    return folder.name() + "/" + name;
  };
  const Ran ran = run_sgdsim({"run", experiment("a.json", "curve.json"), "--format", "json"});
  REQUIRE(ran.exit_code == 0);
  CHECK(Json::parse(ran.out)["collective"] == "measured curve");
  CHECK(ran.out.find("beyond the curve") !=
        std::string::npos);  // GoogLeNet's largest is above 1 MiB
  CHECK(run_sgdsim({"run", experiment("b.json", "missing.json")}).exit_code == 2);
  const std::string warning = "measured among 4 ranks and is used unchanged among 512";
  CHECK(written["ranks"] == 4);
  CHECK(ran.out.find("measured among") == std::string::npos);
  const std::string large = experiment("c.json", "curve.json", 512);
  for (const char* command : {"run", "plan"}) {
    INFO(command);
    CHECK(run_sgdsim({command, large}).log.find(warning) != std::string::npos);
  }
}

TEST_CASE("fit command: the picture stands alone") {
  const Temporary page(Temporary::Kind::file);
  json_of({measurements + "nccl_a100x8.json", "--report", page.name()});
  const std::string html = read_text(page.name());
  CHECK(html.starts_with("<!DOCTYPE html>"));
  CHECK(html.ends_with("</html>\n"));
  CHECK(html.find("http://") == html.find("http://www.w3.org/2000/svg"));
  std::size_t drawings = 0;
  for (std::size_t at = html.find("<svg"); at != std::string::npos; at = html.find("<svg", at + 1))
    ++drawings;
  CHECK(drawings == 6);
  CHECK(html.find("nan") == std::string::npos);
  for (const char* label : {">1 B<", ">10 GB<", ">message size<", ">time<", "us + "})
    CHECK(html.find(label) != std::string::npos);
}

TEST_CASE("fit command: dropped lines are a warning") {
  const std::string log = read_text(std::string(SGDSIM_SOURCE_DIR) + "/tests/data/nccl_tests.log");
  const Temporary cut(Temporary::Kind::file, log.substr(0, log.find("94.71")));
  const Ran ran = run_sgdsim({"fit", cut.name()});
  CHECK(ran.exit_code == 0);
  CHECK(ran.log.find("1 line dropped") != std::string::npos);
}

// Alpha 2 us and beta 100 ps/B between nodes: a message crosses two network cards, 1 us each, and
// 1 MiB takes 2 us + 104.8576 us. The GPUs of a node keep their links.
TEST_CASE("fit command: the fitted link takes its place in a cluster of several kinds") {
  const std::string folder = "topologies/data/";
  const auto with_link = [&](const std::string& cluster, Words more) {
    more.insert(more.begin(), {"fit", own, "--from-collective", "stated", "--segments", "1",
                               "--into", folder + cluster + ".json", "--out", "-"});
    return Json::parse(run_sgdsim(more).out);
  };
  const Json one = with_link("two_rate_cluster", {"--link", "nic", "--crossings", "2"});
  CHECK(one["nic"]["latency"] == "1 us");
  CHECK(one["name"] == "two_rate_cluster_fitted");
  CHECK(one["ports"].size() == 3);
  CHECK(one["source"].get<std::string>().starts_with("Round example numbers. nic: fitted by"));
  const Temporary file(Temporary::Kind::file, one.dump());
  const Ran ran = run_sgdsim({"collective", "-a", "mst", "--op", "broadcast", "-p", "2", "-n",
                              "1 MiB", "--cluster", file.name(), "--format", "json"});
  CHECK(Json::parse(ran.out)["time_us"].get<double>() == doctest::Approx(106.8576).epsilon(1e-6));
  const Json other = with_link("two_boxes_explicit", {"--link", "nvlink", "--name", "boxes"});
  CHECK(other["links"]["nvlink"]["latency"] == "2 us");
  CHECK(other["links"]["pcie"]["latency"] == "0.5 us");
  CHECK(other["name"] == "boxes");
}

// NCCL may have used any algorithm: one can be named for it, while what states another is left out.
TEST_CASE("fit command: what a series states is kept to") {
  Json all = {{"schema", "sgdsim/measurement/1"}, {"series", Json::array()}};
  for (const char* algorithm : {"nccl", "lp"}) {
    Json series = {{"operation", "allreduce"}, {"algorithm", algorithm}, {"ranks", 2}};
    for (const int kib : {1, 2, 4, 8})
      series["points"].push_back({{"size_B", kib * 1024}, {"time_us", 4 + 1.024 * kib}});
    all["series"].push_back(series);
  }
  const Temporary file(Temporary::Kind::file, all.dump());
  const Ran ring = run_sgdsim({"fit", file.name(), "--from-collective", "ring"});
  CHECK(ring.exit_code == 0);
  CHECK(ring.log.find("it states another algorithm: lp") != std::string::npos);
  const Ran stated = run_sgdsim({"fit", file.name(), "-a", "nccl", "--from-collective", "stated"});
  CHECK(stated.exit_code == 2);
  CHECK(stated.log.find("NCCL does not state its algorithm") != std::string::npos);
}

TEST_CASE("fit command: refused with a sentence") {
  struct Row {
    Words words;
    std::string sentence;
  };
  const std::vector<Row> rows = {
      {{"README.md"}, "no measured times found"},
      {{"missing.log"}, "missing.log"},
      {{own, "--segments", "5"}, "--segments"},
      {{own, "--segments", "many"}, "--segments"},
      {{own, "--op", "alreduce"}, "allreduce"},
      {{own, "--op", "alltoall"}, "no series is left to fit"},
      {{own, "--input", "nccl"}, "nccl-tests-log"},
      {{own, "--from-collective", "rings"}, "unknown algorithm"},
      {{own, "--gamma", "1 ns/B"}, "no effect without --from-collective"},
      {{own, "--option", "gamma=overlap"}, "no effect without --from-collective"},
      {{own, "--from-collective", "ring", "-a", "ring", "--option", "lp_root=first"},
       "no effect on ring"},
      {{own, "--from-collective", "ring", "--gamma", "1"}, "unit"},
      {{own, "--holdout", "ranks=2"}, "needs --from-collective"},
      {{own, "--from-collective", "stated", "--holdout", "ranks=3"},
       "no series among 3 ranks was measured; there are: 2, 4"},
      {{own, "--from-collective", "stated", "--holdout", "ranks=2,4"}, "nothing is left to fit"},
      {{own, "-a", "ring", "--from-collective", "ring", "--gamma", "1 us/B"},
       "folding alone would take longer"},
      {{"tests/data/nccl_tests.log", "--from-collective", "stated"},
       "does not state its algorithm"},
      {{"tests/data/nccl_tests.log", "--op", "broadcast"}, "no series is left to fit"},
      {{"tests/data/nccl_tests.log", "--out", "-", "--report", "-"}, "one of them only"},
      {{own, "--holdout", "half"}, "expected sizes, none, ranks or ranks="},
      {{own, "--from-collective", "stated", "--holdout", "none", "--case", "x.json"},
       "nothing was held out"},
      {{own, "--link", "nic"}, "no effect without --into"},
      {{own, "--crossings", "2"}, "no effect without --into"},
      {{own, "--into", "x.json"}, "no effect without --from-collective"},
      {{own, "--from-collective", "stated", "--into", "x.json"}, "needs --link"},
      {{own, "--from-collective", "stated", "--into", "x.json", "--link", "nic"}, "needs --out"},
      {{own, "--from-collective", "stated", "--into", "x.json", "--link", "nic", "--out", "-"},
       "x.json"},
      {{own, "--from-collective", "stated", "--into", "topologies/data/dgx_a100_2.json", "--link",
        "nvlink", "--out", "-"},
       "gpu_link, nic, pcie"},
      {{own, "--least-size", "1 GiB"}, "no size of 1 GiB or more"},
      {{own, "--most-size", "2 B"}, "2 B is less than --least-size 4 B"},
      {{own, "--least-size", "1 GiB", "--most-size", "2 GiB"}, "no size from 1 GiB to 2 GiB"},
      {{own, "--most-size", "12"}, "--most-size: expected a size"},
      {{own, "--out", "x.json"}, "one curve goes into a file, and there are 6"},
      {{own, "-p", "0"}, "--ranks"},
      {{"tests/data/osu_allreduce.log"}, "give --ranks"},
      {{}, "FILE"},
  };
  for (const Row& row : rows) {
    INFO(row.sentence);
    Words words = row.words;
    words.insert(words.begin(), "fit");
    const Ran ran = run_sgdsim(words);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK(ran.log.find(row.sentence) != std::string::npos);
  }
}

// Two nodes of 4 GPUs with a card each. Inside: 1 us and 5 ps/B a link; a pair crosses two. Across:
// two GPU links and two cards of 20 us, bytes at the card's 80 ps/B.
constexpr double inside_us = 2 * 1;
constexpr double across_us = 2 * 1 + 2 * 20;

Json series_of(int ranks, const std::vector<int64_t>& sizes,
               const std::function<double(double)>& time_us) {
  Json points = Json::array();
  for (const int64_t size_B : sizes)
    points.push_back({{"size_B", size_B}, {"time_us", time_us(static_cast<double>(size_B))}});
  return {{"schema", "sgdsim/measurement/1"},
          {"name", "invented"},
          {"source", "invented"},
          {"backend", "host"},
          {"complete", true},
          {"series",
           {{{"operation", "allreduce"},
             {"algorithm", ranks == 4 ? "ring" : "hierarchical"},
             {"type", "float32"},
             {"ranks", ranks},
             {"points", points}}}}};
}

TEST_CASE("fit: logs inside and across nodes become a cluster of two levels in one command") {
  const std::vector<int64_t> sizes = {1 << 14, 1 << 16, 1 << 18, 1 << 20,
                                      1 << 22, 1 << 24, 1 << 26};
  // A ring of 4: 6 steps of a quarter each. The hierarchical one: 3 steps of a quarter in, a ring
  // of two nodes on each quarter (2 steps of an eighth), 3 steps out.
  const Temporary inside(Temporary::Kind::file, series_of(4, sizes, [](double n) {
                                                  return 6 * (inside_us + n / 4 * 5e-6);
                                                }).dump());
  const Temporary across(Temporary::Kind::file, series_of(8, sizes, [](double n) {
                                                  return 6 * (inside_us + n / 4 * 5e-6) +
                                                         2 * (across_us + n / 8 * 80e-6);
                                                }).dump());
  const Temporary into(Temporary::Kind::file, R"({"schema": "sgdsim/cluster/1", "name": "two",
      "shape": "single_switch", "nodes": 2, "gpus_per_node": 4, "nics_per_node": 4,
      "gpu_link": {"latency": "9 us", "bandwidth": "10 GBps"},
      "nic": {"latency": "3 us", "bandwidth": "100 GBps"}})");
  const Temporary out(Temporary::Kind::file);
  const Words words = {
      across.name(), "--inside",   inside.name(), "--from-collective", "hierarchical", "--into",
      into.name(),   "--segments", "1",           "--holdout",         "none",         "--force",
      "--out",       out.name()};
  const Json fit = json_of(words);
  CHECK(fit["played"]["max_percent"].get<double>() < 0.1);
  CHECK(fit["inside"]["played"]["max_percent"].get<double>() < 0.1);
  const Json cluster = Json::parse(read_text(out.name()));
  const auto near = [](const Json& text, double value) {
    return std::stod(text.get<std::string>()) == doctest::Approx(value).epsilon(0.01);
  };
  CHECK(near(cluster["gpu_link"]["latency"], 1));
  CHECK(near(cluster["gpu_link"]["per_byte"], 5));
  CHECK(near(cluster["nic"]["latency"], 20));
  CHECK(near(cluster["nic"]["per_byte"], 80));
  const Ran table = run_sgdsim([&] {
    Words all = words;
    all.insert(all.begin(), "fit");
    all[14] = "-";
    return all;
  }());
  CHECK(table.exit_code == 0);
  const auto refused = [&](const Words& more, const std::string& sentence) {
    Words all = {"fit", across.name(), "--from-collective", "hierarchical", "--segments", "1"};
    all.insert(all.end(), more.begin(), more.end());
    const Ran ran = run_sgdsim(all);
    INFO(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(sentence) != std::string::npos);
  };
  const Words both = {"--into", into.name(), "--link", "nic", "--out", "-"};
  const auto with = [&](Words more) {
    more.insert(more.begin(), both.begin(), both.end());
    return more;
  };
  refused({}, "hierarchical uses links inside and across nodes; name the cluster with --into");
  refused({"--inside", inside.name()}, "--inside: needs --into");
  refused(with({"--crossings", "2"}), "--crossings: has no effect here");
  refused(with({"--gamma", "1 ns/B"}), "--gamma: has no effect here");
  // The link of the GPUs at 9 us takes longer than all that was measured; one node is too small.
  refused(both, "the other links alone would take longer");
  const Temporary small(Temporary::Kind::file, R"({"shape": "single_switch", "nodes": 1,
      "gpus_per_node": 4, "gpu_link": {"latency": "1 us", "per_byte": "5 ps/B"},
      "nic": {"latency": "3 us", "bandwidth": "100 GBps"}})");
  refused({"--into", small.name(), "--link", "nic", "--out", "-"},
          "the cluster has 4 workers, and 8 were measured");
}

}  // namespace
}  // namespace sgdsim

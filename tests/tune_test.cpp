// Tuning: the best of all where all are tried, close to it where a search has to do.
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

const std::string bert = "app/experiments/bert_base_10gbe.json";
const std::string bucket =
    R"(strategy.bucket={"from": "64 KiB", "to": "1 GiB", "count": 2000, "spacing": "log"})";

Json tuned(std::vector<std::string> words) {
  words.insert(words.begin(), "tune");
  words.insert(words.end(), {"--format", "json"});
  const Ran ran = run_sgdsim(words);
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  Json json = Json::parse(ran.out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/tune/1", json).empty());
  return json;
}

TEST_CASE("tune: the strategy, where there is nothing else; never the bound") {
  const Json json = tuned({bert, "--set", "strategy=wfbp"});
  const Json plans = Json::parse(run_sgdsim({"plan", bert, "--format", "json"}).out)["plans"];
  CHECK(plans[0]["strategy"] != "optimal");
  CHECK(json["value"] == plans[0]["iteration_us"]);
  const Json with_bound =
      tuned({bert, "--set", "strategy=wfbp", "--axis", "strategy=wfbp,mg_wfbp,optimal"});
  CHECK(with_bound["best"]["strategy"] != "optimal");
  CHECK(with_bound["bound"].get<double>() <= with_bound["value"].get<double>());
  CHECK(json["method"] == "exhaustive");
  CHECK(json["evaluated"] == json["points"]);
  const Json as_it_is =
      Json::parse(run_sgdsim({"run", bert, "--set", "strategy=wfbp", "--format", "json"}).out);
  CHECK(json["before"] == as_it_is["metrics"]["iteration_us"]["mean"]);
}

TEST_CASE("tune: a search of a large range comes close to trying all, and keeps its budget") {
  const std::vector<std::string> words = {bert, "--set", "strategy=fixed_buckets", "--axis",
                                          bucket};
  auto with_most = [&](const std::string& most) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--most", most});
    return tuned(all);
  };
  const Json exhaustive = with_most("2000");
  const Json searched = with_most("200");
  CHECK(exhaustive["evaluated"] == 2000);
  CHECK(searched["method"] == "coordinates");
  CHECK(searched["evaluated"] <= 200);
  const double best = exhaustive["value"];
  const double found = searched["value"];
  CHECK(found >= best);
  CHECK(found <= 1.005 * best);  // buckets that just fit make many small valleys
  CHECK(with_most("5")["evaluated"] <= 5);
}

// Neither more latency nor more nodes ever shorten an iteration: the best corner is known.
TEST_CASE("tune: several axes, numbers and names") {
  const Json json =
      tuned({bert, "--minimize", "metrics.iteration_us", "--most", "100", "--axis",
             R"(cluster.nic.latency={"from": "1 us", "to": "100 us", "step": "1 us"})", "--axis",
             R"(cluster.nodes={"from": 2, "to": 256, "step": 1})", "--axis",
             "strategy=naive,sync_easgd"});
  CHECK(json["best"]["cluster.nic.latency"] == "1 us");
  CHECK(json["best"]["cluster.nodes"] == 2);
  CHECK(json["evaluated"] <= 100);
  CHECK(json["points"] == 100 * 255 * 2);
}

TEST_CASE("tune: never answers with less than what stands, and says so") {
  // Nothing that merges is slower than everything in one message after the backward pass.
  const std::vector<std::string> words = {bert, "--set", "strategy=optimal", "--axis",
                                          "strategy=naive,sync_easgd"};
  const Json json = tuned(words);
  CHECK(json["best"] == Json::object());
  CHECK(json["value"] == json["before"]);
  std::vector<std::string> as_table = words;
  as_table.insert(as_table.begin(), "tune");
  CHECK(run_sgdsim(as_table).out.starts_with(
      "Nothing that was tried is better than the experiment as it stands.\n"));
}

// A trace stands on no cluster: there is nothing before. An experiment keeps its own beside an axis
// of others, and one value with other samples is compared with it by samples a second.
TEST_CASE("tune: before is the experiment as it stands, not a value of an axis") {
  CHECK(tuned({"resnet50_v100", "--axis", "cluster=10gbe_16,100gbe_16"})["before"].is_null());
  const auto metrics_of = [](std::vector<std::string> words) {
    words.insert(words.begin(), "run");
    words.insert(words.end(), {"--format", "json"});
    return Json(Json::parse(run_sgdsim(words).out)["metrics"]);
  };
  const Json own = tuned({bert, "--axis", "cluster=25gbe_16,100gbe_16"});
  CHECK(own["best"]["cluster"] == "100gbe_16");
  CHECK(own["before"] == metrics_of({bert})["iteration_us"]["mean"]);
  const std::vector<std::string> resnet = {"resnet50_v100", "-c", "10gbe_16"};
  const Json more = tuned({"resnet50_v100", "-c", "10gbe_16", "--axis", "cluster.nodes=64"});
  CHECK(more["is_by_samples"] == true);
  CHECK(more["best"]["cluster.nodes"] == 64);
  CHECK(more["before"] == metrics_of(resnet)["throughput_samples_per_s"]);
}

TEST_CASE("tune: sizes can be read") {
  const Ran ran = run_sgdsim(
      {"tune", bert, "--set", "strategy=ddp", "--axis", "strategy.bucket=19105703 B,20971520 B"});
  const bool is_readable = ran.out.find("18.2 MiB (19105703 B)") != std::string::npos ||
                           ran.out.find("20 MiB (20971520 B)") != std::string::npos;
  CHECK(is_readable);
}

TEST_CASE("best of a sweep: one group is not several") {
  const Ran ran =
      run_sgdsim({"sweep", "resnet50_v100", "-c", "25gbe_16", "--axis", "cluster.nodes=2,4",
                  "--minimize", "metrics.iteration_us", "--over", "cluster.nodes"});
  CHECK(ran.out.find("The best of 2 points, in 1 group.\n") != std::string::npos);
}

TEST_CASE("tune: another objective, and one that there is not") {
  const Json json =
      tuned({bert, "--axis", "cluster.nodes=2..64", "--minimize", "metrics.comm_total_us"});
  CHECK(json["best"]["cluster.nodes"] == 2);
  const Ran ran = run_sgdsim({"tune", bert, "--minimize", "metrics.speedupp"});
  CHECK(ran.exit_code == 2);
  CHECK(
      ran.log.starts_with("sgdsim: --minimize: unknown column \"metrics.speedupp\" (did you mean "
                          "\"metrics.speedup\"?)"));
}

}  // namespace
}  // namespace sgdsim

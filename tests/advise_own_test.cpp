// Changes of one's own stand with those of the list that change the same.
#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "tests/json_of_run.h"
#include "tests/run_program.h"

namespace sgdsim::advise_own {
namespace {

std::vector<std::string> words_to_try(const std::vector<std::string>& own) {
  std::vector<std::string> words = {"advise", "resnet50_v100", "-c", "25gbe_16"};
  for (const std::string& one : own) words.insert(words.end(), {"--try", one});
  return words;
}

Json advice_with(const std::vector<std::string>& own) {
  std::vector<std::string> words = words_to_try(own);
  words.insert(words.end(), {"--format", "json"});
  return json_of_run(words);
}

Json line_named(const Json& advice, const std::string& change) {
  for (const Json& line : advice["lines"])
    if (line["change"] == change) return line;
  FAIL("no line " << change);
  return {};
}

// The same network, of which each step has twice the samples and takes as long.
Json with_twice_the_batch() {
  Json trace = Document::read(SGDSIM_SOURCE_DIR "/traces/data/resnet50_v100.json").root().json();
  trace["batch"] = 2 * trace["batch"].get<int64_t>();
  return trace;
}

}  // namespace

TEST_CASE("advise: a change of one's own is what the same change of the list is") {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"cluster.nodes=32", "twice the nodes"},
      {"cluster.nic.bandwidth=50Gbps", "twice the bandwidth of nic"},
      {"compression=quantize8", "gradients in 8 bits"},
      {"synchronization=pipe_sgd; strategy=sync_easgd", "sums one iteration late (Pipe-SGD)"},
      {"strategy=mg_wfbp", "merging by the rule of MG-WFBP"},
      {"strategy.bucket=10 MiB", "DDP, buckets of 10 MiB"},
      {"collective=be", "all-reduce by be"},
      {"trace.compute_scale=0.5", "GPUs twice as fast"},
      {"strategy=optimal", "bound: the best merging there is"}};
  std::vector<std::string> own;
  for (const auto& [change, same] : pairs) own.push_back(change);
  const Json advice = advice_with(own);
  for (const auto& pair : pairs) {
    CAPTURE(pair.first);
    const Json line = line_named(advice, pair.first);
    const Json known = line_named(advice, pair.second);
    for (const char* field : {"kinds", "gain_percent", "alters_learning", "needs_hardware"})
      CHECK(line[field] == known[field]);
    for (const char* field : {"interval_percent", "is_bound", "how"})
      CHECK(line.value(field, Json()) == known.value(field, Json()));
  }
}

TEST_CASE("advise: kinds of changes of one's own follow from what they set") {
  const Json advice =
      advice_with({"cluster.gpus_per_node=2; cluster.gpu_link={\"latency\":\"1 us\","
                   "\"bandwidth\":\"100 GBps\"}",
                   "cluster.network=tcp", "strategy=p3; cluster.nic.latency=1 us",
                   "compression=truncate16; cluster.nodes=8; seed=2", "seed=3"});
  const auto kinds = [&](const std::string& change) { return line_named(advice, change)["kinds"]; };
  CHECK(kinds("cluster.gpus_per_node=2; cluster.gpu_link={\"latency\":\"1 us\",\"bandwidth\":"
              "\"100 GBps\"}") == Json::array({"hardware"}));
  CHECK(kinds("cluster.network=tcp") == Json::array({"own"}));
  CHECK(kinds("seed=3") == Json::array({"own"}));
  const Json two = line_named(advice, "strategy=p3; cluster.nic.latency=1 us");
  CHECK(two["kinds"] == Json::array({"strategy", "latency"}));
  CHECK(two["needs_hardware"] == true);
  const Json three = line_named(advice, "compression=truncate16; cluster.nodes=8; seed=2");
  CHECK(three["needs_hardware"] == true);
  CHECK(three["alters_learning"] == true);
  CHECK_FALSE(three.contains("interval_percent"));  // of seeds nothing was measured
}

// Four times the nodes would win if they could be set.
TEST_CASE("advise: what has to be bought or alters learning is not the best setting") {
  const Ran with = call_sgdsim(
      words_to_try({"cluster.nodes=64", "compression={\"name\":\"topk\",\"density\":0.001}"}));
  const Ran without = call_sgdsim(words_to_try({}));
  REQUIRE(with.exit_code == 0);
  const auto verdict = [](const std::string& text) {
    const std::size_t end = text.find("\nNothing is surely");
    const std::size_t best = std::min(end, text.find("\nThe best setting"));
    REQUIRE(best != std::string::npos);
    return text.substr(best);
  };
  CHECK(verdict(with.out) == verdict(without.out));
  CHECK(with.out.find("cluster.nodes=64") > with.out.find("\nother hardware"));
}

TEST_CASE("advise: gains count the samples of both traces") {
  const Temporary twice(Temporary::Kind::file, with_twice_the_batch().dump());
  Json unknown = with_twice_the_batch();
  unknown.erase("batch");
  const Temporary unsaid(Temporary::Kind::file, unknown.dump());
  const Json advice = advice_with({"trace=" + twice.name(), "trace=" + unsaid.name(),
                                   "trace=" + twice.name() + "; cluster.nodes=32"});
  // The step takes as long: twice the samples in the same time.
  CHECK(line_named(advice, "trace=" + twice.name())["gain_percent"].get<double>() ==
        doctest::Approx(100));
  CHECK(line_named(advice, "trace=" + unsaid.name())["gain_percent"].get<double>() ==
        doctest::Approx(0));
  const double nodes =
      1 + line_named(advice, "twice the nodes")["gain_percent"].get<double>() / 100;
  CHECK(line_named(advice, "trace=" + twice.name() + "; cluster.nodes=32")["gain_percent"]
            .get<double>() == doctest::Approx(100 * (2 * nodes - 1)));
}

// A training of so many samples has half as many steps, and here no failure costs more than that.
TEST_CASE("advise: a training with larger batches has fewer steps") {
  const Temporary twice(Temporary::Kind::file, with_twice_the_batch().dump());
  std::vector<std::string> words = words_to_try({"trace=" + twice.name()});
  const Json question = {
      {"steps", 1'000'000}, {"failures", "llama3_h100"}, {"save", {{"stall", "1 min"}}}};
  words.insert(words.end(), {"--goodput", question.dump(), "--format", "json"});
  const Json line = line_named(json_of_run(words), "trace=" + twice.name());
  CHECK(line["end"]["command"].get<std::string>().find("steps=500000") != std::string::npos);
  CHECK(line["days_saved"].get<double>() ==
        doctest::Approx(line["end"]["days"].get<double>()).epsilon(0.05));
}

}  // namespace sgdsim::advise_own

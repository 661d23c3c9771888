// Settings: what `--set path=value` changes.
#include "study/step/override.h"

#include <doctest/doctest.h>

#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim {

TEST_CASE("settings: of two names of one thing the one that is set replaces the other") {
  Json json = Json::parse(R"({"nic": {"latency": "1 us", "per_byte": "1 ns/B"}, "bandwidth": 1})");
  apply_settings(json, {"nic.bandwidth=10 Gbps"});
  CHECK(json["nic"] == Json{{"latency", "1 us"}, {"bandwidth", "10 Gbps"}});
  apply_settings(json, {"nic.per_byte=2 ns/B"});
  CHECK(json["nic"] == Json{{"latency", "1 us"}, {"per_byte", "2 ns/B"}});
  CHECK(json["bandwidth"] == 1);
}

TEST_CASE("settings: both names in one value are still refused, by the reader") {
  Json json = Json::parse(R"({"nic": {}})");
  apply_settings(json, {R"(nic={"bandwidth": "1 Gbps", "per_byte": "1 ns/B"})"});
  CHECK(json["nic"].size() == 2);
}

TEST_CASE("settings: fields of the strategy that there is without a name") {
  Json json = Json::object();
  apply_settings(json, {"strategy.bucket=1 MiB"});
  CHECK(json["strategy"] == Json{{"name", "ddp"}, {"bucket", "1 MiB"}});
  json = Json::object();
  apply_settings(json, {"strategy.name=p3"});
  CHECK(json["strategy"] == Json{{"name", "p3"}});
}

TEST_CASE("settings: whole objects first, then what is in them") {
  CHECK(outer_first({"a.b.c=1", "d=2.5.1", "a.b=3", "a.b.c=4", "=x", "no"}) ==
        std::vector<std::string>{"a.b=3", "a.b.c=1", "d=2.5.1", "a.b.c=4", "=x", "no"});
  CHECK(outer_first({"a.b=1", "a=null"}) == std::vector<std::string>{"a.b=1", "a=null"});
  CHECK(outer_first({"a.b.c=1", "a.b=2", "a=3"}) ==
        std::vector<std::string>{"a=3", "a.b=2", "a.b.c=1"});
  // What is removed ends that.
  CHECK(outer_first({"a.b=1", "a=null", "a=2", "a.c=3"}) ==
        std::vector<std::string>{"a.b=1", "a=null", "a=2", "a.c=3"});
  CHECK(on_top({"c.name=x", "c.d=1", "s=1", "cc.d=1"}, {"c=y", "s=2", "d.e=1"}) ==
        std::vector<std::string>{"c.name=x", "c.d=1", "s=1", "cc.d=1", "c=null", "c=y", "s=2",
                                 "d.e=1"});
  // A path of 50,000 names takes memory for itself, not for each of what is around it.
  std::string deep;
  for (int i = 0; i < 50'000; ++i) deep += "a.";
  const Ran ran = run_sgdsim({"run", "app/experiments/googlenet_k80.json", "--set", deep + "b=1"});
  CHECK(ran.exit_code == 2);
#ifndef SGDSIM_SANITIZED  // sanitizers keep what was freed
  CHECK(ran.most_memory_B < 500'000'000);
#endif
  Json json = Json::object();
  apply_settings(json, {"strategy.bucket=1 MiB", R"(strategy={"name": "ddp"})"});
  CHECK(json["strategy"] == Json{{"name", "ddp"}, {"bucket", "1 MiB"}});
}

// A setting may name another file, and the next one a field of what stands there.
TEST_CASE("settings: one that names a file, and one below it") {
  const auto iteration_of = [](const std::vector<std::string>& settings) {
    std::vector<std::string> words = {"run", "app/experiments/googlenet_k80.json", "--format",
                                      "json"};
    for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
    const Ran ran = run_sgdsim(words);
    INFO(ran.log);
    CHECK(ran.exit_code == 0);
    return Json::parse(ran.out)["iteration_ps"].get<int64_t>();
  };
  const std::string cluster = "cluster=" SGDSIM_SOURCE_DIR "/topologies/data/gtopk_1gbe_32.json";
  const std::string nodes = "cluster.nodes=4";
  CHECK(iteration_of({cluster, nodes}) != iteration_of({cluster}));
  CHECK(iteration_of({nodes, cluster}) == iteration_of({cluster, nodes}));  // the whole first
  const Ran whole =
      run_sgdsim({"run", "app/experiments/googlenet_k80.json", "-c",
                  "topologies/data/gtopk_1gbe_32.json", "--set", nodes, "--format", "json"});
  CHECK(Json::parse(whole.out)["iteration_ps"] == iteration_of({cluster, nodes}));
}

}  // namespace sgdsim

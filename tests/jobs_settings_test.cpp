// `sgdsim jobs --set`: what settings change where parts of a jobs file are paths.
#include <doctest/doctest.h>

#include "tests/jobs_cases.h"
#include "tests/run_program.h"

using namespace sgdsim;

// The cluster, the traffic and an experiment may be paths: a setting below one changes what its
// file says, as in `run --set`.
TEST_CASE("jobs: settings below a path") {
  const Temporary folder(Temporary::Kind::folder);
  const auto put = [&](const std::string& name, const Json& json) {
    const std::string file = folder.name() + "/" + name;
    run_shell_line("cat > " + file + " <<'END'\n" + json.dump() + "\nEND");
    return file;
  };
  const Json flows = {
      {"flows", {{"generator", "listed"}, {"list", {{{"from", 1}, {"to", 3}, {"size", "1 KB"}}}}}}};
  Json inside = {{"cluster", racks}, {"jobs", Json::array({job("0,2")})}, {"traffic", flows}};
  Json outside = inside;
  put("racks.json", racks);
  put("flows.json", flows);
  put("one.json", one_layer);
  outside["cluster"] = "racks.json";
  outside["traffic"] = "flows.json";
  outside["jobs"][0]["experiment"] = "one.json";
  const std::string whole = put("inside.json", inside);
  const std::string paths = put("outside.json", outside);
  const auto answer_of = [](const std::string& file, const std::vector<std::string>& settings) {
    std::vector<std::string> words = {"jobs", file, "--format", "json"};
    for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
    const Ran ran = run_sgdsim(words);
    INFO(ran.log);
    CHECK(ran.exit_code == 0);
    Json json = Json::parse(ran.out);
    json.erase("name");
    return json;
  };
  const Json plain = answer_of(whole, {});
  CHECK(answer_of(paths, {}) == plain);
  for (const std::vector<std::string>& settings : std::vector<std::vector<std::string>>{
           {"cluster.nic.latency=7 us"},
           {"cluster.nic.per_byte=2 ns/B", "cluster.uplink.latency=3 us"},
           {"traffic.flows.list.0.size=1 MB"},
           {"jobs.0.experiment.iterations=2"},
           {"jobs.0.experiment.trace.layers.0.forward=1 ms", "cluster.nic.latency=2 us"}}) {
    INFO(settings.front());
    const Json changed = answer_of(whole, settings);
    CHECK(changed["jobs"] != plain["jobs"]);
    CHECK(answer_of(paths, settings) == changed);
  }
  // One that names another file, and one that changes it.
  Json far = racks;
  far["uplink"]["latency"] = "50 us";
  put("far.json", far);
  CHECK(answer_of(paths, {"cluster=far.json", "cluster.nic.latency=7 us"}) ==
        answer_of(whole, {"cluster.uplink.latency=50 us", "cluster.nic.latency=7 us"}));
  CHECK(answer_of(paths, {"cluster.nic.latency=7 us", "cluster=far.json"}) ==
        answer_of(paths, {"cluster=far.json", "cluster.nic.latency=7 us"}));  // the whole first
  // What a job's own `set` has within an object goes with it.
  const auto with_own = [&](const Json& set) {
    Json own = outside;
    own["jobs"][0]["set"] = set;
    return answer_of(put("own.json", own), {"jobs.0.experiment.strategy=wfbp"});
  };
  CHECK(with_own({"strategy.name=ddp", "strategy.bucket=1 MiB", "iterations=4"}) ==
        with_own({"iterations=4"}));
  // What the file refuses is refused with its name, and a file that is not there, too.
  for (const auto& [setting, part] : std::vector<std::pair<std::string, std::string>>{
           {"cluster.nodes=x", "--set cluster.nodes=x: expected a whole number"},
           {"cluster.nic.speed=1", "unknown field \"speed\""},
           {"jobs.0.experiment.iterations=0", "/iterations: expected a whole number"}}) {
    const Ran ran = run_sgdsim({"jobs", paths, "--set", setting});
    INFO(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(part) != std::string::npos);
  }
}

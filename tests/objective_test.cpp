// The least or the most of a column: the same points as those of the lines, and columns that are
// no numbers.
#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <string>
#include <vector>

#include "app/schema_check.h"
#include "tests/json_lines.h"
#include "tests/json_of_run.h"
#include "tests/run_program.h"

namespace sgdsim::objective {
namespace {

using Words = std::vector<std::string>;

const std::string k80 = SGDSIM_SOURCE_DIR "/app/experiments/googlenet_k80.json";
const std::string throughput = "metrics.throughput_samples_per_s";

Ran sweep_with(const Words& more) {
  Words words = {"sweep",
                 k80,
                 "-q",
                 "--axis",
                 "cluster.nodes=2..32",
                 "--axis",
                 "strategy=naive,wfbp,mg_wfbp,optimal"};
  words.insert(words.end(), more.begin(), more.end());
  return call_sgdsim(words);
}

Json tuned(const Words& more) {
  Words words = {"tune", k80, "--format", "json"};
  words.insert(words.end(), more.begin(), more.end());
  Json json = json_of_run(words);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/tune/1", json).empty());
  return json;
}

}  // namespace

TEST_CASE("sweep: the most of a column is the largest of its lines, beside the bound") {
  std::map<std::string, double> most, bounds;
  for (const Json& line : json_lines(sweep_with({}).out)) {
    const bool is_bound = line["strategy"] == "optimal";
    double& value = (is_bound ? bounds : most)[line["axes"]["cluster.nodes"].dump()];
    value = std::max(value, line["metrics"]["throughput_samples_per_s"].get<double>());
  }
  const Json best = Json::parse(sweep_with({"--maximize", throughput, "--format", "json"}).out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/best/1", best).empty());
  CHECK(best["objective"] == throughput);
  REQUIRE(best["groups"].size() == most.size());
  for (const Json& group : best["groups"]) {
    const std::string nodes = group["axes"]["cluster.nodes"].dump();
    CAPTURE(nodes);
    CHECK(group["value"].get<double>() == doctest::Approx(most.at(nodes)).epsilon(2e-6));
    CHECK(group["bound_value"] == bounds.at(nodes));
    if (group.contains("next")) CHECK(group["next"].get<double>() < group["value"].get<double>());
  }
  const Temporary folder(Temporary::Kind::folder);
  const std::string picture = folder.name() + "/best.svg";
  CHECK(sweep_with({"--maximize", throughput, "--picture", picture}).exit_code == 0);
  CHECK(read_text(picture).find(": the largest of each cell") != std::string::npos);
}

TEST_CASE("tune: the most of a column, where all are tried and where a search has to do") {
  // More nodes train more samples a second and use each of them less.
  const Json all = tuned({"--axis", "cluster.nodes=2,4,64", "--maximize", throughput});
  CHECK(all["best"]["cluster.nodes"] == 64);
  const Json one = json_of_run({"run", k80, "--set", "cluster.nodes=64", "--format", "json"});
  CHECK(all["value"] == one["metrics"]["throughput_samples_per_s"]);
  const Json now = json_of_run({"run", k80, "--format", "json"});
  CHECK(all["before"] == now["metrics"]["throughput_samples_per_s"]);
  CHECK(tuned({"--axis", "cluster.nodes=2,4,64", "--maximize",
               "metrics.efficiency"})["best"]["cluster.nodes"] == 2);
  const Json searched =
      tuned({"--axis", "cluster.nodes=2..400:1", "--most", "60", "--maximize", throughput});
  CHECK(searched["method"] == "coordinates");
  CHECK(searched["best"]["cluster.nodes"] == 400);
  const Json none = tuned({"--axis", "cluster.nodes=2,4", "--maximize", throughput});
  CHECK(none["best"] == Json::object());  // 16 nodes, as it stands, train more
  CHECK(none["value"] == now["metrics"]["throughput_samples_per_s"]);
  const Json bound = tuned({"--axis", "strategy=wfbp,optimal", "--maximize", "metrics.speedup"});
  CHECK(bound["best"].value("strategy", "wfbp") == "wfbp");
  CHECK(bound["bound"].get<double>() >= bound["value"].get<double>());
}

TEST_CASE("objectives that are no numbers, or better the other way round, are refused") {
  const std::vector<std::pair<Words, std::string>> wrong = {
      {{"--minimize", "id"}, "--minimize: id is no number; expected one of "},
      {{"--minimize", "warnings"}, "--minimize: warnings is no number"},
      {{"--maximize", "fidelity"}, "--maximize: fidelity is no number"},
      {{"--minimize", throughput}, "or --maximize " + throughput},
      {{"--maximize", "total_ps"}, "say --minimize total_ps"},
      {{"--maximize", throughput, "--minimize", "total_ps"}, "give one of them"},
      {{"--over", "strategy"}, "without --minimize or --maximize"},
      {{"--minimize", "total_ps", "--picture", "best.png"}, "--picture: expected a name that ends"},
      {{"--minimize", "total_ps", "--picture", "best.pdf"}, "in .svg, got \"best.pdf\""}};
  for (const auto& row : wrong) {
    CAPTURE(row.second);
    const Ran ran = sweep_with(row.first);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find(row.second) != std::string::npos);
  }
  const Ran numbers = sweep_with({"--minimize", "id"});
  CHECK(numbers.log.find("metrics.iteration_us") != std::string::npos);
  CHECK(numbers.log.find("fidelity") == std::string::npos);
  CHECK(sweep_with({"--minimize", "cluster.nodes"}).exit_code == 0);
}

TEST_CASE("objectives: samples that nobody knows, and columns that only some points have") {
  const std::string bert = SGDSIM_SOURCE_DIR "/app/experiments/bert_base_10gbe.json";
  const Ran none =
      call_sgdsim({"tune", bert, "--axis", "strategy=wfbp,ddp", "--maximize", throughput});
  CHECK(none.exit_code == 2);
  CHECK(none.log.find("the trace states no batch") != std::string::npos);
  CHECK(tuned({"--axis", "strategy=wfbp,ddp", "--maximize", throughput})["value"] > 0);
  // In closed form there are no messages; the first point may be one or the other.
  for (const char* fidelities : {"closed_form,message", "message,closed_form"}) {
    const Ran ran = call_sgdsim({"sweep", k80, "-q", "--set", "cluster.nodes=4", "--axis",
                                 "fidelity=" + std::string(fidelities), "--columns",
                                 "fidelity,metrics.messages"});
    CHECK_MESSAGE(ran.exit_code == 0, ran.log);
  }
  CHECK(call_sgdsim({"sweep", k80, "-q", "--axis", "fidelity=closed_form", "--columns",
                     "fidelity,metrics.messages"})
            .exit_code == 2);
}

TEST_CASE("tune: one objective, and settings that an axis takes back") {
  const Ran both = call_sgdsim({"tune", k80, "--axis", "cluster.nodes=2,4", "--minimize",
                                "metrics.iteration_us", "--maximize", throughput});
  CHECK(both.log.find("give one of them") != std::string::npos);
  const Ran within =
      call_sgdsim({"tune", k80, "--set", "strategy.bucket=1MB", "--axis", "strategy=wfbp,ddp"});
  CHECK(within.exit_code == 2);
  const Ran named = call_sgdsim({"tune", k80, "--set", "strategy=ddp", "--set",
                                 "strategy.bucket=1MB", "--axis", "strategy=wfbp,ddp"});
  CHECK(named.log.find("--axis replaces all of strategy") != std::string::npos);
  CHECK(call_sgdsim({"tune", k80, "--set", "strategy=ddp", "--axis", "strategy=wfbp,ddp"})
            .exit_code == 0);
}

TEST_CASE("tune: a bound alone is no answer, and that is what is said") {
  const Ran ran = call_sgdsim({"tune", k80, "--axis", "strategy=optimal"});
  CHECK(ran.exit_code == 2);
  CHECK(ran.log.find("bounds, which no program simulates") != std::string::npos);
  CHECK(ran.log.find("no point has a result") == std::string::npos);
}

}  // namespace sgdsim::objective

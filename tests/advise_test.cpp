// Advice: every line is what its command gives, the best is the best there is, and the intervals
// are what the cases that ship were off.
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <filesystem>
#include <map>

#include "app/advise/measured_errors.h"
#include "sim/core/error.h"
#include "tests/run_program.h"
#include "tests/source_tree.h"

using namespace sgdsim;

namespace {

Json json_of(const std::vector<std::string>& words) {
  const Ran ran = run_sgdsim(words);
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  return Json::parse(ran.out);
}

std::vector<CaseFile> shipped_cases() {
  std::vector<CaseFile> cases;
  for (const char* folder : {"models/strategy/data", "models/collective/data"})
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(SGDSIM_SOURCE_DIR "/") + folder)) {
      const Document document = Document::read(entry.path().string());
      if (document.root().json().value("schema", "") == case_schema)
        cases.push_back(read_case(document.root()));
    }
  return cases;
}

const std::string dense = "topologies/data/10gbe_16.json";

}  // namespace

TEST_CASE("advise: errors of ratios are those of the cases that ship") {
  const std::vector<CaseFile> cases = shipped_cases();
  REQUIRE(cases.size() >= 15);
  for (const ChangeKind kind : {ChangeKind::strategy, ChangeKind::buckets, ChangeKind::algorithm,
                                ChangeKind::bandwidth, ChangeKind::nodes}) {
    CAPTURE(name_of(kind));
    const MeasuredErrors computed = errors_of_ratios(cases, kind);
    const MeasuredErrors* known = measured_errors(kind);
    REQUIRE(known != nullptr);
    CHECK(computed.pairs >= 10);
    CHECK(known->pairs == computed.pairs);
    CHECK(std::abs(known->p90 - computed.p90) <= 0.00005);
  }
  for (const ChangeKind kind : {ChangeKind::compression, ChangeKind::staleness, ChangeKind::compute,
                                ChangeKind::latency, ChangeKind::own})
    CHECK(measured_errors(kind) == nullptr);
}

// By hand: of two rows that are 10 % too long and 10 % too short, the ratio is off by 11/9.
TEST_CASE("advise: the error of a ratio, by hand") {
  CaseFile file;
  file.file = file.suite = "ddp_gloo_curve";
  const auto add = [&](const char* strategy, int64_t predicted_ms, int64_t measured_ms,
                       RowUse use) {
    CaseRow row;
    row.inputs = {{"set", Json::array({"trace=a", strategy})}};
    row.use = use;
    row.measured = Duration::ms(measured_ms);
    row.predict = [predicted_ms] { return Prediction{Duration::ms(predicted_ms), ""}; };
    file.rows.push_back(std::move(row));
  };
  add("strategy.bucket=1 MiB", 110, 100, RowUse::held);
  add("strategy.bucket=2 MiB", 180, 200, RowUse::held);
  add("strategy.bucket=3 MiB", 900, 300, RowUse::fitted);
  const MeasuredErrors errors = errors_of_ratios({&file, 1}, ChangeKind::buckets);
  CHECK(errors.pairs == 1);
  CHECK(errors.p90 == doctest::Approx(11.0 / 9 - 1));
  CHECK(errors_of_ratios({&file, 1}, ChangeKind::nodes).pairs == 0);
}

TEST_CASE("advise: every line's command gives the line's figure, and the first is the best") {
  const std::vector<std::vector<std::string>> questions = {
      {"traces/data/googlenet_k80.json", "-c", dense},
      {"traces/data/bert_base_asc.json", "-c", "topologies/data/cloud_v100_25gbe.json",
       "--fidelity", "closed_form", "--set", "strategy=ddp", "--try",
       "strategy=p3; trace.compute_scale=0.25"},
      {"traces/data/resnet50_v100.json", "-c", "topologies/data/gtopk_1gbe_32.json", "--fidelity",
       "closed_form", "--set", "compression=truncate16"}};
  for (const auto& question : questions) {
    CAPTURE(question.front());
    std::vector<std::string> words = {"advise", "--format", "json"};
    words.insert(words.end(), question.begin(), question.end());
    const Json advice = json_of(words);
    double before = 1e300;
    double best = 0;
    for (const Json& line : advice["lines"]) {
      CAPTURE(line["change"]);
      const Ran ran = run_shell_line(line["command"].get<std::string>() + " --format json");
      REQUIRE(ran.exit_code == 0);
      const Json result = Json::parse(ran.out);
      CHECK(result["metrics"]["iteration_us"]["mean"].get<double>() ==
            doctest::Approx(line["iteration_us"].get<double>()).epsilon(1e-9));
      CHECK(result["metrics"]["comm_exposed_us"] == line["exposed_us"]);
      const double gain = line["gain_percent"].get<double>();
      CHECK(gain <= before);
      before = gain;
      // Samples a second, of those now; every worker has the same batch.
      const double factor =
          result["workers"].get<double>() / advice["now"]["workers"].get<double>() *
          advice["now"]["iteration_us"].get<double>() / line["iteration_us"].get<double>();
      CHECK(gain == doctest::Approx(100 * (factor - 1)).epsilon(1e-6));
      best = std::max(best, gain);
    }
    CHECK(advice["lines"][0]["gain_percent"].get<double>() == best);
    CHECK(advice["lines"].size() >= 20);
  }
}

// Repository HKBU-HPML/ddl-benchmarks, 8 GPUs: four methods on three networks, as measured, with
// what one all-reduce costs there.
TEST_CASE("advise: four methods on 8 GPUs are ranked as they were measured") {
  int right = 0;
  int pairs = 0;
  for (const char* network : {"10gbe", "100gbe", "ib"}) {
    const Json file = Document::read(std::string(SGDSIM_SOURCE_DIR "/models/strategy/data/") +
                                     "ddl_benchmarks_" + network + ".json")
                          .root()
                          .json();
    std::string collective;
    std::map<std::string, double> measured;
    for (const Json& row : file["measured"]) {
      if (row["set"][0] != "cluster.nodes=8") continue;
      collective = row["set"][1];
      measured[row["set"][2]] = std::stod(row["time"].get<std::string>());
    }
    REQUIRE(measured.size() == 4);
    const Json advice =
        json_of({"advise", "models/strategy/data/ddl_benchmarks_resnet50.json", "-c", dense,
                 "--set", "cluster.nodes=8", "--set", collective, "--format", "json"});
    std::map<std::string, double> predicted;
    for (const Json& line : advice["lines"])
      if (!line["settings"].empty()) predicted[line["settings"][0]] = line["iteration_us"];
    // No strategy was asked for: as it is, it is WFBP.
    predicted["strategy=wfbp"] = advice["now"]["iteration_us"];
    for (const auto& [one, time] : measured)
      for (const auto& [other, other_time] : measured) {
        if (one >= other) continue;
        ++pairs;
        right += (time < other_time) == (predicted.at(one) < predicted.at(other)) ? 1 : 0;
      }
  }
  CHECK(pairs == 18);
  CHECK(right >= 15);  // 80 %; 17 of 18 when this was written
}

TEST_CASE("advise: what cannot be is said") {
  const auto log_of = [](std::vector<std::string> words) {
    words.insert(words.begin(), "advise");
    const Ran ran = run_sgdsim(words);
    return std::to_string(ran.exit_code) + " " + ran.log;
  };
  const std::string trace = "traces/data/googlenet_k80.json";
  CHECK(log_of({trace}) ==
        "2 sgdsim: " + trace + ": is a trace: name a cluster with --cluster, or an experiment\n");
  CHECK(log_of({trace, "-c", dense, "--fidelity", "exact"}).starts_with("2 sgdsim: --fidelity"));
  CHECK(log_of({trace, "-c", trace}).starts_with("2 sgdsim: " + trace));
  CHECK(log_of({trace, "-c", dense, "--lines", "0"}).starts_with("2 sgdsim: --lines"));
  // A change that cannot be played is named with the reason, and the others stand.
  const Json advice = json_of({"advise", trace, "-c", dense, "--fidelity", "closed_form", "--try",
                               "strategy=nothing", "--format", "json"});
  bool found = false;
  for (const Json& one : advice["left_out"])
    found = found || (one["change"] == "strategy=nothing" &&
                      one["why"].get<std::string>().find("unknown strategy") != std::string::npos);
  CHECK(found);
}

// Of a bucket of one's own, the other way is without it: 25 MiB again.
TEST_CASE("advise: a strategy as it comes is without sizes of one's own") {
  const Json advice = json_of({"advise", "traces/data/resnet50_v100.json", "-c", dense, "--set",
                               R"(strategy={"name":"ddp","bucket":"5 MiB"})", "--format", "json"});
  const Ran plain = run_sgdsim({"run", "traces/data/resnet50_v100.json", "-c", dense, "--set",
                                "strategy=ddp", "--fidelity", "closed_form", "--format", "json"});
  REQUIRE(plain.exit_code == 0);
  bool found = false;
  for (const Json& line : advice["lines"])
    found = found || (line["kinds"] == Json::array({"buckets"}) &&
                      line["iteration_ps"] == Json::parse(plain.out)["iteration_ps"]);
  CHECK(found);
}

// One layer that takes 1 ms, and nothing to exchange: nothing helps.
TEST_CASE("advise: where nothing is exchanged, no setting is better") {
  const Temporary trace(Temporary::Kind::file, R"({"schema": "sgdsim/trace/1", "name": "alone",
    "layers": [{"name": "a", "parameters": 0, "forward": "0 ms", "backward": "1 ms"}]})");
  for (const char* fidelity : {"closed_form", "message", "flow", "packet"}) {
    INFO(fidelity);
    const Ran ran = run_sgdsim({"advise", trace.name(), "-c", dense, "--fidelity", fidelity});
    CHECK(ran.log == "");
    CHECK(ran.exit_code == 0);
    CHECK(ran.out.find("No setting is better than what it has.") != std::string::npos);
    const Ran step =
        run_sgdsim({"run", trace.name(), "-c", dense, "--fidelity", fidelity, "--format", "json"});
    REQUIRE(step.exit_code == 0);
    CHECK(Json::parse(step.out)["iteration_ps"] == 1'000'000'000);
  }
}

TEST_CASE("advise: a log of the cluster, and one file for all commands") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string base = folder.name() + "/it's base.json";
  const Json advice = json_of({"advise", "traces/data/resnet50_v100.json", "-c", dense, "--fit",
                               "tests/data/nccl_tests.log", "--out", base, "--format", "json"});
  CHECK(advice["now"]["collective"] == "measured curve");
  for (const Json& line : advice["lines"])
    for (const Json& kind : line["kinds"]) CHECK(kind != "algorithm");
  const Ran ran =
      run_shell_line(advice["lines"][0]["command"].get<std::string>() + " --format json");
  REQUIRE(ran.exit_code == 0);
  CHECK(Json::parse(ran.out)["iteration_ps"] == advice["lines"][0]["iteration_ps"]);
  // A file that is something else is not written over.
  const Ran kept =
      run_sgdsim({"advise", "traces/data/resnet50_v100.json", "-c", dense, "--out", "README.md"});
  CHECK(kept.exit_code == 2);
}

TEST_CASE("advise: the page shows the errors of ratios") {
  const std::string page = read_text(SGDSIM_SOURCE_DIR "/docs/advise.md");
  const auto rows = house::markdown_table(page, "| change of | pairs | within | measured |");
  const std::vector<std::pair<std::string, ChangeKind>> kinds = {
      {"strategy", ChangeKind::strategy},
      {"buckets of DDP", ChangeKind::buckets},
      {"algorithm", ChangeKind::algorithm},
      {"bandwidth", ChangeKind::bandwidth},
      {"nodes", ChangeKind::nodes}};
  REQUIRE(rows.size() == kinds.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const MeasuredErrors* known = measured_errors(kinds[i].second);
    CHECK(rows[i][0] == kinds[i].first);
    CHECK(rows[i][1] == std::to_string(known->pairs));
    CHECK(std::abs(std::stod(rows[i][2]) - 100 * known->p90) <= 0.05);
  }
}

// A profile becomes its trace on the way: the same as importing it first.
TEST_CASE("advise: a profile is as good as its trace") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string trace = folder.name() + "/kineto.json";
  REQUIRE(run_sgdsim({"import", "tests/data/kineto.json", "--out", trace}).exit_code == 0);
  const Json of_trace = json_of({"advise", trace, "-c", dense, "--format", "json"});
  const Json of_profile =
      json_of({"advise", "tests/data/kineto.json", "-c", dense, "--format", "json"});
  REQUIRE(of_trace["lines"].size() == of_profile["lines"].size());
  for (std::size_t i = 0; i < of_trace["lines"].size(); ++i) {
    CHECK(of_trace["lines"][i]["change"] == of_profile["lines"][i]["change"]);
    CHECK(of_trace["lines"][i]["iteration_ps"] == of_profile["lines"][i]["iteration_ps"]);
  }
  const Json step = json_of({"run", "tests/data/kineto.json", "-c", dense, "--fidelity",
                             "closed_form", "--format", "json"});
  CHECK(step["iteration_ps"] == of_profile["now"]["iteration_ps"]);
}

// Published steps of hybrid-parallel training: what docs/layouts.md says about them is so.
#include <array>
#include <cmath>
#include <doctest/doctest.h>

#include "app/layout/step_residuals.h"
#include "app/validate/validation.h"
#include "sim/core/error.h"
#include "tests/run_program.h"
#include "tests/source_tree.h"

namespace sgdsim {
namespace {

std::vector<SuiteResult> results_of(const std::vector<CaseFile>& files) {
  return validate(std::span<const CaseFile>(files));
}

constexpr std::array all_cases = {"dgxc_h100", "mlperf_llama31_405b", "torchtitan_h100",
                                  "torchtitan_8b_h100", "vtrain_a100"};

CaseFile published(const std::string& name) {
  return read_case_file(SGDSIM_SOURCE_DIR "/models/training/data/cases/" + name + ".json");
}

double mean_error(const SuiteResult& suite, RowUse use) {
  double sum = 0;
  double rows = 0;
  for (const RowResult& row : suite.judged.rows) {
    if (row.row->use != use) continue;
    sum += std::abs(row.error_percent);
    rows += 1;
  }
  return sum / rows;
}

TEST_CASE("published steps: all cases are within their tolerance") {
  for (const char* name : all_cases) {
    INFO(name);
    const std::vector<CaseFile> files = {published(name)};
    CHECK(within_tolerance(results_of(files)));
  }
}

TEST_CASE("published steps: 2,048 GPUs of MLPerf with one number fitted on 512") {
  const std::vector<CaseFile> files = {published("mlperf_llama31_405b")};
  const SuiteResult suite = results_of(files).front();
  CHECK(mean_error(suite, RowUse::fitted) <= 0.1);
  CHECK(mean_error(suite, RowUse::held) <= 1.5);
}

TEST_CASE("published steps: DGX Cloud with nothing fitted") {
  const std::vector<CaseFile> files = {published("dgxc_h100")};
  const std::vector<CaseRow>& rows = files.front().rows;
  CHECK(mean_error(results_of(files).front(), RowUse::held) <= 8);
  // Weak scaling of 405B from 576 to 1,152 and 2,304 GPUs, and of 8B from 8 to 64.
  for (const auto& [small, large] : {std::pair(0, 1), std::pair(0, 2), std::pair(5, 6)}) {
    const CaseRow& a = rows[static_cast<std::size_t>(small)];
    const CaseRow& b = rows[static_cast<std::size_t>(large)];
    CHECK(b.predict().time / a.predict().time ==
          doctest::Approx(b.measured / a.measured).epsilon(0.02));
  }
}

TEST_CASE("published steps: torchtitan's interleaved schedule is the faster one") {
  const std::vector<CaseRow> rows = published("torchtitan_h100").rows;
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].measured > rows[1].measured);
  CHECK(rows[0].predict().time > rows[1].predict().time);
}

TEST_CASE("published steps: the table of docs/layouts.md is what the cases say") {
  const std::string page = read_text(SGDSIM_SOURCE_DIR "/docs/layouts.md");
  const house::TableRows table =
      house::markdown_table(page, "| case | rows | use | median % | mean % | max % |");
  std::size_t count = 0;
  for (const auto& row : table) {
    INFO(row[0]);
    INFO(row[2]);
    const std::vector<CaseFile> files = {published(row[0].substr(1, row[0].size() - 2))};
    const SuiteResult suite = results_of(files).front();
    const RowUse use = row[2] == "held"     ? RowUse::held
                       : row[2] == "fitted" ? RowUse::fitted
                                            : RowUse::reported;
    std::vector<RowResult> rows;
    for (const RowResult& one : suite.judged.rows)
      if (one.row->use == use) rows.push_back(one);
    const ErrorSummary errors = summary_of(rows);
    CHECK(std::to_string(errors.rows) == row[1]);
    CHECK(percent_text(errors.median) == row[3]);
    CHECK(percent_text(mean_error(suite, use)) == row[4]);
    CHECK(percent_text(errors.max) == row[5]);
    ++count;
  }
  CHECK(count == all_cases.size() + 2);  // two have fitted rows
}

// Those of the cases, as they are and with every pass played.
TEST_CASE("published steps: intervals rest on what the cases were off") {
  for (const bool plays : {false, true}) {
    std::vector<CaseFile> files;
    for (const char* name : all_cases) {
      const std::string file =
          std::string(SGDSIM_SOURCE_DIR "/models/training/data/cases/") + name + ".json";
      Json json = Document::read(file).root().json();
      json["fidelity"] = plays ? "message" : "closed_form";
      files.push_back(read_case(Value(json, file, "")));
    }
    for (const bool is_large : {false, true}) {
      const StepResiduals computed = residuals_of(files, plays, is_large);
      const StepResiduals& known = step_residuals(plays, is_large ? large_model : large_model - 1);
      CHECK(known.plays == plays);
      CHECK(known.is_large == is_large);
      CHECK(known.steps == computed.steps);
      CHECK(computed.steps >= 10);
      CHECK(std::abs(known.p10 - computed.p10) <= 0.00005);
      CHECK(std::abs(known.p90 - computed.p90) <= 0.00005);
    }
  }
}

TEST_CASE("sgdsim layout: an interval is the step times what published ones were off") {
  const Ran ran = run_sgdsim({"layout", "llama3.1_8b", "-c", "topologies/data/dgx_h100_4.json",
                              "--layout", "tp8 sp", "--interval", "--format", "json"});
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(ran.out);
  CHECK(json["interval_of"] == "10 published steps of models below 10 billion parameters");
  const Json& one = json["layouts"][0];
  CHECK(one["interval_us"][0].get<double>() ==
        doctest::Approx(1.0071 * one["step_us"].get<double>()).epsilon(1e-9));
  CHECK(one["interval_us"][1].get<double>() ==
        doctest::Approx(1.1736 * one["step_us"].get<double>()).epsilon(1e-9));
}

std::string problem_with(const std::string& row, const std::string& rest) {
  const std::string text = R"({"schema": "sgdsim/case/1", "name": "a", "grade": "A",
      "kind": "training", "description": "a", "source": {"origin": "a", "measured": "a",
      "fitted": "a"}, "tolerance": {"median_percent": 1, "p90_percent": 1,
      "per_algorithm_median_percent": 1, "from_size": "0 B"}, "cluster": {"shape": "single_switch",
      "nodes": 1, "nic": {"latency": "1 us", "bandwidth": "400 Gbps"}}, )" +
                           rest + R"("measured": [{"label": "a", "time": "1 s", )" + row + "}]}";
  try {
    read_case(Document::parse(text, "case.json").root());
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("published steps: what is wrong in a case of layouts is refused, with its row") {
  const std::string h100 = R"("gpu": "h100", )";
  const std::string model = R"("model": "llama3.1_8b", )";
  const std::vector<std::array<std::string, 3>> rows = {
      {R"("layout": "tp2 dp2 sp")", h100 + model, ""},
      {R"("layout": "tp2 dp2 sp")", h100, "/measured/0: expected \"model\""},
      {R"("layout": "tp3")", h100 + model, "/measured/0/layout: the 32 heads do not divide by tp3"},
      {R"("layout": "tp")", h100 + model, "/measured/0/layout: unknown word"},
      {R"("layout": 3)", h100 + model, "/measured/0/layout"},
      {R"("layout": "tp1")", model, "the field \"gpu\" is missing"},
      {R"("layout": "tp1")", R"("gpu": "h1", )" + model, "unknown GPU \"h1\""},
      {R"("layout": "tp1")", R"("gpu": "a100", "precision": "fp8", )" + model, "has no FP8"},
      {R"("layout": "tp1", "sequence": 0)", h100 + model, "/measured/0/sequence"},
      {R"("layout": "tp1")", h100 + R"("model": "no/such.json", )", "no/such.json"},
  };
  for (const auto& [row, rest, sentence] : rows) {
    const std::string problem = problem_with(row, rest);
    INFO(problem);
    if (sentence.empty())
      CHECK(problem.empty());
    else
      CHECK(problem.find(sentence) != std::string::npos);
  }
}

}  // namespace
}  // namespace sgdsim

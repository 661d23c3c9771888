// Logs of MLPerf: which steps count, and what they come to, by hand.
#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "sim/core/error.h"
#include "tests/run_program.h"
#include "tests/texts.h"
#include "traces/steps/registry.h"

namespace sgdsim {
namespace {

std::string line(const std::string& key, const std::string& value, int64_t ms = 0,
                 const std::string& metadata = "{}") {
  return R"(:::MLLOG {"namespace": "", "time_ms": )" + std::to_string(ms) +
         R"(, "event_type": "POINT_IN_TIME", "key": ")" + key + R"(", "value": )" + value +
         R"(, "metadata": )" + metadata + "}\n";
}

std::string step(const std::string& seconds, int64_t number) {
  return line("tracked_stats", R"({"train_step_time": )" + seconds + "}", 0,
              R"({"step": )" + std::to_string(number) + "}");
}

StepRun read(const std::string& text) { return mllog({text, "f", {}}); }

const std::string start = line("run_start", "null", 1'000'000);
const std::string stop = line("run_stop", "null", 1'090'500);

TEST_CASE("mllog: what the steps come to") {
  // 1, 2, 3, 4 and 10 s: mean 4, deviations -3 -2 -1 0 6; neighbours 6 + 2 + 0 + 0 = 8 of 50.
  const StepRun run =
      read("0: noise\n" + line("submission_benchmark", "\"llama31_405b\"") +
           line("global_batch_size", "1152") + line("gradient_accumulation_steps", "36") +
           line("max_sequence_length", "8192") + start + "7: " + step("1", 1) + step("2", 2) +
           step("3", 3) + step("4", 4) + step("10.0", 5) + stop);
  CHECK(run.benchmark == "llama31_405b");
  CHECK(run.global_batch == 1152);
  CHECK(run.accumulation == 36);
  CHECK(run.sequence_length == 8192);
  CHECK(run.notes.empty());
  CHECK(run.run == Duration::ms(90'500));
  REQUIRE(run.steps.size() == 5);
  const StepSummary summary = summary_of(run);
  CHECK(summary.median == Duration::s(3));
  CHECK(summary.mean == Duration::s(4));
  CHECK(summary.p95 == Duration::s(10));
  CHECK(*summary.autocorrelation == doctest::Approx(8. / 50));
  CHECK(*summary.samples_per_s == doctest::Approx(1152. / 4));
}

TEST_CASE("mllog: of 100 steps 95 do not exceed the 95th") {
  StepRun run;
  for (int i = 100; i > 0; --i) run.steps.push_back(Duration::ms(i));
  CHECK(summary_of(run).p95 == Duration::ms(95));
  CHECK(summary_of(run).median == Duration::us(50'500));
  run.steps = {Duration::ms(7)};
  CHECK(summary_of(run).p95 == Duration::ms(7));
  CHECK(!summary_of(run).autocorrelation);
  CHECK(!summary_of(run).samples_per_s);
}

TEST_CASE("mllog: what does not count is counted") {
  struct Row {
    std::string reason;
    std::string text;
    std::string note;
  };
  const std::vector<Row> rows = {
      {"warming up", step("9", 1) + start + step("1", 1) + stop,
       "1 line dropped: before run_start"},
      {"after the run", start + step("1", 1) + stop + step("9", 2), "or after run_stop"},
      {"cut off", start + step("1", 1) + step("9", 2).substr(0, 50), "no JSON behind :::MLLOG"},
      {"no number", start + step("1", 1) + step("NaN", 2) + stop, "is no time above 0"},
      {"no JSON", start + step("1", 1) + step("nan", 2) + stop, "no JSON behind :::MLLOG"},
      {"no time", start + step("1", 1) + step("0", 2) + stop, "is no time above 0"},
      {"no time", start + step("1", 1) + step("-3", 2) + stop, "is no time above 0"},
      {"a text", start + step("1", 1) + step("\"0.5\"", 2) + stop, "is no time above 0"},
      {"too long", start + step("1", 1) + step("1e30", 2) + stop, "is no time above 0"},
      {"repeated", start + step("1", 1) + step("9", 1) + stop, "the same step occurred before"},
      {"no end", start + step("1", 1), "no run_stop"},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    const StepRun run = read(row.text);
    REQUIRE(run.steps.size() == 1);
    CHECK(run.steps[0] == Duration::s(1));
    CHECK(has_note(run, row.note));
  }
}

TEST_CASE("mllog: what is refused") {
  struct Row {
    std::string text;
    std::string sentence;
  };
  const std::vector<Row> rows = {
      {"", "f: no step: expected lines :::MLLOG"},
      {start + stop, "f: no step: expected"},
      {start + step("1", 1) + stop + start, "f: line 4: run_start occurs twice"},
      {line("global_batch_size", "8") + line("global_batch_size", "9"),
       "f: line 2: global_batch_size is 9 here and 8 before"},
      {line("run_stop", "1", 5) + line("run_start", "1", 9) + step("1", 1), "f: no step"},
      {":::MLLOG " + std::string(100'000, '['), "nested deeper than 64 levels"},
  };
  for (const Row& row : rows) {
    INFO(row.text.substr(0, 200));
    CHECK_THROWS_WITH_AS(read(row.text), doctest::Contains(row.sentence.c_str()), InputError);
  }
}

// Of 64 samples at 64, 32 and 64 a second steps take 1, 2 and 1 s.
std::string rate_line(const std::string& rate, const std::string& metadata, int64_t ms) {
  return line("tracked_stats", R"({"throughput": )" + rate + "}", ms, metadata);
}

std::string numbered(const std::string& name, int64_t number) {
  return "{\"" + name + "\": " + std::to_string(number) + "}";
}

// 10, 10 and 1 steps: (10 * 1 + 10 * 2 + 1 * 1) / 21 = 31/21 s, 64 * 21/31 samples a second.
TEST_CASE("mllog: throughputs count as often as the steps that they are the mean of") {
  const std::string head = line("global_batch_size", "64") + line("run_start", "null", 2'000);
  const StepRun run = read(head + rate_line("64", numbered("step", 10), 12'000) +
                           rate_line("32", numbered("step", 20), 32'000) +
                           rate_line("64", numbered("step", 21), 33'000) + stop);
  CHECK(run.stands_for == std::vector<int64_t>{10, 10, 1});
  CHECK(steps_of(run) == 21);
  CHECK(summary_of(run).mean == Duration::nearest_ps(31e12 / 21));
  CHECK(*summary_of(run).samples_per_s == doctest::Approx(64. * 21 / 31));
  CHECK(summary_of(run).p95 == Duration::s(2));
  // Samples are 64 a step, whatever they are called: 20 steps by the number would take 20 * 64 s
  // between stamps that are 20 s apart.
  for (const std::string name : {"samples_count", "step"}) {
    INFO(name);
    CHECK(read(head + rate_line("64", numbered(name, 640), 12'000) +
               rate_line("32", numbered(name, 1280), 32'000) +
               rate_line("64", numbered(name, 1344), 33'000) + stop)
              .stands_for == std::vector<int64_t>{10, 10, 1});
  }
  const StepRun untold =
      read(head + rate_line("64", "{}", 12'000) + rate_line("32", "{}", 32'000) + stop);
  CHECK(untold.stands_for.empty());
  CHECK(summary_of(untold).mean == Duration::ms(1500));
  CHECK(has_note(untold, "how many steps a throughput is the mean of: all count alike"));
  CHECK(has_note(read(head + rate_line("64", "{}", 12'000) + rate_line("0", "{}", 13'000) +
                      rate_line("\"64\"", "{}", 14'000) + stop),
                 "2 lines dropped: throughput is no rate above 0"));
}

TEST_CASE("mllog: the command prints a table, and JSON that fits its schema") {
  const std::string file = std::string(SGDSIM_SOURCE_DIR) + "/tests/data/mllog.txt";
  const Ran answer = call_sgdsim({"import", "mllog", file, file, "--format", "json"});
  CHECK(answer.exit_code == 0);
  const Json json = Json::parse(answer.out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/steps/1", json) == std::vector<std::string>{});
  REQUIRE(json["runs"].size() == 2);
  CHECK(json["runs"][1]["steps"] == 4);
  CHECK(json["runs"][1]["step_median_us"] == 500'000);
  CHECK(json["runs"][1]["samples_per_s"] == 64);
  const Ran table = call_sgdsim({"import", "mllog", file});
  CHECK(table.exit_code == 0);
  CHECK(table.out.find("example") != std::string::npos);
  CHECK(table.out.find("500.00 ms") != std::string::npos);
}

}  // namespace
}  // namespace sgdsim

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

// 8 samples a step. The first rate is of samples 0 to 1,536: 192 steps of 4 s are 768 s, and 800 s
// passed since run_start. A run that went on from sample 100,000 cannot have taken 12,692 steps in
// 800 s, so its first rate is of 48 as the second.
TEST_CASE("mllog: what the first throughput is of") {
  const std::string head = line("global_batch_size", "8") + line("run_start", "null", 0);
  const auto rates = [&](int64_t from) {
    return read(head + rate_line("2", numbered("step", from + 1536), 800'000) +
                rate_line("2", numbered("step", from + 1920), 1'000'000) +
                rate_line("2", numbered("step", from + 2304), 1'200'000) +
                line("run_stop", "null", 1'210'000))
        .stands_for;
  };
  CHECK(rates(0) == std::vector<int64_t>{192, 48, 48});
  CHECK(rates(100'000) == std::vector<int64_t>{48, 48, 48});
}

// 768 samples a step at 7,680 a second: 0.1 s. By `epoch_num` 150,144 samples or 195.5 steps lie
// between two lines that are 19.6 s apart; rounded where they end, 196 and 195 of 391. Epochs that
// are epochs say nothing of steps.
TEST_CASE("mllog: epoch_num may count samples") {
  const std::string head = line("global_batch_size", "768") + line("run_start", "null", 0);
  const auto run = [&](int64_t step) {
    std::string text = head;
    for (int64_t i = 1; i <= 3; ++i)
      text += rate_line("7680", numbered("epoch_num", i * step), i * 19'600);
    return read(text + line("run_stop", "null", 60'000));
  };
  CHECK(run(150'144).stands_for == std::vector<int64_t>{196, 195, 196});
  CHECK(run(1).stands_for.empty());
}

std::string at_step(int64_t epoch, int64_t number) {
  return "{\"epoch_num\": " + std::to_string(epoch) + ", \"step\": " + std::to_string(number) + "}";
}

// 3,264 samples at 32,640 a second are 0.1 s, at 16,320 they are 0.2 s: 300 steps of the one and
// 600 of the other take 150 s.
TEST_CASE("mllog: numbers of steps that begin anew with each epoch") {
  for (const bool goes_on : {false, true})
    for (const int ranks : {1, 2}) {
      INFO(goes_on, ranks);
      std::string text = line("global_batch_size", "3264") + line("run_start", "null", 0);
      int64_t ms = 0;
      for (int64_t epoch = 1; epoch <= 3; ++epoch)
        for (int64_t number = 100; number <= 300; number += 100) {
          ms += epoch == 1 ? 10'000 : 20'000;
          for (int rank = 0; rank < ranks; ++rank)
            text += rate_line(epoch == 1 ? "32640" : "16320",
                              at_step(epoch, number + (goes_on ? 300 * (epoch - 1) : 0)), ms);
        }
      const StepRun run = read(text + line("run_stop", "null", ms));
      CHECK(run.stands_for == std::vector<int64_t>(9, 100));
      CHECK(summary_of(run).mean == Duration::nearest_ps(150e12 / 900));
      CHECK(*summary_of(run).samples_per_s == doctest::Approx(19'584));
      CHECK(has_note(run, "9 lines dropped: the same step occurred before") == (ranks == 2));
    }
  const std::string head = line("global_batch_size", "64") + line("run_start", "null", 0);
  const auto rates = [&](const std::vector<std::pair<int64_t, int64_t>>& places) {
    std::string text = head;
    for (const auto& place : places) text += rate_line("64", at_step(place.first, place.second), 0);
    return read(text).stands_for;
  };
  CHECK(rates({{1, 100}, {2, 100}, {3, 100}}) == std::vector<int64_t>{100, 100, 100});
  // It goes on, and the last step of an epoch is there as the first of the next one, too.
  CHECK(rates({{1, 50}, {1, 100}, {2, 100}, {2, 150}}) == std::vector<int64_t>{50, 50, 50});
}

// 50 steps of 1 s, then 50 and 150 of 2 s: 450 s for 250 steps of 8 samples.
TEST_CASE("mllog: times of steps count as often as there are steps between lines") {
  const std::string batch = line("global_batch_size", "8");
  const std::string begun = batch + line("run_start", "null", 0);
  const auto time_line = [](const std::string& seconds, const std::string& at, int64_t ms) {
    return line("tracked_stats", R"({"train_step_time": )" + seconds + "}", ms, at);
  };
  const auto lines = [&](int64_t from, const std::string& second) {
    return time_line("1", numbered("step", from + 50), 50'000) +
           time_line(second, numbered("step", from + 100), 150'000) +
           time_line("2", numbered("step", from + 250), 450'000);
  };
  for (const std::string& text : {begun + lines(0, "2"), batch + lines(0, "2")}) {
    const StepRun run = read(text);
    CHECK(run.stands_for == std::vector<int64_t>{50, 50, 150});
    CHECK(steps_of(run) == 250);
    CHECK(summary_of(run).mean == Duration::ms(1800));
    CHECK(*summary_of(run).samples_per_s == doctest::Approx(8 / 1.8));
    CHECK(has_note(run, "counts as often as there are steps since the line before"));
  }
  // It went on from step 1,000; the second line says nothing.
  CHECK(read(begun + lines(1000, "2")).stands_for == std::vector<int64_t>{50, 50, 150});
  CHECK(read(begun + lines(0, "-1")).stands_for == std::vector<int64_t>{50, 150});
  CHECK(read(begun + time_line("1", numbered("step", 0), 0) +
             time_line("1", numbered("step", 10), 10'000))
            .stands_for == std::vector<int64_t>{1, 10});
  // Samples, 8 a step, by the stamps.
  CHECK(read(begun + time_line("1", numbered("step", 400), 50'000) +
             time_line("1", numbered("step", 800), 100'000))
            .stands_for == std::vector<int64_t>{50, 50});
  // Each step of two epochs.
  std::string each = begun;
  for (const int64_t epoch : {1, 2})
    for (const int64_t number : {1, 2, 3}) each += time_line("1", at_step(epoch, number), 0);
  const StepRun run = read(each);
  CHECK(run.steps.size() == 6);
  CHECK(run.stands_for.empty());
}

TEST_CASE("mllog: times of steps as NeMo calls them, and a rate of another kind after the run") {
  const auto timing = [](const std::string& seconds, int64_t number) {
    return line("tracked_stats", R"({"train_step_timing": )" + seconds + "}", 0,
                numbered("step", number));
  };
  const StepRun run =
      read(line("global_batch_size", "2688") + start + timing("0.5", 5'505'024) +
           timing("0.75", 11'010'048) + stop +
           line("tracked_stats", R"({"throughput": 5152984.4})", 0, numbered("step", 11'010'048)));
  CHECK(run.steps == std::vector<Duration>{Duration::ms(500), Duration::ms(750)});
  CHECK(has_note(run, "1 line dropped: before run_start or after run_stop"));
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

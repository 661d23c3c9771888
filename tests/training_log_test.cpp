// Logs of training programs: the lines of NeMo and Megatron-LM as they print them, rates, and what
// does not count.
#include <algorithm>
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "tests/run_program.h"
#include "traces/steps/registry.h"

namespace sgdsim {
namespace {

StepRun training_run(const std::string& text) { return training_log({text, "f", {}}); }

std::string nemo_line(int step, const std::string& seconds) {
  const std::string number = std::to_string(step);
  return "Training epoch 0, iteration " + number +
         "/249 | lr: 1.961e-06 | global_batch_size: 8 | " + "global_step: " + number +
         " | reduced_train_loss: 1.315 | train_step_timing in s: " + seconds + "\n";
}

std::string bar(const std::string& step, const std::string& seconds) {
  return "Epoch 0: : 4%|4 | 4/100 [00:12<04:48, reduced_train_loss=0.0172, global_step=" + step +
         ", consumed_samples=25600.0, train_step_timing in s=" + seconds + "]\r";
}

std::string megatron_line(const std::string& iteration, const std::string& ms,
                          const std::string& batch) {
  return " [2025-04-13 23:41:12] iteration " + iteration +
         "/    1000 | consumed samples:          160 | elapsed time per iteration (ms): " + ms +
         " | learning rate: 0.000000E+00 | global batch size: " + batch +
         " | loss scale: 8388608.0 |\n";
}

bool notes(const StepRun& run, const std::string& text) {
  return std::any_of(run.notes.begin(), run.notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

TEST_CASE("training log: steps of every kind of line") {
  const StepRun nemo = training_run("noise\n" + nemo_line(0, "7.126") + nemo_line(1, "2.505"));
  CHECK(nemo.steps == std::vector<Duration>{Duration::ms(7126), Duration::ms(2505)});
  CHECK(nemo.global_batch == 8);
  CHECK(nemo.notes.empty());
  // A progress bar writes over its line; the same step counts once.
  const StepRun bars =
      training_run(bar("98.00", "3.130") + bar("98.00", "3.130") + bar("99.00", "4"));
  CHECK(bars.steps == std::vector<Duration>{Duration::ms(3130), Duration::s(4)});
  CHECK(notes(bars, "1 line dropped: the same step occurred before"));
  const StepRun megatron = training_run(megatron_line("      10", "1147.6", "   16") +
                                        megatron_line("      20", "1000", "   16"));
  CHECK(megatron.steps == std::vector<Duration>{Duration::us(1'147'600), Duration::s(1)});
  CHECK(megatron.global_batch == 16);
  CHECK(notes(megatron, "mean of up to 10 steps"));
  const StepRun rates = training_run(
      "step 1 | global_batch_size: 64 | samples_per_second: 128.0\n"
      "{\"global_batch_size\": 64, \"samples_per_second\": 32}\n");
  CHECK(rates.steps == std::vector<Duration>{Duration::ms(500), Duration::s(2)});
  CHECK(notes(rates, "global_batch_size / samples_per_second"));
}

// Megatron-LM divides by the steps since its last line: 1, 99 and 100 of them; 60 + 99 + 200 s.
TEST_CASE("training log: means count as often as the steps that they are of") {
  const StepRun run =
      training_run(megatron_line("1", "60000", "512") + megatron_line("100", "1000", "512") +
                   megatron_line("200", "2000", "512"));
  CHECK(run.stands_for == std::vector<int64_t>{1, 99, 100});
  const StepSummary summary = summary_of(run);
  CHECK(summary.mean == Duration::ms(1795));
  CHECK(summary.median == Duration::ms(2000));  // the 101st of 200
  CHECK(summary.p95 == Duration::ms(2000));
  CHECK(*summary.samples_per_s == doctest::Approx(512 / 1.795));
  // A run that goes on: its first line is of as many as the second, at most.
  CHECK(training_run(megatron_line("510", "1", "8") + megatron_line("520", "1", "8") +
                     megatron_line("530", "1", "8"))
            .stands_for == std::vector<int64_t>{10, 10, 10});
  CHECK(
      training_run(megatron_line("5", "1", "8") + megatron_line("6", "1", "8")).stands_for.empty());
}

TEST_CASE("training log: two runs in one file are refused where they would be mixed") {
  const auto lines = [](int from, int to, const std::string& ms) {
    std::string text;
    for (int i = from; i <= to; ++i) text += megatron_line(std::to_string(i), ms, "8");
    return text;
  };
  CHECK_THROWS_WITH_AS(training_run(lines(1, 3, "1000") + lines(1, 5, "500")),
                       doctest::Contains("starts again at step 1, with other times, and goes on "
                                         "to step 4"),
                       InputError);
  // It goes on from a checkpoint, is another rank's, or was started anew as it was.
  CHECK(training_run(lines(1, 3, "1000") + lines(2, 5, "500")).steps.size() == 5);
  CHECK(training_run(lines(1, 3, "1000") + lines(1, 3, "1001")).steps.size() == 3);
  CHECK(training_run(lines(1, 3, "1000") + lines(1, 5, "1001")).steps.size() == 5);
}

TEST_CASE("training log: what does not count is counted") {
  struct Row {
    std::string text;
    std::string note;
  };
  for (const Row& row :
       std::vector<Row>{{nemo_line(1, "nan"), "no time above 0"},
                        {nemo_line(1, "-2"), "no time above 0"},
                        {nemo_line(1, "0"), "no time above 0"},
                        {nemo_line(1, "1e30"), "no time above 0"},
                        {nemo_line(1, ""), "no time above 0"},
                        {nemo_line(1, "1,010.0"), "no time above 0"},
                        {"step 2 | train_step_timing in s: 2", "the file ends within the line"},
                        {nemo_line(0, "9"), "the same step occurred before"},
                        {megatron_line("5", "x", "8"), "no time above 0"},
                        {megatron_line("5", "0", "16"), "global_batch_size changes"}}) {
    INFO(row.text);
    const StepRun run = training_run(nemo_line(0, "1.0") + row.text);
    CHECK(run.steps == std::vector<Duration>{Duration::s(1)});
    CHECK(notes(run, row.note));
  }
  // The file ends within the batch, or with a whole line.
  const StepRun cut =
      training_run(nemo_line(0, "1.5") + "train_step_timing in s: 2.5, global_batch_size: 1");
  CHECK(cut.global_batch == 8);
  CHECK(cut.steps.size() == 2);
  CHECK(training_run(nemo_line(0, "1.5") + "train_step_timing in s: 2.5").steps.back() ==
        Duration::ms(2500));
  CHECK(!training_run("step 1 | train_step_timing in s: 2.5 | global_batch_size: 1,024\n")
             .global_batch);
  // What wandb and the summary of a Trainer print are no steps.
  const StepRun run = training_run(nemo_line(0, "1.0") + "wandb: train_step_timing in s 3.1\n" +
                                   "{'train_samples_per_second': 5.0}\n");
  CHECK(run.steps.size() == 1);
  CHECK(run.notes.empty());
}

TEST_CASE("training log: what is refused") {
  for (const std::string& text : {std::string(), std::string("hello\n"), nemo_line(1, "x"),
                                  std::string("samples_per_second: 3\n")}) {
    INFO(text);
    CHECK_THROWS_WITH_AS(training_run(text), doctest::Contains("f: no step: expected lines"),
                         InputError);
  }
}

// A rate is samples per second; 1,152 of them are a step.
TEST_CASE("training log: MLPerf logs without times of steps") {
  const auto line = [](const std::string& key, const std::string& value, int step) {
    return R"(0: :::MLLOG {"namespace": "", "time_ms": 17, "event_type": "POINT_IN_TIME", "key": ")" +
           key + R"(", "value": )" + value + R"(, "metadata": {"step": )" + std::to_string(step) +
           "}}\n";
  };
  const std::string start = line("global_batch_size", "1152", 0) + line("run_start", "null", 0);
  const StepRun run = mllog({start + line("tracked_stats", R"({"throughput": 576.0})", 3072) +
                                 line("tracked_stats", R"({"throughput": 576.0})", 3072) +
                                 line("tracked_stats", R"({"throughput": 1152})", 6144),
                             "f",
                             {}});
  CHECK(run.steps == std::vector<Duration>{Duration::s(2), Duration::s(1)});
  CHECK(notes(run, "a step is global_batch_size / throughput"));
  CHECK(notes(run, "the same step occurred before"));
  CHECK(*run.stated_samples_per_s == doctest::Approx(864));
  CHECK_THROWS_WITH_AS(mllog({line("tracked_stats", R"({"throughput": 576.0})", 1), "f", {}}),
                       doctest::Contains("a throughput, and no global_batch_size"), InputError);
  CHECK_THROWS_AS(mllog({start + line("tracked_stats", R"({"throughput": 0})", 1), "f", {}}),
                  InputError);
  const StepRun printed = mllog({start + nemo_line(0, "7") + nemo_line(1, "2") +
                                     line("tracked_stats", R"({"train_epoch_timing": 234.9})", 1),
                                 "f",
                                 {}});
  CHECK(printed.steps == std::vector<Duration>{Duration::s(7), Duration::s(2)});
  CHECK(printed.global_batch == 1152);
  CHECK(notes(printed, "those that the training program prints"));
}

TEST_CASE("training log: the command knows it by its content") {
  const std::string file = std::string(SGDSIM_SOURCE_DIR) + "/tests/data/nemo_log.txt";
  const Ran answer = call_sgdsim({"import", file, "--format", "json"});
  REQUIRE(answer.exit_code == 0);
  const Json json = Json::parse(answer.out);
  CHECK(json["runs"][0]["steps"] == 4);
  CHECK(json["runs"][0]["step_median_us"] == 2'250'000);
  CHECK(json["runs"][0]["samples_per_s"] == 8 / 2.5);
}

}  // namespace
}  // namespace sgdsim

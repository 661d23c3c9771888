// Logs of training programs that hold more than one run: those that are refused, and those that are
// as one.
#include <doctest/doctest.h>

#include "tests/texts.h"
#include "traces/steps/registry.h"

namespace sgdsim {
namespace {

StepRun run_in(const std::string& text) { return training_log({text, "f", {}}); }

std::string iteration_line(int iteration, const std::string& ms) {
  return "iteration " + std::to_string(iteration) +
         "/ 1000 | elapsed time per iteration (ms): " + ms + " | global batch size: 8 |\n";
}

TEST_CASE("training log: two runs in one file are refused where they would be mixed") {
  const auto lines = [](int from, int to, const std::string& ms) {
    std::string text;
    for (int i = from; i <= to; ++i) text += iteration_line(i, ms);
    return text;
  };
  CHECK_THROWS_WITH_AS(run_in(lines(1, 3, "1000") + lines(1, 5, "500")),
                       doctest::Contains("starts again at step 1, with other times, and goes on "
                                         "to step 4"),
                       InputError);
  // Nor is the second one dropped where it is not longer.
  for (const int last : {1, 2, 3}) {
    INFO(last);
    const std::string said =
        refusal_of([&] { run_in(lines(1, 3, "1000") + lines(1, last, "500")); });
    CHECK(holds(said,
                "starts again at step 1, with other times: these are two runs, of which each needs "
                "a file of its own"));
  }
  std::string nano;
  for (const char* ms : {"100.00", "200.00"})
    for (int i = 0; i < 10; ++i)
      nano += "iter " + std::to_string(i) + ": loss 3.2, time " + ms + "ms, mfu 20.10%\n";
  CHECK(holds(refusal_of([&] { run_in(nano); }), "starts again at step 0"));
  // It goes on from a checkpoint, is another rank's, or was started anew as it was.
  CHECK(run_in(lines(1, 3, "1000") + lines(2, 5, "500")).steps.size() == 5);
  CHECK(run_in(lines(1, 3, "1000") + lines(1, 3, "1001")).steps.size() == 3);
  CHECK(run_in(lines(1, 3, "1000") + lines(1, 5, "1001")).steps.size() == 5);
}

std::string trainer_summary(const std::string& runtime, const std::string& samples,
                            const std::string& steps) {
  return "{'train_runtime': " + runtime + ", 'train_samples_per_second': " + samples +
         ", 'train_steps_per_second': " + steps + ", 'epoch': 1.0}\n";
}

std::string trainer_start(const std::string& batch, const std::string& steps) {
  return "  Total train batch size (w. parallel, distributed & accumulation) = " + batch +
         "\n  Total optimization steps = " + steps + "\n";
}

TEST_CASE("training log: summaries of two of a Trainer's runs are refused, of one they are not") {
  const std::string first = trainer_summary("100.0", "64.0", "2.0");
  struct Row {
    std::string reason;
    std::string text;
  };
  for (const Row& row : std::vector<Row>{
           {"batches 32 and 64", trainer_start("32", "200") + first + trainer_start("64", "100") +
                                     trainer_summary("80.0", "80.0", "1.25")},
           {"batches 32 and 64 by the rates", first + trainer_summary("300.0", "64.0", "1.0")},
           {"200 steps each", first + trainer_summary("200.0", "32.0", "1.0")},
           {"the batch alone", trainer_start("32", "200") + first + trainer_start("36", "200") +
                                   trainer_summary("108.0", "66.6", "1.85")}}) {
    INFO(row.reason);
    const std::string said = refusal_of([&] { run_in(row.text); });
    CHECK(holds(said, "f: it has a summary of 2 steps/s and 64 samples/s"));
    CHECK(holds(said, ": these are two runs, of which each needs a file of its own"));
  }
  // Printed twice; 200 and 101 steps of a run that went on, within a tenth: 100 + 52 s of 301.
  CHECK(run_in(first + first).steps == std::vector<Duration>{Duration::ms(500)});
  const StepRun went_on = run_in(first + trainer_summary("52.0", "62.15", "1.942"));
  CHECK(went_on.stands_for == std::vector<int64_t>{200, 101});
  CHECK(summary_of(went_on).mean == Duration::nearest_ps(152e12 / 301));
  // 0.002 stands for 0.0015 to 0.0025, 0.003 for 0.0025 to 0.0035.
  const std::string slow = trainer_start("8", "30") + trainer_summary("15000.0", "0.016", "0.002") +
                           trainer_summary("15000.0", "0.017", "0.003");
  CHECK(run_in(slow).steps.size() >= 1);
}

// A run that broke off printed no summary: the batch is that of the one that has it.
TEST_CASE("training log: the batch of a summary is that of the run before it") {
  const StepRun run = run_in(trainer_start("64", "100") + trainer_start("32", "200") +
                             trainer_summary("100.0", "64.0", "2.0") + trainer_start("16", "400"));
  CHECK(run.global_batch == 32);
}

}  // namespace
}  // namespace sgdsim

// Programs that count an evaluation as of the step before which it runs.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "tests/texts.h"
#include "traces/steps/registry.h"

namespace sgdsim {
namespace {

StepRun evaluated_run(const std::string& text) { return training_log({text, "f", {}, 64}); }

std::string evaluation_line(int step) {
  return "step " + std::to_string(step) +
         ": train loss 3.2000, val loss 3.3000\nsaving checkpoint to out\n";
}
std::string iter_line(int step, const std::string& ms) {
  return "iter " + std::to_string(step) + ": loss 3.2000, time " + ms + "ms, mfu 20.10%\n";
}

// Every tenth of 500 steps of 150 ms is printed, and of these three hold an evaluation of 10 s.
TEST_CASE("training log: times that hold an evaluation are no steps") {
  std::string text;
  for (int step = 0; step <= 500; step += 10) {
    const bool evaluates = step % 250 == 0;
    if (evaluates) text += evaluation_line(step);
    text += iter_line(step, evaluates ? "10150.00" : "150.00");
  }
  const StepRun run = evaluated_run(text);
  CHECK(steps_of(run) == 48);
  CHECK(has_note(run, "3 lines dropped: the time holds an evaluation"));
  const StepSummary summary = summary_of(run);
  CHECK(summary.mean == Duration::ms(150));
  CHECK(summary.p95 == Duration::ms(150));
  CHECK(summary.warm_up == 0);
  CHECK(*summary.samples_per_s == doctest::Approx(64 / 0.15));
}

// Step 250 is not printed where every seventh is, and 252 is a step as others are.
TEST_CASE("training log: an evaluation that no time holds drops none") {
  const StepRun run =
      evaluated_run(iter_line(245, "150.00") + evaluation_line(250) + iter_line(252, "151.00"));
  CHECK(run.steps == std::vector<Duration>{Duration::ms(150), Duration::ms(151)});
  CHECK(run.notes.empty());
  // Nor do the words of another program.
  CHECK(evaluated_run("val loss 3.3\nstep 1 | train_step_timing in s: 2.5 | global_step: 1\n")
            .steps == std::vector<Duration>{Duration::ms(2500)});
}

TEST_CASE("training log: build-nanogpt's evaluation has no number, and its next step holds it") {
  const auto line = [](int step, const std::string& ms) {
    return "step " + std::to_string(step) + " | loss: 3.2 | dt: " + ms + "ms | tok/sec: 1.00\n";
  };
  const StepRun run =
      evaluated_run("validation loss: 10.9500\nHellaSwag accuracy: 2534/10042=0.2523\n" +
                    line(0, "9000.00") + line(1, "300.00") + line(2, "302.00"));
  CHECK(run.steps == std::vector<Duration>{Duration::ms(300), Duration::ms(302)});
  CHECK(has_note(run, "1 line dropped: the time holds an evaluation"));
}

TEST_CASE("training log: where every time holds an evaluation there is no step") {
  CHECK_THROWS_WITH_AS(evaluated_run(evaluation_line(0) + iter_line(0, "9000.00")),
                       doctest::Contains("no step: expected lines with the time or the rate of a "
                                         "step; 1 line dropped: the time holds an evaluation"),
                       InputError);
}

}  // namespace
}  // namespace sgdsim

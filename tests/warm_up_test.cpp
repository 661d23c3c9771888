// First steps that take much longer than others, in logs of training programs.
#include <doctest/doctest.h>
#include <string>

#include "traces/steps/registry.h"
#include "traces/steps/step_run.h"

namespace sgdsim::warm_up {
namespace {

StepRun training_run(const std::string& text) { return training_log({text, "f", {}}); }

std::string megatron_line(const std::string& iteration, const std::string& ms,
                          const std::string& batch) {
  return " iteration " + iteration +
         "/ 500 | consumed samples: 512 | elapsed time per iteration (ms): " + ms +
         " | global batch size: " + batch + " | lm loss: 1.0E+01 |\n";
}

}  // namespace

// Means of ten steps each: 35.2 s, and then 9.8; a first step that is 1.5 times as long is no
// warm-up.
TEST_CASE("training log: first steps that take much longer are no part of the mean") {
  const auto summary_with = [](const std::string& first_ms) {
    return summary_of(training_run(megatron_line("10", first_ms, "512") +
                                   megatron_line("20", "9800", "512") +
                                   megatron_line("30", "9800", "512")));
  };
  const StepSummary cold = summary_with("35200");
  CHECK(cold.warm_up == 10);
  CHECK(cold.mean == Duration::ms(9800));
  CHECK(cold.median == Duration::ms(9800));
  CHECK(*cold.samples_per_s == doctest::Approx(512 / 9.8));
  const StepSummary warm = summary_with("14700");
  CHECK(warm.warm_up == 0);
  CHECK(warm.mean.us() == doctest::Approx((14.7e6 + 2 * 9.8e6) / 3));
  // Of two times nobody knows which one is usual.
  CHECK(summary_of(training_run(megatron_line("1", "90000", "8") + megatron_line("2", "1000", "8")))
            .warm_up == 0);
  // Of forty, four at most.
  std::string text;
  for (int step = 1; step <= 40; ++step)
    text += megatron_line(std::to_string(step), step <= 6 ? "5000" : "1000", "8");
  CHECK(summary_of(training_run(text)).warm_up == 4);
}

}  // namespace sgdsim::warm_up

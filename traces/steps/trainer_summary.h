// The summary that Hugging Face's Trainer prints of a run: how long it took, and rates of three
// decimals. Where the rate is small they leave open how many steps it had; the rest of the log may
// tell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sgdsim {

inline constexpr double trainer_rounds_by = 0.0005;

// The same text, with a summary of several lines (a block of metrics, a file of JSON) in one.
std::string with_whole_summaries(std::string text);

// "100.5", or as "0:36:58.55" and "1 day, 0:36:58.55".
std::optional<double> runtime_s_in(std::string_view line);

// What a whole log says about the run of one summary in it.
struct TrainerFacts {
  std::optional<int64_t> done{};  // what TrainOutput says, which may be fewer than were planned
  std::optional<int64_t> planned{};
  std::optional<int64_t> global_batch{};
};
// The summary is a part of the text.
TrainerFacts trainer_facts_in(std::string_view text, std::string_view summary, double runtime_s,
                              double steps_per_s);

// The steps that a runtime and a rounded rate leave open.
struct StepRange {
  int64_t least = 1;
  int64_t middle = 1;
  int64_t most = 1;
};
std::optional<StepRange> steps_between(double runtime_s, double steps_per_s);

}  // namespace sgdsim

// The lines with which training programs say how long a step took: a table, one row a form.
//
// Formats are those that the programs print: Megatron-LM (training.py), NeMo (its progress bar and
// its lines), DeepSpeed (pipe/engine.py; utils/timer.py), torchtitan (components/metrics.py),
// nanoGPT (train.py), build-nanogpt, and the summary of Hugging Face's Trainer (trainer_utils.py).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sgdsim {

enum class TimeUnit : uint8_t {
  seconds,
  milliseconds,
  as_written,         // "150.12ms" or "1.2s"
  samples_per_s,      // of all workers
  tokens_per_s,       // of one GPU
  steps_per_s_of_run  // one mean for the whole run
};

struct TrainingLine {
  std::string_view program;
  std::string_view example;
  std::string_view time;    // what stands before the time or the rate
  std::string_view number;  // and before the number of the step
  TimeUnit unit = TimeUnit::seconds;
  bool is_mean = false;       // over the steps since the line before
  bool needs_number = false;  // without the number of a step it is another line
  // In lower case, on the line of an evaluation that the next time holds, too; empty: none does.
  std::string_view evaluation = {};
};

std::span<const TrainingLine> training_lines();

// What stands behind a word and a ":" or "="; a quote may end the word. A name that ends with a
// blank stands right before the number that it names. A comma before a digit belongs to a number,
// which then has separators of thousands.
std::optional<std::string_view> word_behind(std::string_view line, std::string_view name);
std::optional<double> figure_behind(std::string_view line, std::string_view name);

// The word with the time, if the line is of this form.
std::optional<std::string_view> time_word_in(std::string_view line, const TrainingLine& form);
std::optional<int64_t> step_number_in(std::string_view line, const TrainingLine& form);

// "step 250: train loss 3.2, val loss 3.3": the program counts its evaluation as of that step, or,
// where no number stands there, as of the next one.
struct EvaluationLine {
  std::optional<int64_t> step{};
  bool is_in(std::optional<int64_t> number) const { return !step || step == number; }
};
std::optional<EvaluationLine> evaluation_in(std::string_view line, const TrainingLine& form);

// The form of the lines of a text, the first of the table that fits; null if none does.
const TrainingLine* training_line_in(std::string_view text);

// What programs print once of a run, and rates need.
struct RunFacts {
  std::optional<int64_t> global_batch{};     // samples of a step
  std::optional<int64_t> sequence_length{};  // tokens
  std::optional<int64_t> gpus{};
};
RunFacts run_facts_in(std::string_view text);

}  // namespace sgdsim

// What training programs print of each step, among whatever else they print.
//
// A progress bar overwrites its line, and several ranks may print the same: of a step that is
// numbered only the first time counts. Some programs print means over the steps since their last
// line, which count as often; some count an evaluation as of a step, whose time is dropped: they
// print few of the steps, and all of those. Where numbers start again with other times, it is
// another run. A file is read by the first form of the table in training_lines.cpp that it has,
// because DeepSpeed prints the same steps in two. What the stamps of the lines say is held against
// it.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "sim/core/decimal.h"
#include "sim/core/error.h"
#include "sim/core/nearest_rank.h"
#include "traces/complete.h"
#include "traces/measurement/words.h"
#include "traces/steps/line_stamps.h"
#include "traces/steps/registry.h"
#include "traces/steps/trainer_summary.h"
#include "traces/steps/training_lines.h"

namespace sgdsim {
namespace {

bool ends_with(std::string_view line, std::string_view word) {
  return word.data() + word.size() == line.data() + line.size();
}

// What is left of a word behind its number.
std::string_view unit_of(std::string_view word) {
  return word.substr(std::min(word.find_first_not_of("0123456789.eE+-"), word.size()));
}

// nanotron prints three digits: "1.05K".
std::optional<double> number_with_letter(std::string_view word) {
  const std::size_t letter =
      word.empty() ? std::string_view::npos : std::string_view("KMG").find(word.back());
  if (letter == std::string_view::npos) return number_word(word);
  const auto number = number_word(word.substr(0, word.size() - 1));
  return number ? std::optional(*number * std::pow(1e3, static_cast<double>(letter + 1))) : number;
}

// The one whole number that a product or a quotient may be whose parts were rounded.
std::optional<int64_t> only_whole(double low, double high) {
  const double whole = std::ceil(low);
  if (!(whole >= 1) || whole > high || whole + 1 <= high || whole >= 0x1p52) return std::nullopt;
  return static_cast<int64_t>(whole);
}

constexpr double rounded_by = 0.0005;       // DeepSpeed prints three decimals
constexpr double largest_difference = 0.1;  // of what the same run says twice, as a part of it
constexpr const char* two_runs = ": these are two runs, of which each needs a file of its own";

// Of a summary of Hugging Face's Trainer; 0: not said.
struct SummaryRates {
  double steps_per_s = 0;
  double samples_per_s = 0;
  int64_t batch = 0;

  std::string text() const {
    return number_text(steps_per_s) + " steps/s and " + number_text(samples_per_s) + " samples/s" +
           (batch > 0 ? " with batches of " + std::to_string(batch) : "");
  }
};

bool are_apart(const SummaryRates& a, const SummaryRates& b) {
  const auto apart = [](double one, double other, double rounded) {
    return std::abs(one - other) - 2 * rounded > largest_difference * one;
  };
  const auto both = [](auto one, auto other) { return one > 0 && other > 0; };
  return apart(a.steps_per_s, b.steps_per_s, trainer_rounds_by) ||
         (both(a.samples_per_s, b.samples_per_s) &&
          apart(a.samples_per_s, b.samples_per_s, trainer_rounds_by)) ||
         (both(a.batch, b.batch) &&
          apart(static_cast<double>(a.batch), static_cast<double>(b.batch), 0));
}

class TrainingLogReader {
 public:
  explicit TrainingLogReader(const LogText& log) : log_(log) { run_.file = log.file; }
  StepRun read();

 private:
  void learn_facts(std::string_view text);
  void read_line(std::string_view line, bool cut_off);
  void read_batch(std::string_view line, bool has_time, bool cut_off);
  void read_run(std::string_view line);
  std::optional<double> seconds_in(std::string_view line, std::string_view word);
  void add(double seconds, std::optional<int64_t> number, int64_t steps = 1);
  void follow(int64_t number);
  void check_alike(std::optional<int64_t> number) const;
  void check_alike(const SummaryRates& rates);
  int64_t steps_until(std::optional<int64_t> iteration);
  void close_gaps();
  void tell_pace();
  void add_notes();

  const LogText& log_;
  std::string text_;  // all of it
  StepRun run_;
  LineStamps stamps_;
  const TrainingLine* form_ = nullptr;
  double tokens_per_gpu_ = 0;          // of a step
  std::map<int64_t, double> seconds_;  // of the steps that are numbered
  std::optional<int64_t> first_number_;
  std::optional<int64_t> last_number_;
  std::optional<int64_t> last_iteration_;
  bool starts_again_ = false;
  int64_t gone_back_to_ = 0;    // in the middle of the run, at last
  std::vector<double> slower_;  // since then: steps that occur again, as a part of what they took
  double before_ = 0;           // seconds of the steps that occur again
  double again_ = 0;            // and what they took then
  std::optional<SummaryRates> first_rates_;
  int64_t most_between_ = 1;        // steps that one time is the mean of
  std::size_t decimals_ = 0;        // of the last time
  bool is_batch_of_lines_ = false;  // of those with times
  bool changes_batch_ = false;
  int64_t gaps_ = 0;
  int64_t bad_times_ = 0;
  int64_t cut_ = 0;
  int64_t repeated_ = 0;
  std::optional<EvaluationLine> evaluation_;  // since the last time
  int64_t evaluated_ = 0;
  int64_t without_batch_ = 0;
};

// Of torchtitan the tokens of a step are not in its lines. What is not in the file either is asked
// for: a guess would be wrong by a whole factor.
void TrainingLogReader::learn_facts(std::string_view text) {
  const RunFacts facts = run_facts_in(text);
  run_.global_batch = log_.batch ? log_.batch : facts.global_batch;
  if (form_->unit != TimeUnit::tokens_per_s) return;
  run_.sequence_length = facts.sequence_length;
  if (log_.tokens_per_gpu) {
    tokens_per_gpu_ = static_cast<double>(*log_.tokens_per_gpu);
    return;
  }
  if (!run_.global_batch || !facts.sequence_length || !facts.gpus)
    throw InputError(
        log_.file,
        "torchtitan's tps is tokens per second and GPU, and how many tokens a step has is not in "
        "the file (its lines \"Trainer is initialized with ...\" and \"Building device mesh\"); "
        "give --tokens, the global batch size times the sequence length over the GPUs");
  tokens_per_gpu_ = static_cast<double>(*run_.global_batch) *
                    static_cast<double>(*facts.sequence_length) / static_cast<double>(*facts.gpus);
}

void TrainingLogReader::follow(int64_t number) {
  if (!first_number_) first_number_ = number;
  const bool goes_back = last_number_ && number < *last_number_;
  if (goes_back && number <= *first_number_) starts_again_ = true;
  if (goes_back) {
    gone_back_to_ = number;
    slower_.clear();
  }
  last_number_ = number;
}

// Several ranks may print the same, and a run may start again as it was, or go back to what it has
// saved: the first steps are slow then, so that the median of some counts. Without a number it ends
// there.
void TrainingLogReader::check_alike(std::optional<int64_t> number) const {
  constexpr std::size_t fewest = 10;
  const bool differs = starts_again_ && std::abs(again_ - before_) > largest_difference * before_;
  const bool differs_later =
      slower_.size() >= fewest && std::abs(median_of(slower_) - 1) > largest_difference;
  if (!differs && !differs_later) return;
  throw InputError(
      log_.file, (differs ? "it starts again at step " + std::to_string(*first_number_)
                          : "it goes back to step " + std::to_string(gone_back_to_)) +
                     ", with other times" +
                     (number ? ", and goes on to step " + std::to_string(*number) : "") + two_runs);
}

void TrainingLogReader::check_alike(const SummaryRates& rates) {
  if (!first_rates_) first_rates_ = rates;
  if (are_apart(*first_rates_, rates))
    throw InputError(log_.file, "it has a summary of " + first_rates_->text() + " and one of " +
                                    rates.text() + two_runs);
}

void TrainingLogReader::add(double seconds, std::optional<int64_t> number, int64_t steps) {
  if (number) follow(*number);
  if (number && seconds_.contains(*number)) {
    ++repeated_;
    if (seconds > 0) slower_.push_back(seconds / seconds_[*number]);
    if (starts_again_ && seconds > 0) {
      before_ += seconds_[*number];
      again_ += seconds;
    }
    return;
  }
  if (!(seconds > 0) || seconds > longest_step.s()) {
    ++bad_times_;
    return;
  }
  if (number) {
    check_alike(*number);
    slower_.clear();
    seconds_[*number] = seconds;
  }
  run_.steps.push_back(Duration::nearest_ps(seconds * 1e12));
  run_.stands_for.push_back(steps);
}

// Since the last line. The first one of a file stands for no more than the second.
int64_t TrainingLogReader::steps_until(std::optional<int64_t> iteration) {
  if (!iteration) return 1;
  const auto last = std::exchange(last_iteration_, iteration);
  if (!last) return std::max<int64_t>(1, *iteration);
  if (*iteration <= *last) return 1;
  const int64_t between = *iteration - *last;
  if (run_.steps.size() == 1) run_.stands_for[0] = std::min(run_.stands_for[0], between);
  return between;
}

// Programs print a line every so many steps. Where more are between two lines, some are missing,
// and a mean is not of those.
void TrainingLogReader::close_gaps() {
  if (!form_->is_mean) return;
  if (run_.stands_for.size() == 1) run_.stands_for[0] = 1;  // since when is not known
  std::map<int64_t, int64_t> counts;
  for (const int64_t steps : run_.stands_for) ++counts[steps];
  int64_t usual = 1;
  int64_t most = 0;
  for (const auto& [steps, lines] : counts)
    if (lines >= most) std::tie(usual, most) = std::pair(steps, lines);
  for (int64_t& steps : run_.stands_for) {
    if (steps > usual + usual / 2) {
      steps = usual;
      ++gaps_;
    }
    most_between_ = std::max(most_between_, steps);
  }
}

// Also on other lines, as of the configuration, if those with times have none.
void TrainingLogReader::read_batch(std::string_view line, bool has_time, bool cut_off) {
  if (log_.batch || (!has_time && run_.global_batch)) return;
  auto word = word_behind(line, "global_batch_size");
  if (!word) word = word_behind(line, "global batch size");
  if (!word || (cut_off && run_.global_batch && ends_with(line, *word))) return;
  const double batch = number_word(*word).value_or(0);
  if (batch < 1 || batch >= 0x1p52) return;
  const auto whole = static_cast<int64_t>(batch);
  changes_batch_ = changes_batch_ || (is_batch_of_lines_ && *run_.global_batch != whole);
  is_batch_of_lines_ = is_batch_of_lines_ || has_time;
  run_.global_batch = whole;
}

// The mean over a whole run, with all that it did besides. Its steps are a whole number.
void TrainingLogReader::read_run(std::string_view line) {
  const double runtime_s = runtime_s_in(line).value_or(0);
  const double steps_per_s = figure_behind(line, form_->time).value_or(0);
  const TrainerFacts facts = trainer_facts_in(text_, line, runtime_s, steps_per_s);
  const auto range = steps_between(runtime_s, steps_per_s);
  const auto told = facts.done ? facts.done : facts.planned;
  if (!(runtime_s > 0) || (!told && !range) || (told && *told < 1)) return add(-1, std::nullopt);
  const int64_t count = told ? *told : range->middle;
  if (!told && range->most > range->least)
    run_.notes.push_back("train_steps_per_second is rounded: the run had from " +
                         std::to_string(range->least) + " to " + std::to_string(range->most) +
                         " steps, and " + std::to_string(count) +
                         " are taken; lines with \"Total optimization steps\" or global_step say "
                         "how many");
  const auto samples_per_s = figure_behind(line, "train_samples_per_second");
  check_alike({steps_per_s, samples_per_s.value_or(0), facts.global_batch.value_or(0)});
  if (samples_per_s) run_.stated_samples_per_s = samples_per_s;
  if (!run_.global_batch) run_.global_batch = facts.global_batch;
  if (samples_per_s && !run_.global_batch && steps_per_s > trainer_rounds_by)
    run_.global_batch =
        only_whole((*samples_per_s - trainer_rounds_by) / (steps_per_s + trainer_rounds_by),
                   (*samples_per_s + trainer_rounds_by) / (steps_per_s - trainer_rounds_by));
  most_between_ = std::max(most_between_, count);
  add(runtime_s / static_cast<double>(count), count, count);
}

// None: a rate, and nothing says of how many samples a step is.
std::optional<double> TrainingLogReader::seconds_in(std::string_view line, std::string_view word) {
  constexpr double none = -1;  // counted as no time
  switch (form_->unit) {
    case TimeUnit::seconds: {
      const double seconds = number_word(word).value_or(none);
      const double rate = figure_behind(line, "samples/sec").value_or(0);
      if (!run_.global_batch && rate > rounded_by && seconds > rounded_by)
        run_.global_batch = only_whole((rate - rounded_by) * (seconds - rounded_by),
                                       (rate + rounded_by) * (seconds + rounded_by));
      return seconds;
    }
    case TimeUnit::milliseconds:
      return number_with_letter(word).value_or(none * 1e3) / 1e3;
    case TimeUnit::as_written: {
      const std::string_view unit = unit_of(word);
      const double number = number_word(word.substr(0, word.size() - unit.size())).value_or(none);
      return unit == "ms" ? number / 1e3 : unit == "s" ? number : none;
    }
    case TimeUnit::samples_per_s: {
      if (!run_.global_batch) return std::nullopt;
      const double rate = number_word(word).value_or(0);
      return rate > 0 ? static_cast<double>(*run_.global_batch) / rate : none;
    }
    case TimeUnit::tokens_per_s: {
      std::string digits(word);  // "7,214"
      digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
      const double rate = number_word(digits).value_or(0);
      return rate > 0 ? tokens_per_gpu_ / rate : none;
    }
    case TimeUnit::steps_per_s_of_run:
      break;
  }
  return none;
}

// Where the file ends within a line its last number may be a part of one, if it has fewer decimals
// than the others.
void TrainingLogReader::read_line(std::string_view line, bool cut_off) {
  const auto time = time_word_in(line, *form_);
  if (!time) {
    if (const auto evaluation = evaluation_in(line, *form_)) evaluation_ = evaluation;
    return read_batch(line, false, cut_off);
  }
  if (cut_off && ends_with(line, *time) && decimals(*time) < decimals_) {
    ++cut_;
    return;
  }
  decimals_ = decimals(*time);
  read_batch(line, true, cut_off);
  if (form_->unit == TimeUnit::steps_per_s_of_run) return read_run(line);
  const auto seconds = seconds_in(line, *time);
  if (!seconds) {
    ++without_batch_;
    return;
  }
  const auto number = step_number_in(line, *form_);
  const auto evaluation = std::exchange(evaluation_, std::nullopt);
  if (evaluation && evaluation->is_in(number)) {
    ++evaluated_;
    return;
  }
  const std::size_t before = run_.steps.size();
  add(*seconds, number, form_->is_mean ? steps_until(number) : 1);
  if (number && run_.steps.size() > before) stamps_.add(line, *number, *seconds);
}

void TrainingLogReader::add_notes() {
  const auto note = [&](int64_t count, const std::string& text) {
    if (count > 0) run_.notes.push_back(dropped_note(count, text));
  };
  const std::string word(form_ == nullptr ? "" : form_->time);
  note(bad_times_, "no time above 0 and below one hour, as a plain number");
  note(cut_, "the file ends within the line");
  note(repeated_, "the same step occurred before");
  note(evaluated_, "the time holds an evaluation, too, which is no part of a step");
  note(without_batch_, word + ", and no global_batch_size before it; give --batch");
  if (form_ != nullptr && form_->unit == TimeUnit::steps_per_s_of_run)
    run_.notes.emplace_back(
        "train_steps_per_second is one mean over the whole run, with evaluation and saving");
  else if (most_between_ > 1)
    run_.notes.push_back("a time is the mean of up to " + std::to_string(most_between_) +
                         " steps, and counts as often: the 95th percentile is that of means");
  if (!run_.steps.empty() && form_->unit == TimeUnit::samples_per_s)
    run_.notes.emplace_back("a step is global_batch_size / " + word);
  if (!run_.steps.empty() && form_->unit == TimeUnit::tokens_per_s)
    run_.notes.emplace_back("a step is " + std::to_string(std::llround(tokens_per_gpu_)) +
                            " tokens of a GPU / tps");
  if (gaps_ > 0)
    run_.notes.push_back(std::to_string(gaps_) + (gaps_ == 1 ? " gap" : " gaps") +
                         " between the numbers of lines: the mean "
                         "behind it counts as often as others do");
  if (changes_batch_) {
    run_.notes.emplace_back("global_batch_size changes during the run: no samples per second");
    run_.global_batch.reset();
  }
}

// What a program counts may not be all that a step takes.
void TrainingLogReader::tell_pace() {
  constexpr double most_apart = 1.5;
  const auto pace = stamps_.pace();
  if (!pace || (pace->ratio < most_apart && pace->ratio > 1 / most_apart)) return;
  const auto with_two_decimals = [](double value) {
    return number_text(std::round(value * 100) / 100);
  };
  run_.notes.push_back("by the stamps of the lines a step takes " +
                       with_two_decimals(pace->seconds) + " s, " + with_two_decimals(pace->ratio) +
                       " times what " + std::string(form_->time) + " says");
}

std::string expected_lines() {
  std::string text;
  for (const TrainingLine& form : training_lines())
    text += "\n  " + std::string(form.program) + ": " + std::string(form.example);
  return text;
}

StepRun TrainingLogReader::read() {
  text_ = log_.text;
  make_plain(text_);
  std::replace(text_.begin(), text_.end(), '\r', '\n');
  text_ = with_whole_summaries(std::move(text_));
  form_ = training_line_in(text_);
  if (form_ != nullptr) {
    learn_facts(text_);
    LineReader lines(text_);
    for (std::string_view line; lines.next(line);) read_line(line, lines.was_cut_off());
    check_alike(std::nullopt);
    close_gaps();
    tell_pace();
  }
  add_notes();
  if (most_between_ == 1) run_.stands_for.clear();
  if (run_.steps.empty()) {
    std::string why;
    for (const std::string& note : run_.notes) why += "; " + note;
    throw InputError(log_.file, "no step: expected lines with the time or the rate of a step" +
                                    why + ". Such lines are:" + expected_lines());
  }
  return run_;
}

}  // namespace

bool is_training_log(std::string_view text) { return !is_mllog(text) && has_step_times(text); }

bool has_step_times(std::string_view text) {
  return training_line_in(text) != nullptr ||
         training_line_in(with_whole_summaries(std::string(text))) != nullptr;
}

StepRun training_log(const LogText& log) { return TrainingLogReader(log).read(); }

}  // namespace sgdsim

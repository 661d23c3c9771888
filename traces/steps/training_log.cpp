// What training programs print of each step, among whatever else they print:
//
//   Training epoch 0, iteration 1/249 | lr: 3.9e-06 | global_batch_size: 8 | global_step: 1 |
//     reduced_train_loss: 1.653 | train_step_timing in s: 2.505 | consumed_samples: 16     (NeMo)
//   Epoch 0: : 4%|4 | 4/100 [00:12<04:48, global_step=3.0, train_step_timing in s=3.130]   (NeMo)
//    iteration 10/ 1000 | consumed samples: 160 | elapsed time per iteration (ms): 1147.6 |
//     global batch size: 16 |                                                         (Megatron-LM)
//   step 12 | global_batch_size: 64 | samples_per_second: 128.0
//
// A progress bar overwrites its line, and several ranks may print the same: of a step that is
// numbered only the first time counts. Megatron-LM prints means over the steps since its last line,
// which count as often. Where numbers start again with other times, it is another run.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/core/error.h"
#include "traces/complete.h"
#include "traces/measurement/words.h"
#include "traces/steps/registry.h"

namespace sgdsim {
namespace {

constexpr std::string_view nemo_time = "train_step_timing in s";
constexpr std::string_view megatron_time = "elapsed time per iteration (ms)";
constexpr std::string_view rate_word = "samples_per_second";

// What stands behind a word and a ":" or "="; a quote may end the word. A comma before a digit
// belongs to a number, which then has separators of thousands.
std::optional<std::string_view> behind(std::string_view line, std::string_view name) {
  const std::size_t at = line.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  const bool is_part =
      at > 0 && (line[at - 1] == '_' || (line[at - 1] >= 'a' && line[at - 1] <= 'z'));
  if (is_part) return std::nullopt;
  std::string_view rest = line.substr(at + name.size());
  const auto skip = [&](std::string_view letters) {
    rest.remove_prefix(std::min(rest.find_first_not_of(letters), rest.size()));
  };
  skip("\"'");
  skip(" \t");
  if (rest.empty() || (rest.front() != ':' && rest.front() != '=')) return std::nullopt;
  rest.remove_prefix(1);
  skip(" \t");
  std::size_t end = rest.find_first_of(" \t|,;]})");
  while (end + 1 < rest.size() && rest[end] == ',' && rest[end + 1] >= '0' && rest[end + 1] <= '9')
    end = rest.find_first_of(" \t|,;]})", end + 1);
  return rest.substr(0, end);
}

std::optional<double> number_behind(std::string_view line, std::string_view name) {
  const auto word = behind(line, name);
  return word ? number_word(*word) : std::nullopt;
}

// "iteration       10/    1000"
std::optional<int64_t> iteration_in(std::string_view line) {
  constexpr std::string_view name = "iteration ";
  std::size_t at = line.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  at = line.find_first_not_of(' ', at + name.size());
  if (at == std::string_view::npos) return std::nullopt;
  return whole_word(line.substr(at, line.find_first_not_of("0123456789", at) - at));
}

// Of a step.
std::optional<std::string_view> time_word_in(std::string_view line) {
  for (const std::string_view name : {megatron_time, nemo_time, rate_word})
    if (const auto word = behind(line, name)) return word;
  return std::nullopt;
}

bool ends_with(std::string_view line, std::string_view word) {
  return word.data() + word.size() == line.data() + line.size();
}

class TrainingLogReader {
 public:
  explicit TrainingLogReader(const LogText& log) : log_(log) { run_.file = log.file; }
  StepRun read();

 private:
  void read_line(std::string_view line, bool cut_off);
  void read_batch(std::string_view line, bool cut_off);
  void add(double seconds, std::optional<int64_t> number, int64_t steps = 1);
  void follow(int64_t number);
  void check_alike(int64_t number) const;
  int64_t steps_until(std::optional<int64_t> iteration);
  void add_notes();

  const LogText& log_;
  StepRun run_;
  std::map<int64_t, double> seconds_;  // of the steps that are numbered
  std::optional<int64_t> first_number_;
  std::optional<int64_t> last_number_;
  std::optional<int64_t> last_iteration_;
  bool starts_again_ = false;
  double before_ = 0;         // seconds of the steps that occur again
  double again_ = 0;          // and what they took then
  int64_t most_between_ = 1;  // steps that one time is the mean of
  std::size_t decimals_ = 0;  // of the last time
  bool changes_batch_ = false;
  bool has_rates_ = false;
  int64_t bad_times_ = 0;
  int64_t cut_ = 0;
  int64_t repeated_ = 0;
  int64_t without_batch_ = 0;
};

void TrainingLogReader::follow(int64_t number) {
  if (!first_number_) first_number_ = number;
  const bool goes_back = last_number_ && number < *last_number_;
  if (goes_back && number <= *first_number_) starts_again_ = true;
  last_number_ = number;
}

// Several ranks may print the same, and a run may start again as it was.
void TrainingLogReader::check_alike(int64_t number) const {
  constexpr double most_apart = 0.1;
  if (!starts_again_ || std::abs(again_ - before_) <= most_apart * before_) return;
  throw InputError(log_.file, "it starts again at step " + std::to_string(*first_number_) +
                                  ", with other times, and goes on to step " +
                                  std::to_string(number) +
                                  ": these are two runs, of which each needs a file of its own");
}

void TrainingLogReader::add(double seconds, std::optional<int64_t> number, int64_t steps) {
  if (number) follow(*number);
  if (number && seconds_.contains(*number)) {
    ++repeated_;
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
    seconds_[*number] = seconds;
  }
  run_.steps.push_back(Duration::nearest_ps(seconds * 1e12));
  run_.stands_for.push_back(steps);
}

// Since the last line of Megatron-LM. The first one of a file stands for no more than the second.
int64_t TrainingLogReader::steps_until(std::optional<int64_t> iteration) {
  if (!iteration) return 1;
  const auto last = std::exchange(last_iteration_, iteration);
  if (!last) return std::max<int64_t>(1, *iteration);
  if (*iteration <= *last) return 1;
  const int64_t between = *iteration - *last;
  most_between_ = std::max(most_between_, between);
  if (run_.steps.size() == 1) run_.stands_for[0] = std::min(run_.stands_for[0], between);
  return between;
}

void TrainingLogReader::read_batch(std::string_view line, bool cut_off) {
  auto word = behind(line, "global_batch_size");
  if (!word) word = behind(line, "global batch size");
  if (!word || (cut_off && run_.global_batch && ends_with(line, *word))) return;
  const double batch = number_word(*word).value_or(0);
  if (batch < 1 || batch >= 0x1p52) return;
  const auto whole = static_cast<int64_t>(batch);
  changes_batch_ = changes_batch_ || (run_.global_batch && *run_.global_batch != whole);
  run_.global_batch = whole;
}

// Where the file ends within a line its last number may be a part of one, if it has fewer decimals
// than the others.
void TrainingLogReader::read_line(std::string_view line, bool cut_off) {
  const auto time = time_word_in(line);
  if (!time) return;
  if (cut_off && ends_with(line, *time) && decimals(*time) < decimals_) {
    ++cut_;
    return;
  }
  decimals_ = decimals(*time);
  read_batch(line, cut_off);
  const auto iteration = iteration_in(line);
  if (behind(line, megatron_time)) {
    const int64_t steps = steps_until(iteration);
    const auto ms = number_behind(line, megatron_time);
    return add(ms ? *ms / 1e3 : -1, iteration, steps);
  }
  auto number = iteration;
  if (const auto step = number_behind(line, "global_step"); step && *step < 0x1p52)
    number = static_cast<int64_t>(*step);
  if (behind(line, nemo_time)) return add(number_behind(line, nemo_time).value_or(-1), number);
  if (!run_.global_batch) {
    ++without_batch_;
    return;
  }
  has_rates_ = true;
  const double rate = number_behind(line, rate_word).value_or(0);
  add(rate > 0 ? static_cast<double>(*run_.global_batch) / rate : -1, number);
}

void TrainingLogReader::add_notes() {
  const auto note = [&](int64_t count, const std::string& text) {
    if (count > 0) run_.notes.push_back(dropped_note(count, text));
  };
  note(bad_times_, "no time above 0 and below one hour, as a plain number");
  note(cut_, "the file ends within the line");
  note(repeated_, "the same step occurred before");
  note(without_batch_, "samples_per_second, and no global_batch_size before it");
  if (most_between_ > 1)
    run_.notes.push_back("a time is the mean of up to " + std::to_string(most_between_) +
                         " steps, and counts as often: the 95th percentile is that of means");
  if (has_rates_) run_.notes.emplace_back("a step is global_batch_size / samples_per_second");
  if (changes_batch_) {
    run_.notes.emplace_back("global_batch_size changes during the run: no samples per second");
    run_.global_batch.reset();
  }
}

StepRun TrainingLogReader::read() {
  std::string text = log_.text;
  std::replace(text.begin(), text.end(), '\r', '\n');
  LineReader lines(text);
  for (std::string_view line; lines.next(line);) read_line(line, lines.was_cut_off());
  add_notes();
  if (most_between_ == 1) run_.stands_for.clear();
  if (run_.steps.empty()) {
    std::string why;
    for (const std::string& note : run_.notes) why += "; " + note;
    throw InputError(log_.file,
                     "no step: expected lines with \"train_step_timing in s\", \"elapsed time per "
                     "iteration (ms)\", or \"global_batch_size\" and \"samples_per_second\"" +
                         why);
  }
  return run_;
}

}  // namespace

bool is_training_log(std::string_view text) { return !is_mllog(text) && has_step_times(text); }

bool has_step_times(std::string_view text) {
  LineReader lines(text);
  for (std::string_view line; lines.next(line);)
    if (time_word_in(line)) return true;
  return false;
}

StepRun training_log(const LogText& log) { return TrainingLogReader(log).read(); }

}  // namespace sgdsim

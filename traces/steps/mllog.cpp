// Logs of MLPerf training: JSON behind the mark :::MLLOG, among whatever else a launcher prints.
//
//   :::MLLOG {"key": "tracked_stats", "value": {"train_step_time": 0.93}, "time_ms": 1745000000000,
//    "event_type": "POINT_IN_TIME", "metadata": {"step": 12}}
//
// A step is a `train_step_time` or `train_step_timing` (seconds) of `tracked_stats` between
// run_start and run_stop. Without one it is the global batch over `throughput` (samples/s), a mean
// since the line before; without that, what the training program prints besides. Each line counts
// as often as there are steps since the one before. The layout of the workers is not in the log.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/foreign_json.h"
#include "sim/core/json.h"
#include "sim/core/nearest_rank.h"
#include "traces/complete.h"
#include "traces/json_members.h"
#include "traces/steps/registry.h"

namespace sgdsim {
namespace {

constexpr std::string_view line_mark = ":::MLLOG";
constexpr int64_t latest_ms = int64_t{1} << 50;
constexpr int64_t most_steps = int64_t{1} << 52;

// A line of statistics. Its number grows over the run, or over its epoch; it counts samples, or
// steps as the program that wrote the log understands them.
struct LineNumbers {
  std::optional<int64_t> samples{};
  std::optional<int64_t> step{};
  std::optional<int64_t> epoch{};  // `epoch_num`, which may count samples as well
  int64_t ms = 0;
};

struct StatLine {
  double value = 0;  // seconds of a step, or samples per second; 0 or less: no such number
  LineNumbers at;
  bool is_beside_time = false;  // a rate of a line that has a time, too
};

using StatLines = std::vector<StatLine>;
using LineNumber = std::optional<int64_t> LineNumbers::*;

// Whether numbers begin anew with each epoch: they fall where it grows. With one line an epoch they
// may all be the same.
bool restart_with_epochs(const StatLines& lines, LineNumber number) {
  bool falls = false;
  bool stays = false;
  bool grows = false;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const LineNumbers& last = lines[i - 1].at;
    const LineNumbers& one = lines[i].at;
    if (!(last.*number) || !(one.*number)) continue;
    const bool is_new = last.epoch && one.epoch && *one.epoch > *last.epoch;
    grows = grows || *(one.*number) > *(last.*number);
    falls = falls || (is_new && *(one.*number) < *(last.*number));
    stays = stays || (is_new && *(one.*number) == *(last.*number));
  }
  return falls || (stays && !grows);
}

// Since the line before; nothing if a line has no such number, or it does not grow. What is counted
// from 0 on begins with one.
std::optional<std::vector<int64_t>> growth_of(const StatLines& lines, LineNumber number) {
  const bool restarts = number != &LineNumbers::epoch && restart_with_epochs(lines, number);
  std::vector<int64_t> growth;
  const LineNumbers* last = nullptr;
  for (const StatLine& line : lines) {
    const LineNumbers& one = line.at;
    if (!(one.*number)) return std::nullopt;
    const bool is_first = last == nullptr || (restarts && one.epoch != last->epoch);
    const int64_t more =
        is_first ? std::max<int64_t>(1, *(one.*number)) : *(one.*number) - *(last->*number);
    if (more <= 0) return std::nullopt;
    growth.push_back(more);
    last = &one;
  }
  return growth;
}

bool is_step_time(double seconds) { return seconds > 0 && seconds <= longest_step.s(); }

LineNumbers numbers_in(const Json& metadata, const Json& line) {
  return {whole_member(metadata, "samples_count", 0, most_steps),
          whole_member(metadata, "step", 0, most_steps),
          whole_member(metadata, "epoch_num", 0, most_steps),
          whole_member(line, "time_ms", 0, latest_ms).value_or(0)};
}

class MllogReader {
 public:
  explicit MllogReader(const LogText& log) : log_(log) { run_.file = log.file; }
  StepRun read();

 private:
  void read_line(const Json& line, const std::string& where);
  void read_stats(const Json& line);
  void keep(std::optional<int64_t>& place, const Json& line, const std::string& where);
  void mark_moment(std::optional<int64_t>& place, const Json& line, const std::string& where);
  void drop_repeats(StatLines& lines);
  void take_times();
  void take_rates();
  bool take(const StatLines& seconds, int64_t& bad);
  std::vector<int64_t> steps_between(const StatLines& seconds) const;
  void take_other_times();
  void add_notes();

  const LogText& log_;
  StepRun run_;
  std::optional<int64_t> start_ms_;
  std::optional<int64_t> stop_ms_;
  StatLines times_;
  StatLines rates_;
  int64_t broken_ = 0;
  int64_t bad_times_ = 0;
  int64_t bad_rates_ = 0;
  int64_t repeated_ = 0;
  int64_t outside_ = 0;
};

// A value that is given twice must be the same: of two runs in a file no summary says anything.
void MllogReader::keep(std::optional<int64_t>& place, const Json& line, const std::string& where) {
  const auto value = whole_member(line, "value", 1, INT64_MAX);
  if (value && place && *place != *value)
    throw InputError(where, text_member(line, "key") + " is " + std::to_string(*value) +
                                " here and " + std::to_string(*place) +
                                " before; give each run a file");
  if (value) place = value;
}

void MllogReader::mark_moment(std::optional<int64_t>& place, const Json& line,
                              const std::string& where) {
  if (place)
    throw InputError(where, text_member(line, "key") +
                                " occurs twice; give each run, and each rank that logs, a file");
  place = whole_member(line, "time_ms", 0, latest_ms);
  if (!place) throw InputError(where, text_member(line, "key") + " has no \"time_ms\"");
}

void MllogReader::read_stats(const Json& line) {
  const auto value = line.find("value");
  if (value == line.end() || !value->is_object()) return;
  const bool is_timing = value->contains("train_step_timing");
  const bool has_time = is_timing || value->contains("train_step_time");
  const bool has_rate = value->contains("throughput");
  if (!has_time && !has_rate) return;
  if (stop_ms_) {
    ++outside_;
    return;
  }
  static const Json nothing = Json::object();
  const auto member = line.find("metadata");
  const Json& metadata = member != line.end() && member->is_object() ? *member : nothing;
  const LineNumbers at = numbers_in(metadata, line);
  if (has_time)
    times_.push_back(
        {number_member(*value, is_timing ? "train_step_timing" : "train_step_time").value_or(0),
         at});
  if (has_rate) rates_.push_back({number_member(*value, "throughput").value_or(0), at, has_time});
}

void MllogReader::read_line(const Json& line, const std::string& where) {
  const std::string key = text_member(line, "key");
  if (key == "submission_benchmark") run_.benchmark = printable(text_member(line, "value"));
  if (key == "global_batch_size") keep(run_.global_batch, line, where);
  if (key == "gradient_accumulation_steps") keep(run_.accumulation, line, where);
  if (key == "max_sequence_length") keep(run_.sequence_length, line, where);
  if (key == "run_start") {
    // What was printed before is warming up.
    outside_ += static_cast<int64_t>(times_.size());
    times_.clear();
    rates_.clear();
    mark_moment(start_ms_, line, where);
  }
  if (key == "run_stop") mark_moment(stop_ms_, line, where);
  if (key == "tracked_stats") read_stats(line);
}

// Several ranks may log the same.
void MllogReader::drop_repeats(StatLines& lines) {
  const bool restarts = restart_with_epochs(lines, &LineNumbers::step) ||
                        restart_with_epochs(lines, &LineNumbers::samples);
  std::set<std::pair<int64_t, int64_t>> seen;
  std::erase_if(lines, [&](const StatLine& line) {
    const auto number = line.at.step ? line.at.step : line.at.samples;
    const int64_t epoch = restarts ? line.at.epoch.value_or(-1) : 0;
    if (!number || seen.emplace(epoch, *number).second) return false;
    if (!line.is_beside_time) ++repeated_;
    return true;
  });
}

// Whether the numbers of lines count samples though they are called steps: so many steps take more
// than one and a half times as long as the stamps of the lines say.
bool count_samples(const StatLines& seconds, const std::vector<int64_t>& growth) {
  const int64_t elapsed_ms = seconds.back().at.ms - seconds.front().at.ms;
  if (elapsed_ms <= 0) return false;
  double steps_s = 0;
  for (std::size_t i = 1; i < seconds.size(); ++i)
    if (is_step_time(seconds[i].value))
      steps_s += static_cast<double>(growth[i]) * seconds[i].value;
  return steps_s * 1e3 > 1.5 * static_cast<double>(elapsed_ms);
}

// The steps that end with each number of samples, rounded where they end, but one at least.
void divide(std::vector<int64_t>& samples, int64_t batch) {
  int64_t sum = 0;
  int64_t before = 0;
  for (int64_t& count : samples) {
    sum += count;
    const int64_t until = (sum + batch / 2) / batch;
    count = std::max<int64_t>(1, until - std::exchange(before, until));
  }
}

// How many steps each line is of; empty if the lines do not tell. The first one counts from 0 where
// the time since run_start is long enough for that; a run that went on from a checkpoint began
// elsewhere, and then it stands for no more than the second.
std::vector<int64_t> MllogReader::steps_between(const StatLines& seconds) const {
  const auto samples = run_.global_batch ? growth_of(seconds, &LineNumbers::samples) : std::nullopt;
  const auto steps = growth_of(seconds, &LineNumbers::step);
  const auto epochs = growth_of(seconds, &LineNumbers::epoch);
  const bool by_epochs = !samples && !steps && epochs && count_samples(seconds, *epochs);
  if (seconds.empty() || (!samples && !steps && !by_epochs)) return {};
  std::vector<int64_t> counts = samples ? *samples : steps ? *steps : *epochs;
  if (samples || count_samples(seconds, counts)) {
    if (!run_.global_batch) return {};
    divide(counts, *run_.global_batch);
  }
  constexpr double with_reading = 1.2;
  const StatLine& first = seconds.front();
  const double since_start_s =
      static_cast<double>(first.at.ms - start_ms_.value_or(first.at.ms)) / 1e3;
  const double takes_s = static_cast<double>(counts[0]) * first.value;
  if (takes_s > with_reading * since_start_s)
    counts[0] = counts.size() > 1 ? std::min(counts[0], counts[1]) : 1;
  return counts;
}

// Whether the lines tell how many steps each is of.
bool MllogReader::take(const StatLines& seconds, int64_t& bad) {
  const std::vector<int64_t> counts = steps_between(seconds);
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (!is_step_time(seconds[i].value)) {
      ++bad;
      continue;
    }
    run_.steps.push_back(Duration::nearest_ps(seconds[i].value * 1e12));
    if (!counts.empty()) run_.stands_for.push_back(counts[i]);
  }
  return !counts.empty();
}

void MllogReader::take_times() {
  take(times_, bad_times_);
  const auto one_each = [](int64_t steps) { return steps == 1; };
  if (std::all_of(run_.stands_for.begin(), run_.stands_for.end(), one_each))
    run_.stands_for.clear();
  else
    run_.notes.emplace_back(
        "train_step_time counts as often as there are steps since the line before; the 95th "
        "percentile is that of lines");
}

void MllogReader::take_rates() {
  StatLines seconds = rates_;
  for (StatLine& line : seconds) line.value = static_cast<double>(*run_.global_batch) / line.value;
  const bool is_told = take(seconds, bad_rates_);
  run_.notes.emplace_back(
      "no train_step_time: a step is global_batch_size / throughput, the mean since the line "
      "before; the 95th percentile is that of means");
  if (!is_told && rates_.size() > 1)
    run_.notes.emplace_back(
        "the lines do not say how many steps a throughput is the mean of: all count alike");
}

// Of a run without a `train_step_time`.
void MllogReader::take_other_times() {
  if (!rates_.empty() && run_.global_batch) return take_rates();
  if (!rates_.empty())
    run_.notes.emplace_back("a throughput, and no global_batch_size to make steps of it");
  if (!has_step_times(log_.text)) return;
  const StepRun printed = training_log(log_);
  run_.steps = printed.steps;
  run_.stands_for = printed.stands_for;
  if (!run_.global_batch) run_.global_batch = printed.global_batch;
  run_.notes = printed.notes;
  run_.notes.emplace_back("no train_step_time: steps are those that the training program prints");
}

void MllogReader::add_notes() {
  const auto note = [&](int64_t count, const std::string& text) {
    if (count > 0)
      run_.notes.push_back(std::to_string(count) + (count == 1 ? " line" : " lines") +
                           " dropped: " + text);
  };
  note(broken_, "no JSON behind " + std::string(line_mark));
  note(bad_times_, "train_step_time is no time above 0 and below one hour");
  note(bad_rates_, "throughput is no rate above 0");
  note(repeated_, "the same step occurred before");
  note(outside_, "before run_start or after run_stop");
  if (!stop_ms_) run_.notes.emplace_back("no run_stop: the run was cut off, or is not over");
}

StepRun MllogReader::read() {
  for (const LogLine& line : lines_of(log_)) {
    const std::size_t at = line.text.find(line_mark);
    if (at == std::string_view::npos) continue;
    const std::string_view json_text = line.text.substr(at + line_mark.size());
    if (const auto json = foreign_value(json_text, line.where); json && json->is_object())
      read_line(*json, line.where);
    else
      ++broken_;
  }
  drop_repeats(times_);
  drop_repeats(rates_);
  bad_rates_ = static_cast<int64_t>(std::erase_if(
      rates_, [](const StatLine& line) { return !std::isfinite(line.value) || line.value <= 0; }));
  if (times_.empty())
    take_other_times();
  else
    take_times();
  add_notes();
  if (run_.steps.empty()) {
    std::string why;
    for (const std::string& note : run_.notes) why += "; " + note;
    throw InputError(log_.file,
                     "no step: expected lines :::MLLOG with the key \"tracked_stats\" and a "
                     "\"train_step_time\" or \"train_step_timing\", or a \"throughput\" and a "
                     "\"global_batch_size\"" +
                         why);
  }
  if (start_ms_ && stop_ms_) {
    if (*stop_ms_ < *start_ms_) throw InputError(log_.file, "run_stop lies before run_start");
    if (*stop_ms_ - *start_ms_ < int64_t{1} << 32) run_.run = Duration::ms(*stop_ms_ - *start_ms_);
  }
  std::vector<double> stated;
  for (const StatLine& rate : rates_) stated.push_back(rate.value);
  if (!stated.empty()) run_.stated_samples_per_s = median_of(stated);
  return run_;
}

}  // namespace

bool is_mllog(std::string_view text) { return text.find(line_mark) != std::string_view::npos; }

StepRun mllog(const LogText& log) { return MllogReader(log).read(); }

}  // namespace sgdsim

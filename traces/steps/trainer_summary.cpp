// Bars of tqdm and lines of the Trainer count where they agree with the rate.
#include "traces/steps/trainer_summary.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "traces/measurement/words.h"
#include "traces/steps/training_lines.h"

namespace sgdsim {
namespace {

constexpr double most_counted = 0x1p52;
constexpr std::string_view digits = "0123456789";

// "1,000", as the Trainer prints what it begins with.
std::optional<int64_t> grouped_behind(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(at + name.size());
  rest = rest.substr(0, rest.find_first_not_of("0123456789,"));
  std::string number(rest);
  number.erase(std::remove(number.begin(), number.end(), ','), number.end());
  return whole_word(number);
}

// "100%|####| 30/30 [": the numbers of bars that came to their end, if they are among these.
std::optional<int64_t> only_bar_in(std::string_view text, const StepRange& range) {
  constexpr std::string_view mark = "100%|";
  std::set<int64_t> found;
  for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + 1)) {
    std::string_view rest = text.substr(at + mark.size());
    const std::size_t bar = rest.substr(0, rest.find('\n')).find('|');
    if (bar == rest.npos) continue;
    rest.remove_prefix(bar + 1);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    const auto steps = whole_word(rest.substr(0, rest.find_first_not_of(digits)));
    if (!steps || *steps < range.least || *steps > range.most) continue;
    const std::string twice = std::to_string(*steps) + '/' + std::to_string(*steps) + ' ';
    if (rest.starts_with(twice)) found.insert(*steps);
  }
  return found.size() == 1 ? std::optional(*found.begin()) : std::nullopt;
}

// Of the last run that began before: one may have begun with more than memory held.
std::optional<int64_t> batch_before(std::string_view text, std::size_t summary) {
  constexpr std::string_view name =
      "Total train batch size (w. parallel, distributed & accumulation) = ";
  const std::size_t last = text.substr(0, summary).rfind(name);
  return grouped_behind(last == text.npos ? text : text.substr(last), name);
}

// "0:36:58.55"
std::optional<double> clock_s(std::string_view text) {
  double seconds = 0;
  for (int part = 0; part < 3; ++part) {
    const std::size_t colon = part < 2 ? text.find(':') : text.size();
    if (colon == text.npos) return std::nullopt;
    const auto number = number_word(text.substr(0, colon));
    if (!number) return std::nullopt;
    seconds = seconds * 60 + *number;
    text.remove_prefix(std::min(colon + 1, text.size()));
  }
  return seconds;
}

}  // namespace

std::string with_whole_summaries(std::string text) {
  constexpr std::string_view first = "train_runtime";
  constexpr std::string_view last = "train_steps_per_second";
  constexpr int most_lines = 8;
  for (std::size_t at = text.find(first); at != text.npos; at = text.find(first, at + 1)) {
    const std::size_t end = text.find(last, at);
    if (end == text.npos) break;
    if (end > text.find(first, at + 1)) continue;
    const auto from = text.begin() + static_cast<std::ptrdiff_t>(at);
    const auto to = text.begin() + static_cast<std::ptrdiff_t>(end);
    if (std::count(from, to, '\n') <= most_lines) std::replace(from, to, '\n', ' ');
  }
  return text;
}

std::optional<double> runtime_s_in(std::string_view line) {
  const auto word = word_behind(line, "train_runtime");
  if (!word) return std::nullopt;
  if (const auto seconds = number_word(*word); seconds && line.find(" day") == line.npos)
    return seconds;
  if (word->find(':') != word->npos) return clock_s(*word);
  std::string_view rest = line.substr(static_cast<std::size_t>(word->data() - line.data()));
  const auto days = number_word(*word);
  const std::size_t comma = rest.find(", ");
  if (!days || comma == rest.npos || !rest.substr(word->size()).starts_with(" day")) return days;
  rest.remove_prefix(comma + 2);
  const auto seconds = clock_s(rest.substr(0, rest.find_first_not_of("0123456789:.")));
  return seconds ? std::optional(*days * 86'400 + *seconds) : std::nullopt;
}

std::optional<StepRange> steps_between(double runtime_s, double steps_per_s) {
  const double most = std::floor(runtime_s * (steps_per_s + trainer_rounds_by));
  if (!(most >= 1) || most >= most_counted) return std::nullopt;
  const double least = std::ceil(runtime_s * (steps_per_s - trainer_rounds_by));
  const double middle = std::clamp(std::round(runtime_s * steps_per_s), 1.0, most);
  return StepRange{static_cast<int64_t>(std::clamp(least, 1.0, middle)),
                   static_cast<int64_t>(middle), static_cast<int64_t>(most)};
}

TrainerFacts trainer_facts_in(std::string_view text, std::string_view summary, double runtime_s,
                              double steps_per_s) {
  TrainerFacts facts;
  facts.done = grouped_behind(text, "TrainOutput(global_step=");
  facts.global_batch = batch_before(text, static_cast<std::size_t>(summary.data() - text.data()));
  const auto range = steps_between(runtime_s, steps_per_s);
  if (!range) return facts;
  const auto fits = [&](const std::optional<int64_t>& steps) {
    return steps && *steps >= range->least && *steps <= range->most;
  };
  facts.planned = grouped_behind(text, "Total optimization steps = ");
  if (!fits(facts.planned)) facts.planned = grouped_behind(text, "\"global_step\": ");
  if (!fits(facts.planned)) facts.planned = only_bar_in(text, *range);
  return facts;
}

}  // namespace sgdsim

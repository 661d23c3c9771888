// What all records of steps need once they are read.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "sim/core/error.h"
#include "traces/recorded/own_timeline.h"
#include "traces/recorded/pipeline_timeline.h"

namespace sgdsim {
namespace {

// Numbers without gaps, in their order; and a note where the record has gaps.
void close_gaps(StepRecord& record, int32_t RecordedOperation::*field, int& count,
                const std::string& what) {
  std::set<int32_t> used;
  for (const RecordedOperation& one : record.operations) used.insert(one.*field);
  std::map<int32_t, int32_t> number;
  for (const int32_t one : used) number.emplace(one, static_cast<int32_t>(number.size()));
  count = std::max(1, static_cast<int>(number.size()));
  if (number.empty() || used.size() == static_cast<std::size_t>(*used.rbegin()) + 1) return;
  for (RecordedOperation& one : record.operations) one.*field = number[one.*field];
  const bool is_one = used.size() == 1;
  record.notes.push_back("the record has " + what + (is_one ? " " : "s ") +
                         short_list({used.begin(), used.end()}) + " only; " +
                         (is_one ? "it is" : "they are") + " numbered from 0 here");
}

}  // namespace

std::string short_list(const std::vector<int64_t>& numbers) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, numbers.size()); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
  return numbers.size() > most ? text + ", ..." : text;
}

std::string steps_that(const std::vector<int64_t>& steps, const std::string& is_one,
                       const std::string& are_many) {
  return steps.size() == 1 ? "step " + short_list(steps) + " " + is_one
                           : "steps " + short_list(steps) + " " + are_many;
}

InputError no_such_step(const std::string& file, const std::vector<int64_t>& wanted,
                        const std::vector<int64_t>& present) {
  std::string text = "has no step " + short_list(wanted);
  if (present.size() == 1) text += "; it has step " + short_list(present) + " only";
  if (present.size() > 1)
    text += "; it has " + std::to_string(present.size()) + " steps from " +
            std::to_string(present.front()) + " to " + std::to_string(present.back());
  return {file, text};
}

std::string recorded_timeline_text(std::string_view head) {
  if (is_own_timeline(head))
    return "it is a timeline of sgdsim; sgdsim diagnose reads those of sgdsim run and layout";
  if (is_pipeline_timeline(head))
    return "it is a timeline of StragglerAnalysis, which sgdsim diagnose reads";
  return "";
}

std::optional<int64_t> number_behind(std::string_view text, std::string_view words) {
  const std::size_t found = text.find(words);
  if (found == text.npos) return std::nullopt;
  const char* const from = text.data() + found + words.size();
  int64_t value = 0;
  const auto [rest, problem] = std::from_chars(from, text.data() + text.size(), value);
  if (problem != std::errc{} || rest == from || value < 0 || value > most_recorded_number)
    return std::nullopt;
  return value;
}

void close_record(StepRecord& record) {
  if (record.operations.empty()) throw InputError(record.file, "holds no training step");
  close_gaps(record, &RecordedOperation::replica, record.replicas, "data-parallel rank");
  close_gaps(record, &RecordedOperation::stage, record.stages, "stage");
  if (int64_t{record.replicas} * record.stages > most_recorded_workers)
    throw InputError(record.file,
                     "holds more than " + std::to_string(most_recorded_workers) + " workers");
  if (static_cast<std::size_t>(record.replicas) * static_cast<std::size_t>(record.stages) >
      record.operations.size())
    throw InputError(record.file, "has " + std::to_string(record.replicas) + " replicas of " +
                                      std::to_string(record.stages) + " stages, but only " +
                                      std::to_string(record.operations.size()) +
                                      " operations; expected some of every stage of each replica");
  int32_t chunks = 0;
  std::map<int32_t, std::pair<int64_t, int64_t>> spans;
  for (const RecordedOperation& one : record.operations) {
    chunks = std::max(chunks, one.chunk);
    const auto [found, is_new] = spans.try_emplace(one.step, one.start_ns, one.end_ns);
    found->second.first = std::min(found->second.first, one.start_ns);
    found->second.second = std::max(found->second.second, one.end_ns);
  }
  record.chunks = chunks + 1;
  for (const auto& [step, span] : spans)
    if (span.second - span.first > longest_step_ns)
      throw InputError(record.file,
                       "step " + std::to_string(record.steps[static_cast<std::size_t>(step)]) +
                           " lasts more than a day: are its clocks set?");
}

}  // namespace sgdsim

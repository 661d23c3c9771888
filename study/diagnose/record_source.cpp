// The format is known by the beginning of the file.
#include "study/diagnose/record_source.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <sstream>

#include "sim/core/byte_source.h"
#include "sim/core/error.h"
#include "sim/core/number_list.h"
#include "sim/core/refusal.h"
#include "study/diagnose/record_folder.h"
#include "study/import/profile_trace.h"
#include "traces/measurement/registry.h"
#include "traces/recorded/own_timeline.h"
#include "traces/recorded/pipeline_timeline.h"
#include "traces/registry.h"
#include "traces/unread.h"

namespace sgdsim {
namespace {

int64_t whole_in_list(const std::string& word, const std::string& where) {
  int64_t value = 0;
  const char* const end = word.data() + word.size();
  const auto [rest, problem] = std::from_chars(word.data(), end, value);
  if (word.empty() || problem != std::errc{} || rest != end || value < 0)
    throw InputError(where, "expected step numbers such as 12,20-23, got \"" + word + "\"");
  return value;
}

constexpr std::size_t head_B = 1 << 18;
constexpr int64_t most_layout_stages = 1 << 20;
constexpr int64_t most_exchanges = 1'000'000;

FoundRecord record_in(const std::string& file, const RecordWords& words,
                      const std::vector<int64_t>& steps, const Watch& watch) {
  if (file == "-")
    throw InputError("-", "a record is read twice, so it cannot be standard input; give a file");
  if (is_folder(file))
    return {read_record_folder(file, words, steps, watch), diagnose::Clocks::apart};
  std::error_code problem;  // a file that is not there is named by who opens it
  if (std::filesystem::exists(file, problem) && !std::filesystem::is_regular_file(file, problem))
    throw InputError(file, "a record is read twice, so it cannot be a pipe; give a file");
  const std::string head = beginning_of(file, head_B);
  check_no_layout(words, file);
  if (is_pipeline_timeline(head)) {
    ByteSource source(file, watch.look);
    return {read_pipeline_timeline(source, steps), diagnose::Clocks::said_to_agree};
  }
  if (is_own_timeline(head)) {
    ByteSource source(file, watch.look);
    return {read_own_timeline(source, steps), diagnose::Clocks::one};
  }
  if (is_kineto(head))
    throw InputError(file, "is the profile of one rank; expected the folder with those of all");
  if (is_nccl_inspector(head))
    throw InputError(file, "is the log of one process; expected the folder with those of all");
  if (const std::string why = why_unread(head, file); !why.empty()) throw InputError(file, why);
  throw InputError(file, "is no record of training steps; expected " + std::string(record_formats));
}

}  // namespace

std::vector<int64_t> parse_steps(const std::string& text, const std::string& where) {
  constexpr std::size_t most = 1'000'000;
  std::set<int64_t> steps;
  for (const std::string& word : split_list(text)) {
    const std::size_t dash = word.find('-');
    const int64_t first = whole_in_list(word.substr(0, dash), where);
    const int64_t last = dash == word.npos ? first : whole_in_list(word.substr(dash + 1), where);
    if (last < first || last - first >= static_cast<int64_t>(most))
      throw InputError(where, "\"" + word + "\" is no range of at most 1,000,000 steps");
    for (int64_t step = first; step <= last; ++step) steps.insert(step);
    if (steps.size() > most) throw InputError(where, "names more than 1,000,000 steps");
  }
  return {steps.begin(), steps.end()};
}

void name_workers(StepRecord& record, const std::string& file) {
  record.workers.assign(
      static_cast<std::size_t>(record.replicas) * static_cast<std::size_t>(record.stages), "");
  std::istringstream lines(read_text(file));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line[0] == '#' || line == "replica,stage,name") continue;
    const std::string where = file + ": line " + std::to_string(number);
    const std::vector<std::string> words = split_list(line);
    if (words.size() != 3 || words[2].empty())
      throw InputError(where, "expected replica,stage,name, got \"" + line.substr(0, 60) + "\"");
    const auto numbered = [&](const std::string& word, int count, const std::string& what) {
      const std::vector<int> some = parse_numbers(word, count, where, what);
      if (some.size() != 1) throw InputError(where, "expected one " + what + " a line");
      return some.front();
    };
    const int replica = numbered(words[0], record.replicas, "replica");
    const int stage = numbered(words[1], record.stages, "stage");
    std::string& name =
        record.workers[static_cast<std::size_t>(replica) * static_cast<std::size_t>(record.stages) +
                       static_cast<std::size_t>(stage)];
    if (!name.empty())
      throw InputError(where, "names stage " + std::to_string(stage) + " of replica " +
                                  std::to_string(replica) + " a second time");
    if (const std::string problem = problem_of_text(words[2], true); !problem.empty())
      throw InputError(where, "the name " + problem);
    name = words[2];
  }
}

Fields record_fields(RecordWords& words) {
  return {
      {"steps", words.steps, "steps to use, as 12,20-23 (default: all)"},
      {"layout", words.layout,
       "of logs of NCCL's Inspector and Chakra: how the job is divided, as \"tp8 pp4 dp16\" "
       "(default: all ranks are replicas)"},
      Field("stage", words.stage, "of a layout with stages: the one to look at")
          .from(0, most_layout_stages)
          .otherwise("none"),
      Field("exchanges", words.exchanges,
            "of such logs: exchanges of a step (default: as they repeat)")
          .from(1, most_exchanges),
      Field("names", words.names, "table (CSV) replica,stage,name of workers, e.g. of their hosts")
          .files(FileWords::only)};
}

void check_no_layout(const RecordWords& words, const std::string& file) {
  const char* const given = !words.layout.empty()  ? "--layout"
                            : words.stage >= 0     ? "--stage"
                            : words.exchanges != 0 ? "--exchanges"
                                                   : nullptr;
  if (given != nullptr)
    throw no_effect(given, "on " + file + ", which says itself how its steps are");
}

RecordWords division_of(const std::string& file, const RecordWords& words) {
  if (!is_folder(file) || !profiles_in(file).empty()) return {};
  RecordWords division;
  division.layout = words.layout;
  division.stage = words.stage;
  division.exchanges = words.exchanges;
  return division;
}

bool looks_like_record(const std::string& file) {
  std::error_code problem;
  if (is_folder(file)) return true;
  if (!std::filesystem::is_regular_file(file, problem)) return false;
  const std::string head = beginning_of(file, head_B);
  return is_pipeline_timeline(head) || is_own_timeline(head);
}

FoundRecord read_record(const std::string& file, const RecordWords& words, const Watch& watch) {
  const std::vector<int64_t> steps =
      words.steps.empty() ? std::vector<int64_t>() : parse_steps(words.steps, "--steps");
  FoundRecord found = record_in(file, words, steps, watch);
  if (!words.names.empty()) name_workers(found.record, words.names);
  return found;
}

}  // namespace sgdsim

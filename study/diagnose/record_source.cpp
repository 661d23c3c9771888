// The format is known by the beginning of the file.
#include "study/diagnose/record_source.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <sstream>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/number_list.h"
#include "study/import/profile_trace.h"
#include "traces/byte_source.h"
#include "traces/recorded/own_timeline.h"
#include "traces/recorded/pipeline_timeline.h"
#include "traces/recorded/profiles.h"
#include "traces/registry.h"

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

// A file that cannot be read costs its rank, not the answer.
StepRecord profiles_as_record(const std::string& folder, const std::vector<int64_t>& steps,
                              const Watch& watch) {
  RankProfiles ranks;
  for (const std::string& file : profiles_in(folder)) {
    try {
      ByteSource source(file, watch.look);
      ranks.add(profiler::profile_of(profiler::read_events(source, nullptr), false));
    } catch (const InputError& error) {
      ranks.add_problem("left out: " + std::string(error.what()));
    }
  }
  return ranks.record(folder, steps);
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

FoundRecord read_record(const std::string& file, const std::vector<int64_t>& steps,
                        const Watch& watch) {
  if (file == "-")
    throw InputError("-", "a record is read twice, so it cannot be standard input; give a file");
  if (is_folder(file)) return {profiles_as_record(file, steps, watch), false};
  std::error_code problem;  // a file that is not there is named by who opens it
  if (std::filesystem::exists(file, problem) && !std::filesystem::is_regular_file(file, problem))
    throw InputError(file, "a record is read twice, so it cannot be a pipe; give a file");
  const std::string head = beginning_of(file, 1 << 18);
  if (is_pipeline_timeline(head)) {
    ByteSource source(file, watch.look);
    return {read_pipeline_timeline(source, steps), true};
  }
  if (is_own_timeline(head)) {
    ByteSource source(file, watch.look);
    return {read_own_timeline(source, steps), true};
  }
  if (is_kineto(head))
    throw InputError(file, "is the profile of one rank; expected the folder with those of all");
  throw InputError(file, "is no record of training steps; expected " + std::string(record_formats));
}

}  // namespace sgdsim

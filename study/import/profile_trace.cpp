// A profile with no options beside it.
#include "study/import/profile_trace.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>

#include "sim/core/foreign_json.h"
#include "sim/core/quantity.h"
#include "traces/failures/failure_log.h"
#include "traces/kineto/execution_trace.h"
#include "traces/measurement/words.h"
#include "traces/recorded/pipeline_timeline.h"
#include "traces/registry.h"
#include "traces/steps/registry.h"
#include "traces/steps/training_lines.h"
#include "traces/trace_file.h"
#include "traces/unread.h"

namespace sgdsim {
namespace {

using profiler::GradientBucket;
using profiler::Recording;

bool begins_as_profile(const std::string& file) { return is_kineto(beginning_of(file, 1 << 20)); }

bool is_named_as_profile(const std::string& file) {
  return file.ends_with(".json") || file.ends_with(".json.gz");
}

Recording recording_in(const std::string& file) {
  std::vector<profiler::RankProfile> profiles;
  for (const std::string& one : profiles_in(file)) {
    ByteSource source(one);
    profiles.push_back(profiler::profile_of(profiler::read_events(source, nullptr), false));
  }
  profiler::ProfileOptions options;
  options.numbers_files = profiles.size() > 1;
  return recording_of(std::move(profiles), options);
}

// "Megatron-LM, NeMo, ...", each once.
std::string read_programs() {
  std::set<std::string_view> met = {"others"};
  std::string names;
  for (const TrainingLine& line : training_lines())
    if (met.insert(line.program).second)
      names += (names.empty() ? "" : ", ") + std::string(line.program);
  return names;
}

bool is_of_training(std::string_view line) {
  const auto has = [&](std::string_view word) { return line.find(word) != line.npos; };
  if (line.starts_with("s:") && (has(" trl:") || has(" tel:"))) return true;  // main.log of llm.c
  return (has("step") || has("iter") || has("epoch")) &&
         (has("loss") || has("tok/s") || has("train_time:"));
}

// An object, or a list of some: "[2026-01-01 ..." is a line of a log.
bool is_json(std::string_view head) {
  const char first = first_of_json(head);
  const std::size_t next = head.find_first_not_of(" \t\r\n", head.find('[') + 1);
  return first == '{' || (first == '[' && next != head.npos && head[next] == '{');
}

// Of logs that no reader of this command knows; empty: it is none.
std::string why_no_import(std::string_view head) {
  if (has_step_times(head)) return "";
  if (is_failure_log(head))
    return "is a log of failures or of jobs; `sgdsim fit FILE` makes rates of failures of it";
  LineReader lines(head);
  std::string_view line;
  while (!is_json(head) && lines.next(line))
    if (is_of_training(line))
      return "is a log of training, with no line that is read; those of " + read_programs() +
             " are, and `sgdsim import training-log FILE` shows them";
  return "";
}

}  // namespace

bool is_folder(const std::string& file) {
  std::error_code none;
  return std::filesystem::is_directory(file, none);
}

// An execution trace is answered by the reader of profiles, which says what is missing.
bool is_profile(const std::string& file) {
  if (file.starts_with('{')) return false;  // what stands in place of a file is one of ours
  if (is_folder(file)) return !profiles_in(file).empty();
  const std::string head = beginning_of(file, 1 << 20);
  return is_kineto(head) || profiler::is_execution_trace(head);
}

bool is_execution_trace_file(const std::string& file) {
  return !is_folder(file) && profiler::is_execution_trace(beginning_of(file, 1 << 20));
}

// Standard input and pipes can be read once only.
void refuse_timeline(const std::string& file, const std::string& before) {
  std::error_code none;
  if (file == "-" || !std::filesystem::is_regular_file(file, none)) return;
  const std::string head = beginning_of(file, 1 << 18);
  if (is_kineto(head)) return;
  if (const std::string text = recorded_timeline_text(head); !text.empty())
    throw InputError(file, before + text);
  refuse_unread(file, head);
  if (const std::string why = why_no_import(head); !why.empty()) throw InputError(file, why);
}

void refuse_unread(const std::string& file, const std::string& head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == head.npos || head[first] == '{') return;
  if (const std::string why = why_unread(head, file); !why.empty()) throw InputError(file, why);
}

std::vector<std::string> profiles_in(const std::string& file) {
  if (!is_folder(file)) return {file};
  std::vector<std::string> files;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(file, none))
    if (const std::string name = entry.path().string();
        entry.is_regular_file(none) && is_named_as_profile(name) && begins_as_profile(name))
      files.push_back(name);
  std::sort(files.begin(), files.end());
  return files;
}

std::string RecordedStep::why_no_replay() const {
  if (!why_no_trace.empty()) return why_no_trace;
  if (recording.ranks == 1 || step.no_buckets.empty()) return {};
  return file + ": " + step.no_buckets;
}

RecordedStep recorded_step(const std::string& file) {
  RecordedStep recorded{file, recording_in(file), {}, {}};
  try {
    recorded.step = trace_of(recorded.recording, std::nullopt, name_of_profile(file));
  } catch (const InputError& error) {
    recorded.why_no_trace = error.what();
  }
  return recorded;
}

NoReplay::NoReplay(std::shared_ptr<const RecordedStep> step)
    : InputError(step->file, "its step cannot be simulated as data-parallel training (" +
                                 step->why_no_replay() + "); sgdsim advise says what was recorded"),
      recorded(std::move(step)) {}

Trace trace_of_profile(const std::string& file) {
  return trace_of(recording_in(file), std::nullopt, name_of_profile(file)).trace;
}

std::string name_of_profile(const std::string& file) {
  if (file == "-") return "trace";
  std::filesystem::path name = std::filesystem::path(file).filename();
  if (name.empty()) name = std::filesystem::path(file).parent_path().filename();
  for (const char* ending : {".gz", ".json", ".trace", ".pt"})
    if (name.extension() == ending) name = name.stem();
  return name.empty() ? "profile" : name.string();
}

Json recorded_curve(const Recording& recording) {
  std::map<Bytes, Duration> times;
  for (const GradientBucket& bucket : recording.buckets) {
    const auto [found, is_new] = times.try_emplace(bucket.size, bucket.transfer);
    if (!is_new) found->second = std::min(found->second, bucket.transfer);
  }
  Json samples = Json::array();
  for (const auto& [size, time] : times)
    samples.push_back({{"size", to_text(size)}, {"time", to_text(time)}});
  return {{"schema", "sgdsim/collective-cost/1"},
          {"source", "The shortest time that was recorded for each size."},
          {"ranks", recording.group_size},
          {"samples", samples}};
}

Json recorded_strategy(const Recording& recording) {
  if (recording.buckets.empty()) return Json();
  Json sizes = Json::array();
  for (const GradientBucket& bucket : recording.buckets) sizes.push_back(to_text(bucket.size));
  return {{"strategy", {{"name", "fixed_buckets"}, {"sizes", sizes}}}};
}

// Of the machine only the number of ranks matters: the curve says how long messages take.
Json recorded_exchange(const Recording& recording) {
  Json json = {{"cluster",
                {{"shape", "single_switch"},
                 {"nodes", recording.group_size},
                 {"nic", {{"latency", "0 us"}, {"bandwidth", "100 Gbps"}}}}},
               {"fidelity", "closed_form"}};
  if (!recording.buckets.empty()) json["collective"] = recorded_curve(recording);
  return json;
}

Json experiment_of(const RecordedStep& recorded, bool with_exchange) {
  Json json = {{"name", recorded.step.trace.name}, {"trace", to_json(recorded.step.trace)}};
  if (with_exchange) json.update(recorded_exchange(recorded.recording));
  const Json strategy = recorded_strategy(recorded.recording);
  json.update(strategy.is_null() ? Json({{"strategy", "ddp"}}) : strategy);
  return json;
}

}  // namespace sgdsim

// Files are told apart by how they begin.
#include "study/diagnose/record_folder.h"

#include <algorithm>

#include "models/training/layout.h"
#include "sim/core/byte_source.h"
#include "sim/core/error.h"
#include "sim/core/refusal.h"
#include "study/import/profile_trace.h"
#include "study/import/rank_files.h"
#include "traces/measurement/registry.h"
#include "traces/recorded/job_logs.h"
#include "traces/recorded/profiles.h"

namespace sgdsim {
namespace {

bool begins_as_inspector_log(const std::string& file) {
  try {
    return is_nccl_inspector(beginning_of(file, 1 << 14));
  } catch (const InputError&) {
    return false;
  }
}

bool is_named_as_chakra(const std::string& file) {
  return file.ends_with(".et") || file.ends_with(".et.gz");
}

StepRecord profiles_as_record(const std::vector<std::string>& files, const std::string& folder,
                              const std::vector<int64_t>& steps, bool clocks_may_be_far_apart,
                              const Watch& watch) {
  RankProfiles ranks(clocks_may_be_far_apart);
  for (const std::string& file : files) {
    try {
      ByteSource source(file, watch.look);
      ranks.add(profiler::profile_of(profiler::read_events(source, nullptr), false));
    } catch (const InputError& error) {
      ranks.add_problem("left out: " + std::string(error.what()));
    }
  }
  return ranks.record(folder, steps);
}

template <class Read>
std::vector<ExchangeLog> logs_of(const std::vector<std::string>& files,
                                 std::vector<std::string>& notes, const Read& read) {
  std::vector<ExchangeLog> logs;
  for (const std::string& file : files) {
    try {
      logs.push_back(read(file));
    } catch (const InputError& error) {
      notes.push_back("left out: " + std::string(error.what()));
    }
  }
  return logs;
}

// The first few.
std::string joined(const std::vector<std::string>& notes) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, notes.size()); ++i) text += "; " + notes[i];
  return notes.size() > most ? text + "; and " + std::to_string(notes.size() - most) + " more"
                             : text;
}

}  // namespace

// Ranks that share exchanges inside of layers count as one: tensor and context parallel.
LogLayout log_layout(const RecordWords& words) {
  LogLayout division;
  division.exchanges = words.exchanges;
  division.clocks_may_be_far_apart = words.clocks_may_be_far_apart;
  if (words.layout.empty()) {
    if (words.stage >= 0) throw needs("--stage", "--layout, as --layout \"tp8 pp4\"");
    return division;
  }
  const Layout layout = parse_layout(words.layout, "--layout");
  division.tensor = layout.tensor * layout.context;
  division.stages = layout.pipeline;
  division.replicas = layout.replicas > 1 ? layout.replicas : 0;
  division.stage = words.stage;
  if (division.stages > 1 && division.stage < 0)
    throw InputError("--layout",
                     "has " + std::to_string(division.stages) +
                         " stages, and logs of collectives do not say what stages send each other; "
                         "choose one of them, as --stage 0");
  if (division.stage >= division.stages)
    throw InputError("--stage", std::to_string(division.stage) + " is none of the layout's " +
                                    std::to_string(division.stages) + ", which count from 0");
  return division;
}

StepRecord read_record_folder(const std::string& folder, const RecordWords& words,
                              const std::vector<int64_t>& steps, const Watch& watch) {
  const LogLayout division = log_layout(words);
  const std::vector<std::string> profiles = profiles_in(folder);
  if (!profiles.empty()) {
    check_no_layout(words, folder);
    return profiles_as_record(profiles, folder, steps, words.clocks_may_be_far_apart, watch);
  }
  std::vector<std::string> notes;
  std::vector<ExchangeLog> logs;
  std::string format = "logs of NCCL's Inspector";
  if (const auto files = files_that(folder, begins_as_inspector_log); !files.empty()) {
    logs = logs_of(files, notes, [&](const std::string& file) {
      ByteSource source(file, watch.look);
      return inspector_log(source);
    });
  } else if (const auto traces = files_that(folder, is_named_as_chakra); !traces.empty()) {
    format = "traces of Chakra";
    logs = logs_of(traces, notes, chakra_log);
    number_members(logs);
  } else {
    throw InputError(folder,
                     "holds no profile of PyTorch, no log of NCCL's Inspector and no trace "
                     "of Chakra (.et)");
  }
  if (logs.size() < 2)
    throw InputError(folder, "has fewer than two files of one job's ranks" + joined(notes));
  return record_of_logs(std::move(logs), division, folder, format, notes, steps);
}

}  // namespace sgdsim

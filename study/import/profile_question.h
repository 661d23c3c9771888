// `sgdsim import kineto`: profiles of PyTorch, one per rank, as a trace, and the recorded step as a
// case.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/answer.h"
#include "study/question_fields.h"
#include "traces/kineto/to_trace.h"

namespace sgdsim {

struct ProfileWords {
  std::vector<std::string> files;  // or folders
  std::vector<std::string> execution_traces;
  std::string name;
  std::string model;
  std::string device;
  std::string communication;
  std::string parameters;
  std::string like;
  std::string rank;
  std::string cluster;
  int64_t ranks = 0;
  int64_t batch = 0;
  bool keep_first = false;
  bool as_case = false;
};
// Of the command; the question has `as_case` besides.
Fields profile_fields(ProfileWords& words);
Fields profile_question_fields(ProfileWords& words);

// Folders become the profiles in them. InputError for words that do not go together.
struct ProfileFiles {
  std::vector<std::string> profiles;
  std::vector<std::string> all;  // with those that are given beside them
  bool from_folder = false;
};
ProfileFiles profile_files(const ProfileWords& words);

struct RecordedProfiles {
  profiler::Recording recording;
  std::optional<profiler::ParameterSizes> sizes;  // from beside it
};
RecordedProfiles read_profiles(const ProfileWords& words, const ProfileFiles& files,
                               const Watch& watch = {});

struct ImportedProfile {
  profiler::Recording recording;
  profiler::ImportedStep step;
};
ImportedProfile import_profile(const ProfileWords& words, RecordedProfiles profiles);

// The case of the step; `case_file`: from where the path of a cluster counts, or "-".
Json case_of(const ProfileWords& words, const ImportedProfile& imported,
             const std::string& case_file);

// The trace as its file is written, or the case.
Answer answer_import_profile(const Value& question, const Watch& watch);

}  // namespace sgdsim

// Options, files in their order, what they become.
#include "study/import/profile_question.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "sim/core/error.h"
#include "study/import/kineto_case.h"
#include "study/import/profile_trace.h"
#include "study/shipped_inputs.h"
#include "topologies/cluster_file.h"
#include "traces/kineto/execution_link.h"
#include "traces/log_text.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

constexpr int64_t most_ranks = 10'000'000;
constexpr int64_t most_samples = 1'000'000'000;

profiler::ProfileOptions options_of(const ProfileWords& words) {
  profiler::ProfileOptions options;
  options.keep_first = words.keep_first;
  if (!words.communication.empty())
    options.communication.emplace(words.communication, "--communication");
  if (!words.rank.empty())
    for (const std::string_view word : split(words.rank))
      options.rank.push_back(whole_in(word, "a rank", 0, most_ranks, "--rank"));
  if (words.ranks > 0) options.ranks = words.ranks;
  return options;
}

std::optional<profiler::ParameterSizes> sizes_of(const ProfileWords& words) {
  if (!words.parameters.empty())
    return profiler::parameter_table(read_text(words.parameters), words.parameters);
  if (!words.like.empty())
    return profiler::parameters_like(read_trace(trace_document(words.like).root()), words.like);
  return std::nullopt;
}

std::filesystem::path absolute(const std::string& file) {
  std::error_code problem;
  const auto path = std::filesystem::absolute(file, problem);
  if (problem) throw InputError(file, "this folder has no name: " + problem.message());
  return path;
}

std::string path_from(const std::string& case_file, const std::string& cluster) {
  const auto path = absolute(cluster);
  if (case_file == "-") return path.string();
  return path.lexically_proximate(absolute(case_file).parent_path()).string();
}

// A name stays one, JSON stays JSON, and a file counts from the folder of the case.
Json cluster_in(const std::string& case_file, const std::string& cluster) {
  if (shipped_cluster(cluster)) return cluster;
  if (cluster.starts_with('{')) return cluster_document(cluster).root().json();
  return path_from(case_file, cluster);
}

profiler::RankProfile read_profile(const ProfileWords& words, const ProfileFiles& files,
                                   std::size_t i, const profiler::ProfileOptions& options,
                                   const Watch& watch) {
  ByteSource source(files.profiles[i], watch.look);
  const auto* others = options.communication ? &*options.communication : nullptr;
  profiler::ProfileRecords records = profiler::read_events(source, others);
  if (!words.execution_traces.empty()) {
    ByteSource traced(words.execution_traces[i], watch.look);
    profiler::link_with(profiler::read_execution_trace(traced), records);
  }
  return profiler::profile_of(std::move(records), options.keep_first);
}

// Sizes of tensors come from one place.
void check_sizes(const ProfileWords& words) {
  const std::pair<const char*, bool> sources[] = {
      {"--parameters", !words.parameters.empty()},
      {"--like", !words.like.empty()},
      {"--execution-trace", !words.execution_traces.empty()}};
  const char* first = nullptr;
  for (const auto& [option, is_given] : sources) {
    if (!is_given) continue;
    if (first != nullptr)
      throw InputError(option, std::string("says the sizes of tensors, as ") + first +
                                   " does: give one of them");
    first = option;
  }
}

// Buckets are played among all workers of a cluster.
void check_workers(const std::string& cluster, const profiler::Recording& recording) {
  const int workers = read_cluster(cluster_document(cluster).root()).cluster.network.workers();
  if (workers == recording.group_size) return;
  const std::string ranks = std::to_string(recording.group_size);
  const std::string name = cluster.starts_with('{') ? "the cluster" : cluster;
  throw InputError("--cluster", name + " has " + std::to_string(workers) +
                                    " workers, and the recording is of " + ranks +
                                    (recording.group_size == 1 ? " rank" : " ranks") +
                                    " that exchange gradients; give a cluster of " + ranks +
                                    " (nodes times workers per node)");
}

}  // namespace

Fields profile_fields(ProfileWords& words) {
  return {
      Field("files", words.files,
            "profiles (.json or .json.gz), one per rank, or their folder; - is standard input")
          .needed()
          .files(FileWords::only)
          .option("FILE"),
      {"cluster", words.cluster,
       "cluster on which the case runs, by name or file (default: the recorded transfer times)"},
      Field("parameters", words.parameters,
            "table (CSV) name,elements of the model's parameters in order")
          .files(FileWords::only),
      {"like", words.like,
       "trace of the same model, by name or file, for the sizes of its tensors"},
      Field("execution_trace", words.execution_traces,
            "execution traces of the same run, one per profile, for sizes it does not say")
          .files(FileWords::only),
      {"keep_first", words.keep_first,
       "use the first step too (default: only if there is no other)"},
      {"communication", words.communication,
       "regular expression for kernels that communicate besides those of NCCL and RCCL"},
      {"rank", words.rank,
       "rank of each file, e.g. 0,1, where files do not say (no distributedInfo)"},
      Field("ranks", words.ranks, "number of ranks, where files do not say").from(1, most_ranks),
      {"name", words.name, "name of the trace (default: the name of the file)"},
      {"model", words.model, "name of the neural network"},
      {"device", words.device, "name of the GPU (default: as the file says)"},
      Field("batch", words.batch, "samples per worker and iteration").from(1, most_samples)};
}

Fields profile_question_fields(ProfileWords& words) {
  return profile_fields(words) +
         Fields{{"as_case", words.as_case,
                 "answer with the case: the recorded step, for sgdsim validate"}};
}

ProfileFiles profile_files(const ProfileWords& words) {
  ProfileFiles files;
  for (const std::string& file : words.files) {
    const bool is_one = file == "-" || !is_folder(file);
    files.from_folder = files.from_folder || !is_one;
    const std::vector<std::string> some = is_one ? std::vector{file} : profiles_in(file);
    if (some.empty()) throw InputError(file, "holds no profile of PyTorch (.json or .json.gz)");
    if (is_one) refuse_timeline(file, "is no profile of PyTorch; ");
    files.profiles.insert(files.profiles.end(), some.begin(), some.end());
  }
  files.all = files.profiles;
  const bool is_file = !shipped_cluster(words.cluster) && !words.cluster.starts_with('{');
  for (const std::string& file :
       {words.parameters, words.like, is_file ? words.cluster : std::string()})
    if (!file.empty()) files.all.push_back(file);
  if (words.cluster == "-")
    throw InputError("--cluster",
                     "the case names this file, which standard input is not: give a "
                     "name or a file");
  files.all.insert(files.all.end(), words.execution_traces.begin(), words.execution_traces.end());
  if (std::count(files.all.begin(), files.all.end(), "-") > 1)
    throw InputError("FILE", "standard input can be read once only");
  check_sizes(words);
  const std::size_t traces = words.execution_traces.size();
  if (traces != 0 && traces != files.profiles.size())
    throw InputError("--execution-trace",
                     "expected one for each of the " + std::to_string(files.profiles.size()) +
                         " profiles, in their order, got " + std::to_string(traces));
  return files;
}

RecordedProfiles read_profiles(const ProfileWords& words, const ProfileFiles& files,
                               const Watch& watch) {
  profiler::ProfileOptions options = options_of(words);
  options.numbers_files = files.from_folder && files.profiles.size() > 1;
  // Mistakes beside the profiles show before these are read, which may take long.
  auto sizes = sizes_of(words);
  if (!words.cluster.empty()) read_cluster(cluster_document(words.cluster).root());
  std::vector<profiler::RankProfile> profiles;
  for (std::size_t i = 0; i < files.profiles.size(); ++i)
    profiles.push_back(read_profile(words, files, i, options, watch));
  return {profiler::recording_of(std::move(profiles), options), std::move(sizes)};
}

ImportedProfile import_profile(const ProfileWords& words, RecordedProfiles profiles) {
  const std::string name = words.name.empty() ? name_of_profile(words.files.front()) : words.name;
  ImportedProfile imported{std::move(profiles.recording), {}};
  imported.step = profiler::trace_of(imported.recording, profiles.sizes, name);
  Trace& trace = imported.step.trace;
  if (!words.model.empty()) trace.model = words.model;
  if (!words.device.empty()) trace.device = words.device;
  trace.batch = words.batch;
  return imported;
}

Json case_of(const ProfileWords& words, const ImportedProfile& imported,
             const std::string& case_file) {
  std::optional<Json> cluster;
  if (!words.cluster.empty()) {
    check_workers(words.cluster, imported.recording);
    cluster = cluster_in(case_file, words.cluster);
  }
  return replay_case(imported.recording, imported.step, cluster);
}

Answer answer_import_profile(const Value& question, const Watch& watch) {
  ProfileWords words = words_of(question, profile_question_fields);
  if (!words.cluster.empty() && !words.as_case)
    throw InputError("--cluster", "is what a case runs on: goes with as_case");
  const ProfileFiles files = profile_files(words);
  const ImportedProfile imported = import_profile(words, read_profiles(words, files, watch));
  const Trace& trace = imported.step.trace;
  if (words.as_case) return {case_of(words, imported, "-"), trace.notes};
  Answer answer{to_json(trace), trace.notes};
  answer.text = to_text(trace);
  return answer;
}

}  // namespace sgdsim

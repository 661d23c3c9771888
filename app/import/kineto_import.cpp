// Options, files in their order, outputs.
#include "app/import/kineto_import.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "app/usage.h"
#include "sim/core/error.h"
#include "study/import/kineto_case.h"
#include "study/import/kineto_report.h"
#include "study/import/profile_trace.h"
#include "study/shipped_inputs.h"
#include "study/validate/case_file.h"
#include "study/write_text.h"
#include "topologies/cluster_file.h"
#include "traces/kineto/execution_link.h"
#include "traces/kineto/to_trace.h"
#include "traces/log_text.h"
#include "traces/registry.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

struct KinetoArguments {
  std::vector<std::string> files;
  std::vector<std::string> execution_traces;
  std::string out = "-";
  std::string name;
  std::string model;
  std::string device;
  std::string communication;
  std::string parameters;
  std::string like;
  std::string rank;
  std::string case_file;
  std::string cluster;
  int64_t ranks = 0;
  int64_t batch = 0;
  bool keep_first = false;
  bool force = false;
};

void add_files(CLI::App& one, KinetoArguments& arguments) {
  one.add_option("FILE", arguments.files,
                 "profiles (.json or .json.gz), one per rank, or their folder; - is standard input")
      ->required();
  one.add_option("-o,--out", arguments.out, "trace file to write (default: standard output)");
  add_force_option(one, arguments.force);
  one.add_option("--case", arguments.case_file,
                 "case to write: the recorded step, for sgdsim validate");
  one.add_option("--cluster", arguments.cluster,
                 "cluster on which the case runs (default: the recorded transfer times)")
      ->needs("--case");
  auto* table = one.add_option("--parameters", arguments.parameters,
                               "table (CSV) name,elements of the model's parameters in order");
  auto* like =
      one.add_option("--like", arguments.like,
                     "trace of the same model, by name or file, for the sizes of its tensors")
          ->excludes(table);
  one.add_option("--execution-trace", arguments.execution_traces,
                 "execution traces of the same run, one per profile, for sizes it does not say")
      ->excludes(table)
      ->excludes(like);
}

void add_choices(CLI::App& one, KinetoArguments& arguments) {
  one.add_flag("--keep-first", arguments.keep_first,
               "use the first step too (default: only if there is no other)");
  one.add_option("--communication", arguments.communication,
                 "regular expression for kernels that communicate besides those of NCCL and RCCL");
  one.add_option("--rank", arguments.rank,
                 "rank of each file, e.g. 0,1, where files do not say (no distributedInfo)");
  one.add_option("--ranks", arguments.ranks, "number of ranks, where files do not say")
      ->check(CLI::Range(int64_t{1}, int64_t{10'000'000}).description(""));
  one.add_option("--name", arguments.name, "name of the trace (default: the name of the file)");
  one.add_option("--model", arguments.model, "name of the neural network");
  one.add_option("--device", arguments.device, "name of the GPU (default: as the file says)");
  one.add_option("--batch", arguments.batch, "samples per worker and iteration")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}).description(""));
}

profiler::ProfileOptions options_of(const KinetoArguments& arguments) {
  profiler::ProfileOptions options;
  options.keep_first = arguments.keep_first;
  if (!arguments.communication.empty())
    options.communication.emplace(arguments.communication, "--communication");
  if (!arguments.rank.empty())
    for (const std::string_view word : split(arguments.rank))
      options.rank.push_back(whole_in(word, "a rank", 0, 10'000'000, "--rank"));
  if (arguments.ranks > 0) options.ranks = arguments.ranks;
  return options;
}

std::optional<profiler::ParameterSizes> sizes_of(const KinetoArguments& arguments) {
  if (!arguments.parameters.empty())
    return profiler::parameter_table(read_text(arguments.parameters), arguments.parameters);
  if (!arguments.like.empty())
    return profiler::parameters_like(read_trace(trace_document(arguments.like).root()),
                                     arguments.like);
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

void check_arguments(const KinetoArguments& arguments) {
  std::vector<std::string> inputs = arguments.files;
  for (const std::string& file : {arguments.parameters, arguments.like, arguments.cluster})
    if (!file.empty()) inputs.push_back(file);
  inputs.insert(inputs.end(), arguments.execution_traces.begin(), arguments.execution_traces.end());
  OutputGuard guard(inputs, arguments.force);
  guard.claim("--out", arguments.out, {.schema = trace_schema, .beginning = {}});
  guard.claim("--case", arguments.case_file, {.schema = case_schema, .beginning = {}});
  if (arguments.out == "-" && arguments.case_file == "-")
    throw InputError("--case", "standard output already takes the trace; give --out a file");
  if (std::count(inputs.begin(), inputs.end(), "-") > 1)
    throw InputError("FILE", "standard input can be read once only");
  if (const std::size_t traces = arguments.execution_traces.size();
      traces != 0 && traces != arguments.files.size())
    throw InputError("--execution-trace",
                     "expected one for each of the " + std::to_string(arguments.files.size()) +
                         " profiles, in their order, got " + std::to_string(traces));
}

// Folders become the profiles in them.
std::vector<std::string> files_of(const KinetoArguments& arguments) {
  std::vector<std::string> files;
  for (const std::string& file : arguments.files) {
    const std::vector<std::string> some = file == "-" ? std::vector{file} : profiles_in(file);
    if (some.empty()) throw InputError(file, "holds no profile of PyTorch (.json or .json.gz)");
    files.insert(files.end(), some.begin(), some.end());
  }
  return files;
}

profiler::RankProfile read_profile(const KinetoArguments& arguments, std::size_t i,
                                   const profiler::ProfileOptions& options) {
  ByteSource source(arguments.files[i]);
  const auto* others = options.communication ? &*options.communication : nullptr;
  profiler::ProfileRecords records = profiler::read_events(source, others);
  if (!arguments.execution_traces.empty()) {
    ByteSource traced(arguments.execution_traces[i]);
    profiler::link_with(profiler::read_execution_trace(traced), records);
  }
  return profiler::profile_of(std::move(records), options.keep_first);
}

// What was imported is kept whatever becomes of the case.
void write_case(const KinetoArguments& arguments, const profiler::Recording& recording,
                const profiler::ImportedStep& step, Streams streams) {
  std::optional<std::string> cluster;
  if (!arguments.cluster.empty()) cluster = path_from(arguments.case_file, arguments.cluster);
  try {
    const std::string text = replay_case(recording, step, cluster).dump(1) + "\n";
    write_text(text, arguments.case_file, streams.out);
  } catch (const InputError& error) {
    throw InputError("", std::string(error.what()) + "; no case was written" +
                             (arguments.out == "-" ? "" : ", but " + arguments.out + " was"));
  }
}

void import_kineto(KinetoArguments arguments, Streams streams) {
  const bool names_all = std::none_of(arguments.files.begin(), arguments.files.end(),
                                      [](const std::string& file) { return is_folder(file); });
  const std::string named = arguments.files.front();
  arguments.files = files_of(arguments);
  check_arguments(arguments);
  profiler::ProfileOptions options = options_of(arguments);
  options.numbers_files = !names_all && arguments.files.size() > 1;
  const auto sizes = sizes_of(arguments);
  if (!arguments.cluster.empty()) read_cluster_file(arguments.cluster);  // a mistake shows now
  std::vector<profiler::RankProfile> profiles;
  for (std::size_t i = 0; i < arguments.files.size(); ++i)
    profiles.push_back(read_profile(arguments, i, options));
  const profiler::Recording recording = profiler::recording_of(std::move(profiles), options);
  print_recording(recording, streams.log);
  const std::string name = arguments.name.empty() ? name_of_profile(named) : arguments.name;
  profiler::ImportedStep step = profiler::trace_of(recording, sizes, name);
  if (!arguments.model.empty()) step.trace.model = arguments.model;
  if (!arguments.device.empty()) step.trace.device = arguments.device;
  step.trace.batch = arguments.batch;
  for (const std::string& note : step.trace.notes) streams.log << "sgdsim: note: " << note << '\n';
  write_text(to_text(step.trace), arguments.out, streams.out);
  if (!arguments.case_file.empty()) write_case(arguments, recording, step, streams);
}

}  // namespace

void add_kineto_import(CLI::App& import, Streams streams) {
  CLI::App* one = import.add_subcommand(
      "kineto", "Traces of PyTorch's profiler (Kineto), as a trace file and a case.");
  auto arguments = std::make_shared<KinetoArguments>();
  add_files(*one, *arguments);
  add_choices(*one, *arguments);
  one->footer("Example:\n  sgdsim import kineto tests/data/kineto.json --case results/step.json");
  one->callback([arguments, streams] { import_kineto(*arguments, streams); });
}

}  // namespace sgdsim

// Options, files in their order, outputs.
#include "app/import/kineto_import.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "app/import/kineto_case.h"
#include "app/import/kineto_report.h"
#include "app/import/profile_trace.h"
#include "app/validate/case_file.h"
#include "app/write_text.h"
#include "sim/core/error.h"
#include "topologies/cluster_file.h"
#include "traces/kineto/to_trace.h"
#include "traces/log_text.h"
#include "traces/registry.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

struct KinetoArguments {
  std::vector<std::string> files;
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
                 "profiles (.json or .json.gz), one per rank; - is standard input")
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
  one.add_option("--like", arguments.like, "trace of the same model, for the sizes of its tensors")
      ->excludes(table);
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
    return profiler::parameters_like(read_trace_file(arguments.like), arguments.like);
  return std::nullopt;
}

std::string path_from(const std::string& case_file, const std::string& cluster) {
  const auto absolute = std::filesystem::absolute(cluster);
  if (case_file == "-") return absolute.string();
  return absolute.lexically_proximate(std::filesystem::absolute(case_file).parent_path()).string();
}

void check_arguments(const KinetoArguments& arguments) {
  std::vector<std::string> inputs = arguments.files;
  for (const std::string& file : {arguments.parameters, arguments.like, arguments.cluster})
    if (!file.empty()) inputs.push_back(file);
  OutputGuard guard(inputs, arguments.force);
  guard.claim("--out", arguments.out, {.schema = trace_schema, .beginning = {}});
  guard.claim("--case", arguments.case_file, {.schema = case_schema, .beginning = {}});
  if (arguments.out == "-" && arguments.case_file == "-")
    throw InputError("--case", "standard output already takes the trace; give --out a file");
  if (std::count(inputs.begin(), inputs.end(), "-") > 1)
    throw InputError("FILE", "standard input can be read once only");
}

void import_kineto(const KinetoArguments& arguments, Streams streams) {
  check_arguments(arguments);
  const profiler::ProfileOptions options = options_of(arguments);
  const auto sizes = sizes_of(arguments);
  if (!arguments.cluster.empty()) read_cluster_file(arguments.cluster);  // a mistake shows now
  std::vector<profiler::RankProfile> profiles;
  for (const std::string& file : arguments.files) {
    ByteSource source(file);
    const auto* others = options.communication ? &*options.communication : nullptr;
    profiles.push_back(
        profiler::profile_of(profiler::read_events(source, others), options.keep_first));
  }
  const profiler::Recording recording = profiler::recording_of(std::move(profiles), options);
  print_recording(recording, streams.log);
  const std::string name =
      arguments.name.empty() ? name_of_profile(arguments.files.front()) : arguments.name;
  profiler::ImportedStep step = profiler::trace_of(recording, sizes, name);
  if (!arguments.model.empty()) step.trace.model = arguments.model;
  if (!arguments.device.empty()) step.trace.device = arguments.device;
  step.trace.batch = arguments.batch;
  for (const std::string& note : step.trace.notes) streams.log << "sgdsim: note: " << note << '\n';
  std::string case_text;
  if (!arguments.case_file.empty()) {
    std::optional<std::string> cluster;
    if (!arguments.cluster.empty()) cluster = path_from(arguments.case_file, arguments.cluster);
    case_text = replay_case(recording, step, cluster).dump(1) + "\n";
  }
  write_text(to_text(step.trace), arguments.out, streams.out);
  if (!case_text.empty()) write_text(case_text, arguments.case_file, streams.out);
}

}  // namespace

void import_profiles(const std::vector<std::string>& files, const std::string& out,
                     const std::string& name, bool force, Streams streams) {
  KinetoArguments arguments;
  arguments.files = files;
  arguments.out = out;
  arguments.name = name;
  arguments.force = force;
  import_kineto(arguments, streams);
}

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

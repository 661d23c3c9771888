// `sgdsim fit`: measured times become alpha, beta and gamma, with what they are worth.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/commands.h"
#include "app/fit/fit_files.h"
#include "app/fit/fit_gpu.h"
#include "app/fit/fit_replay.h"
#include "app/fit/fit_report.h"
#include "app/write_text.h"

namespace sgdsim {
namespace {

struct File {
  std::string text;
  std::string path;
};

// Before anything is fitted.
void check_outputs(const FitArguments& arguments) {
  std::vector<std::string> inputs = arguments.files;
  inputs.insert(inputs.end(), arguments.inside.begin(), arguments.inside.end());
  if (!arguments.into.empty()) inputs.push_back(arguments.into);
  OutputGuard guard(inputs, arguments.force);
  const bool is_link = !arguments.from_collective.empty();
  guard.claim(
      "--out", arguments.out,
      {.schema = is_link ? "sgdsim/cluster/1" : "sgdsim/collective-cost/1", .beginning = {}});
  guard.claim("--case", arguments.case_file, {.schema = "sgdsim/case/1", .beginning = {}});
  guard.claim("--report", arguments.report, {.schema = {}, .beginning = page_beginning()});
}

// All are made before the first is written.
std::vector<File> files_of(const FitArguments& arguments, FitAnswer& answer) {
  std::vector<File> files;
  if (!arguments.out.empty()) {
    const Json json = !arguments.into.empty()       ? cluster_with_link(arguments, answer)
                      : answer.fits.front().is_link ? link_cluster(answer, answer.fits.front().fit)
                                                    : curve_samples(answer);
    if (answer.fits.front().is_link) answer.played = played_on(json, arguments, answer);
    files.push_back({json.dump(2) + "\n", arguments.out});
  }
  if (!arguments.case_file.empty())
    files.push_back({held_out_case(answer).dump(1) + "\n", arguments.case_file});
  if (!arguments.report.empty()) files.push_back({picture_of(answer), arguments.report});
  return files;
}

// The fit of the links inside nodes, which comes first; `arguments` go on with its cluster.
FitAnswer fit_inside(FitArguments& arguments) {
  if (arguments.link.empty()) arguments.link = "nic";
  arguments.on_cluster = true;
  FitArguments inside = arguments;
  inside.files = arguments.inside;
  inside.link = "gpu_link";
  inside.name.clear();
  inside.ranks.clear();
  inside.options.clear();
  if (inside.from_collective == "hierarchical") inside.from_collective = "ring";
  FitAnswer answer = answer_fit(inside);
  const Json json = cluster_with_link(inside, answer);
  answer.played = played_on(json, inside, answer);
  arguments.into_text = json.dump();
  return answer;
}

void answer_gpu(const FitArguments& arguments, Streams streams) {
  std::vector<std::string> inputs = arguments.files;
  inputs.push_back(arguments.gpu);
  OutputGuard guard(inputs, arguments.force);
  guard.claim("--out", arguments.out, {.schema = gpu_schema, .beginning = {}});
  const GpuFit fit = fit_gpu(arguments);
  for (const std::string& note : fit.notes) streams.log << "sgdsim: warning: " << note << '\n';
  const std::string text = fit.file.dump(2) + "\n";
  if (!arguments.out.empty()) write_text(text, arguments.out, streams.out);
  if (arguments.out == "-") return;
  if (arguments.format == "json")
    streams.out << text;
  else
    print(streams.out, fit);
}

void answer(FitArguments arguments, Streams streams) {
  if (!arguments.gpu.empty()) return answer_gpu(arguments, streams);
  check_outputs(arguments);
  std::optional<FitAnswer> inside;
  if (!arguments.inside.empty()) inside = fit_inside(arguments);
  FitAnswer answer = answer_fit(arguments);
  const std::vector<File> files = files_of(arguments, answer);
  if (inside)
    for (const std::string& note : inside->notes)
      streams.log << "sgdsim: warning: --inside: " << note << '\n';
  for (const std::string& note : answer.notes) streams.log << "sgdsim: warning: " << note << '\n';
  bool is_output_taken = false;
  for (const File& file : files) {
    write_text(file.text, file.path, streams.out);
    is_output_taken = is_output_taken || file.path == "-";
  }
  if (is_output_taken) return;
  if (arguments.format == "json") {
    Json json = to_json(answer);
    if (inside) json["inside"] = to_json(*inside);
    streams.out << json.dump(2) << '\n';
    return;
  }
  if (inside) {
    streams.out << "inside the nodes: ";
    print_fits(streams.out, *inside);
    streams.out << "\nacross the nodes: ";
  }
  print_fits(streams.out, answer);
}

}  // namespace

void add_fit_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand(
      "fit", "Fit start-up and time per byte to measured times, in one to four segments.");
  auto arguments = std::make_shared<FitArguments>();
  add_options(*command, *arguments);
  command->footer(
      "Examples:\n"
      "  sgdsim fit tests/data/nccl_tests.log\n"
      "  sgdsim fit tests/data/osu_allreduce.log --ranks 4 --segments 2 --out results/curve.json\n"
      "  sgdsim fit tests/data/measurement.json --from-collective stated --out results/link.json\n"
      "  sgdsim fit tests/data/measurement.json --from-collective stated --crossings 2 \\\n"
      "      --into topologies/data/dgx_a100_2.json --link gpu_link --out results/dgx.json");
  command->callback([arguments, streams] { answer(*arguments, streams); });
}

}  // namespace sgdsim

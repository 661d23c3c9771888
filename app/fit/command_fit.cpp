// `sgdsim fit`: measured times become alpha, beta and gamma, with what they are worth.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/commands.h"
#include "app/field_options.h"
#include "app/usage.h"
#include "study/fit/fit_answer.h"
#include "study/fit/fit_failures.h"
#include "study/fit/fit_files.h"
#include "study/fit/fit_gpu.h"
#include "study/fit/fit_nccl.h"
#include "study/fit/fit_pairs.h"
#include "study/fit/fit_report.h"
#include "study/write_text.h"

namespace sgdsim {
namespace {

struct File {
  std::string text;
  std::string path;
};

struct FitCommand {
  FitArguments words;
  bool force = false;
  std::string format = "table";
};

// Before anything is fitted.
void check_outputs(const FitCommand& arguments) {
  const FitArguments& words = arguments.words;
  std::vector<std::string> inputs = words.files;
  inputs.insert(inputs.end(), words.inside.begin(), words.inside.end());
  if (!words.into.empty()) inputs.push_back(words.into);
  OutputGuard guard(inputs, arguments.force);
  const bool is_link = !words.from_collective.empty();
  guard.claim(
      "--out", words.out,
      {.schema = is_link ? "sgdsim/cluster/1" : "sgdsim/collective-cost/1", .beginning = {}});
  guard.claim("--case", words.case_file, {.schema = "sgdsim/case/1", .beginning = {}});
  guard.claim("--report", words.report, {.schema = {}, .beginning = page_beginning()});
}

// All are made before the first is written.
std::vector<File> files_of(WholeFit& fit) {
  const FitArguments& words = fit.arguments;
  std::vector<File> files;
  if (!words.out.empty()) files.push_back({file_of(fit).dump(2) + "\n", words.out});
  if (!words.case_file.empty())
    files.push_back({held_out_case(fit.answer).dump(1) + "\n", words.case_file});
  if (!words.report.empty()) files.push_back({picture_of(fit.answer), words.report});
  return files;
}

void answer_gpu(const FitCommand& arguments, Streams streams) {
  const FitArguments& words = arguments.words;
  std::vector<std::string> inputs = words.files;
  inputs.push_back(words.gpu);
  OutputGuard guard(inputs, arguments.force);
  guard.claim("--out", words.out, {.schema = gpu_schema, .beginning = {}});
  const GpuFit fit = fit_gpu(words);
  for (const std::string& note : fit.notes) streams.log << "sgdsim: warning: " << note << '\n';
  const std::string text = fit.file.dump(2) + "\n";
  if (!words.out.empty()) write_text(text, words.out, streams.out);
  if (words.out == "-") return;
  if (arguments.format == "json")
    streams.out << text;
  else
    print(streams.out, fit);
}

void answer_failures(const FitCommand& arguments, Streams streams) {
  const FitArguments& words = arguments.words;
  OutputGuard guard(words.files, arguments.force);
  guard.claim("--out", words.out, {.schema = "sgdsim/failures/1", .beginning = {}});
  const FailureFit fit = fit_failures(words);
  for (const std::string& note : fit.record.notes)
    streams.log << "sgdsim: warning: " << note << '\n';
  if (!words.out.empty()) write_text(file_of(fit).dump(2) + "\n", words.out, streams.out);
  if (words.out == "-") return;
  if (arguments.format == "json")
    streams.out << to_json(fit).dump(2) << '\n';
  else
    print(streams.out, fit);
}

// What becomes a cluster: NCCL's constants in the one that was given, and links between all pairs.
template <class Fitted>
void answer_cluster(const FitCommand& arguments, Streams streams, const Fitted& fit_words) {
  const FitArguments& words = arguments.words;
  std::vector<std::string> inputs = words.files;
  inputs.push_back(words.cluster);
  OutputGuard guard(inputs, arguments.force);
  guard.claim("--out", words.out, {.schema = "sgdsim/cluster/1", .beginning = {}});
  const auto fit = fit_words(words);
  for (const std::string& note : fit.notes) streams.log << "sgdsim: warning: " << note << '\n';
  if (!words.out.empty()) write_text(fit.file.dump(2) + "\n", words.out, streams.out);
  if (words.out == "-") return;
  if (arguments.format == "json")
    streams.out << to_json(fit).dump(2) << '\n';
  else
    print(streams.out, fit);
}

void answer(const FitCommand& arguments, Streams streams) {
  if (is_of_failures(arguments.words)) return answer_failures(arguments, streams);
  if (!arguments.words.gpu.empty()) return answer_gpu(arguments, streams);
  if (is_of_nccl(arguments.words)) return answer_cluster(arguments, streams, fit_nccl_logs);
  if (is_of_pairs(arguments.words)) return answer_cluster(arguments, streams, fit_pairs);
  check_outputs(arguments);
  WholeFit fit = answer_whole_fit(arguments.words);
  const std::vector<File> files = files_of(fit);
  for (const std::string& warning : warnings_of(fit))
    streams.log << "sgdsim: warning: " << warning << '\n';
  bool is_output_taken = false;
  for (const File& file : files) {
    write_text(file.text, file.path, streams.out);
    is_output_taken = is_output_taken || file.path == "-";
  }
  if (is_output_taken) return;
  if (arguments.format == "json") {
    streams.out << to_json(fit).dump(2) << '\n';
    return;
  }
  if (fit.inside) {
    streams.out << "inside the nodes: ";
    print_fits(streams.out, *fit.inside);
    streams.out << "\nacross the nodes: ";
  }
  print_fits(streams.out, fit.answer);
}

}  // namespace

void add_fit_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand(
      "fit",
      "Fit start-up and time per byte to measured times, in one to four segments; or rates to a "
      "log of failures.");
  auto arguments = std::make_shared<FitCommand>();
  FitArguments& words = arguments->words;
  add_options(*command, fit_fields(words));
  command->add_option(
      "-o,--out", words.out,
      "write the fitted link as a cluster file, the curve as the \"collective\" of an experiment, "
      "the GPU file, or the failures of `sgdsim goodput`; - is standard output");
  command->add_option(
      "--case", words.case_file,
      "write a case file for sgdsim validate: the held-out rows, on the link fitted "
      "without them");
  command->add_option("--report", words.report, "write an HTML page with a picture of the fit");
  add_force_option(*command, arguments->force);
  add_format_option(*command, arguments->format);
  command->footer(
      "Examples:\n"
      "  sgdsim fit tests/data/nccl_tests.log\n"
      "  sgdsim fit tests/data/osu_allreduce.log --ranks 4 --segments 2 --out results/curve.json\n"
      "  sgdsim fit tests/data/measurement.json --from-collective stated --out results/link.json\n"
      "  sgdsim fit tests/data/measurement.json --from-collective stated --crossings 2 \\\n"
      "      --into topologies/data/dgx_a100_2.json --link gpu_link --out results/dgx.json\n"
      "  sgdsim fit traces/measurement/data/nccl_abci_a100.json --from-collective nccl \\\n"
      "      --cluster dgx_a100_2 --set nics_per_node=4 --holdout ranks --out results/abci.json\n"
      "  sgdsim fit app/goodput_questions/node_failures.csv --units 256 --since 2026-01-01 \\\n"
      "      --until 2026-05-01 --out results/failures.json");
  command->callback([arguments, streams] { answer(*arguments, streams); });
}

}  // namespace sgdsim

// `sgdsim report`: answers of the program as one page to look at.
#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.h"
#include "app/report/report_data.h"
#include "app/usage.h"
#include "sim/core/output.h"
#include "study/sweep/emit.h"
#include "study/write_text.h"

namespace sgdsim {
namespace {

struct ReportArguments {
  ReportRequest request;
  std::string out = "-";
  bool force = false;
};

std::string command_of_report(const ReportArguments& arguments) {
  std::string command = "sgdsim report";
  for (const std::string& file : arguments.request.files) command += " " + shell_word(file);
  if (!arguments.request.title.empty())
    command += " --title " + shell_word(arguments.request.title);
  for (const std::string& axis : arguments.request.axes) command += " --axis " + shell_word(axis);
  for (const std::string& setting : arguments.request.settings)
    command += " --set " + shell_word(setting);
  return command + (arguments.out == "-" ? "" : " --out " + shell_word(arguments.out));
}

void make_report(ReportArguments& arguments, Streams streams) {
  OutputGuard(arguments.request.files, arguments.force)
      .claim("--out", arguments.out,
             {.schema = {}, .beginning = std::string("<!DOCTYPE html>\n") + picture_beginning});
  arguments.request.command = command_of_report(arguments);
  std::vector<std::string> notes;
  write_text(report_page(arguments.request, &notes), arguments.out, streams.out);
  for (const std::string& note : notes)
    streams.log << "sgdsim: warning: " << printable(note) << '\n';
}

}  // namespace

void add_report_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand(
      "report", "Make a page to look at from results, sweeps, plans, fits and validations.");
  auto arguments = std::make_shared<ReportArguments>();
  ReportRequest& request = arguments->request;
  command
      ->add_option("RESULTS", request.files,
                   "JSON or a database of points that sgdsim wrote, timelines, and the experiment "
                   "or sweep that was asked")
      ->required();
  command->add_option("-o,--out", arguments->out, "HTML file (default: standard output)");
  add_force_option(*command, arguments->force);
  command->add_option("--title", request.title,
                      "title of the page (default: the name of the first file)");
  make_repeatable(command->add_option(
      "--axis", request.axes, "an axis that was given to sgdsim sweep, so that commands name it"));
  make_repeatable(
      command->add_option("--set", request.settings, "a setting that was given to sgdsim sweep"));
  command->footer(
      "Example:\n"
      "  sgdsim sweep app/sweeps/nodes_bandwidth.json --out results/points.jsonl\n"
      "  sgdsim report results/points.jsonl app/sweeps/nodes_bandwidth.json \\\n"
      "      --out results/report.html");
  command->callback([arguments, streams] { make_report(*arguments, streams); });
}

}  // namespace sgdsim

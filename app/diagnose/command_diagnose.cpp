// `sgdsim diagnose`: what stragglers, an uneven pipeline and slow links cost in recorded steps.
#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.h"
#include "app/diagnose/diagnose_print.h"
#include "app/field_options.h"
#include "app/usage.h"
#include "sim/core/error.h"
#include "sim/core/output.h"
#include "study/write_text.h"

namespace sgdsim {
namespace {

struct DiagnoseArguments {
  DiagnoseWords words;
  std::string format = "table";
  std::string svg;
  bool force = false;
};

void diagnose_record(const DiagnoseArguments& arguments, Streams streams) {
  OutputGuard guard({arguments.words.record, arguments.words.of.names}, arguments.force);
  guard.claim("--svg", arguments.svg, {.schema = {}, .beginning = picture_beginning});
  if (arguments.svg == "-" && arguments.format == "json")
    throw InputError("--svg", "standard output already takes the JSON; give it a file");
  const DiagnoseAnswer answer = answer_diagnose(arguments.words);
  if (!arguments.svg.empty())
    write_text(svg_of(heat_drawing(heat_map_of(answer))), arguments.svg, streams.out);
  if (arguments.format == "json")
    streams.out << to_json(answer).dump(2) << '\n';
  else if (arguments.svg != "-")
    print(streams.out, answer, standard_output());
}

}  // namespace

void add_diagnose_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand(
      "diagnose", "Find what slows recorded steps: stragglers, stages, links, sequences.");
  auto arguments = std::make_shared<DiagnoseArguments>();
  add_options(*command, diagnose_fields(arguments->words));
  command->add_option("--svg", arguments->svg, "write the map of slow workers as a picture");
  add_format_option(*command, arguments->format);
  add_force_option(*command, arguments->force);
  command->footer("Example:\n  sgdsim diagnose tests/data/slow_host.json.gz --layers 32");
  command->callback([arguments, streams] { diagnose_record(*arguments, streams); });
}

}  // namespace sgdsim

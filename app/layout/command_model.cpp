// `sgdsim model`: parameters, FLOP and memory of models, and what published laws expect of them.
#include <memory>

#include "app/commands.h"
#include "app/field_options.h"
#include "sim/core/error.h"
#include "study/layout/model_laws.h"
#include "study/layout/model_show.h"

namespace sgdsim {
namespace {

void say(std::ostream& log, const char* kind, const std::vector<std::string>& notes) {
  for (const std::string& note : notes)
    log << "sgdsim: " << kind << ": " << printable(note) << '\n';
}

template <class Told>
void print_as(std::ostream& out, const Told& told, const std::string& format) {
  if (format == "json")
    out << to_json_by_fields(told).dump(1) << '\n';
  else
    print(out, told);
}

void show(const ModelShowWords& words, const std::string& format, Streams streams) {
  const ModelShown shown = show_model(words);
  say(streams.log, "note", shown.layout_notes);
  say(streams.log, "warning", shown.warnings);
  print_as(streams.out, shown, format);
}

void tell_laws(const ModelLawsWords& words, const std::string& format, Streams streams) {
  const ModelLaws laws = laws_of(words);
  say(streams.log, "warning", laws.warnings);
  print_as(streams.out, laws, format);
}

template <class Words>
CLI::App* add_part(CLI::App& model, Streams streams, const char* name, const char* says,
                   Fields (*fields_of)(Words&),
                   void (*answer)(const Words&, const std::string&, Streams)) {
  CLI::App* command = model.add_subcommand(name, says);
  auto words = std::make_shared<Words>();
  auto format = std::make_shared<std::string>("table");
  add_options(*command, fields_of(*words));
  add_format_option(*command, *format);
  command->callback([=] { answer(*words, *format, streams); });
  return command;
}

}  // namespace

void add_model_command(CLI::App& program, Streams streams) {
  CLI::App* model = program.add_subcommand("model", "Inspect transformer models.");
  model->require_subcommand(1);
  model->footer("Example:\n  sgdsim model show llama3.1_405b");
  add_part(*model, streams, "show",
           "Parameters and FLOP of a model; with a layout, the memory of every stage.",
           model_show_fields, show)
      ->footer(
          "Example:\n  sgdsim model show llama3.1_405b --layout \"tp8 pp9 cp2 vp7 dp4 mbs1 ga63 "
          "zero1 sp\"");
  add_part(*model, streams, "laws",
           "Loss and batches that published laws expect of a large training, and what a higher "
           "loss costs.",
           model_laws_fields, tell_laws)
      ->footer(
          "Examples:\n  sgdsim model laws llama3.1_8b --tokens 15T\n  sgdsim model laws "
          "--parameters 10B --tokens 200B --penalty 0.006,0.04");
}

}  // namespace sgdsim

// Reading the page's question, and saying it as a command.
#include "app/page/page_input.h"

#include "study/shell_word.h"

namespace sgdsim {
namespace {

std::vector<std::string> texts_of(const Value& list) {
  std::vector<std::string> texts;
  for (const Value& item : list.items()) texts.push_back(item.text());
  return texts;
}

}  // namespace

PageInput read_page_input(const Value& value) {
  PageInput input;
  Object fields(value);
  input.experiment = fields.at("experiment").text();
  if (const auto cluster = fields.find("cluster")) input.cluster = cluster->text();
  if (const auto settings = fields.find("settings")) input.settings = texts_of(*settings);
  if (const auto imports = fields.find("imports")) input.imports = texts_of(*imports);
  fields.done();
  return input;
}

ResolvedExperiment resolved_of(const PageInput& input) {
  return resolve_experiment(input.experiment, input.settings, input.cluster);
}

std::string file_word(const PageInput& input) {
  return (input.experiment.starts_with('-') ? "./" : "") + input.experiment;
}

std::string command_of(const PageInput& input, const std::string& words) {
  std::string command;
  for (const std::string& import : input.imports) command += import + " &&\n";
  return command + shell_command(words, file_word(input), input.cluster, input.settings);
}

std::string saved_experiment(const PageInput& input) {
  const ResolvedExperiment resolved = resolved_of(input);
  read_experiment(resolved);  // what cannot be run is not saved
  return resolved.json.dump(1) + "\n";
}

}  // namespace sgdsim

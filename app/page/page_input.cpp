// Reading the page's question, and saying it as a command.
#include "app/page/page_input.h"

#include "app/shell_word.h"

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

std::string command_of(const PageInput& input, const std::string& words) {
  std::string command;
  for (const std::string& import : input.imports) command += import + " &&\n";
  // A name that begins with a minus would be an option.
  const std::string file = (input.experiment.starts_with('-') ? "./" : "") + input.experiment;
  command += "sgdsim " + words + " " + shell_word(file);
  if (!input.cluster.empty()) command += " --cluster=" + shell_word(input.cluster);
  for (const std::string& setting : input.settings) command += " --set " + shell_word(setting);
  return command;
}

std::string saved_experiment(const PageInput& input) {
  const ResolvedExperiment resolved = resolved_of(input);
  read_experiment(resolved);  // what cannot be run is not saved
  return resolved.json.dump(1) + "\n";
}

}  // namespace sgdsim

// A walk over the parser's commands and options.
#include "app/completion/program_words.h"

#include "app/usage.h"

namespace sgdsim {
namespace {

OptionWords words_of(CLI::Option& option) {
  OptionWords words;
  for (const std::string& name : option.get_snames()) words.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) words.names.push_back("--" + name);
  for (const std::string& name : option.get_fnames())
    if (!option.check_lname(name)) words.names.push_back("--" + name);
  words.place = option.get_name(true, false);
  if (!words.names.empty()) words.place.clear();
  words.says = option.get_description();
  words.choices = choices_of(option);
  words.takes_value = option.get_items_expected_max() > 0;
  return words;
}

void add(CLI::App& command, const std::string& before, std::vector<CommandWords>& all) {
  CommandWords words{before, command.get_description(), command.get_footer(), {}, {}};
  for (CLI::Option* option : command.get_options()) words.options.push_back(words_of(*option));
  const auto below = command.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* one : below)
    words.below.emplace_back(one->get_name(), one->get_description());
  all.push_back(std::move(words));
  for (CLI::App* one : below)
    add(*one, before.empty() ? one->get_name() : before + " " + one->get_name(), all);
}

}  // namespace

std::vector<CommandWords> program_words(CLI::App& program) {
  std::vector<CommandWords> all;
  add(program, "", all);
  return all;
}

}  // namespace sgdsim

// Reading a refused command line again, one word after the other.
#include "app/usage.h"

#include "sim/core/json.h"

namespace sgdsim {
namespace {

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    if (!option->get_positional()) names.push_back(option->get_name());
  return names;
}

const CLI::App* command_named(const CLI::App& command, const std::string& name) {
  for (const CLI::App* one : command.get_subcommands({}))
    if (one->get_name() == name) return one;
  return nullptr;
}

std::vector<std::string> command_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* one : command.get_subcommands({})) names.push_back(one->get_name());
  return names;
}

std::size_t positional_count(const CLI::App& command) {
  std::size_t count = 0;
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional()) ++count;
  return count;
}

// Follows the words into subcommands and stops at the first unknown one.
struct Reading {
  const CLI::App* command;
  std::string unknown;  // a sentence, or nothing

  void word(const std::string& word, std::size_t& positionals) {
    const std::vector<std::string> commands = command_names(*command);
    if (!commands.empty()) {
      if (const CLI::App* next = command_named(*command, word); next != nullptr)
        command = next;
      else if (positional_count(*command) == 0)
        unknown = unknown_name("command", word, commands);
      return;
    }
    if (++positionals > positional_count(*command)) unknown = "nothing takes \"" + word + "\"";
  }

  // Whether the next word is the value of this option.
  bool option(const std::string& word) {
    const bool is_long = word.starts_with("--");
    const std::size_t equals = is_long ? word.find('=') : std::string::npos;
    const std::string name = is_long ? word.substr(0, equals) : word.substr(0, 2);
    const CLI::Option* found = command->get_option_no_throw(name);
    if (found == nullptr) {
      unknown = unknown_name("option", name, option_names(*command));
      return false;
    }
    return found->get_items_expected_max() > 0 && equals == std::string::npos &&
           (is_long || word.size() == 2);
  }
};

Reading read_again(const CLI::App& program, const std::vector<std::string>& arguments) {
  Reading reading{&program, {}};
  std::size_t positionals = 0;
  bool is_value = false;
  for (const std::string& word : arguments) {
    if (!reading.unknown.empty()) break;
    if (is_value)
      is_value = false;
    else if (word.size() > 1 && word.front() == '-')
      is_value = reading.option(word);
    else
      reading.word(word, positionals);
  }
  return reading;
}

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return (parent == nullptr ? "" : full_name(*parent) + " ") + command.get_name();
}

}  // namespace

std::string usage_problem(const CLI::App& program, const std::vector<std::string>& arguments,
                          const CLI::ParseError& error) {
  const Reading reading = read_again(program, arguments);
  std::string sentence = reading.unknown;
  if (sentence.empty() && !command_names(*reading.command).empty() &&
      positional_count(*reading.command) == 0) {
    sentence = "expected a command:";
    for (const std::string& name : command_names(*reading.command)) sentence += " " + name;
  }
  if (sentence.empty()) sentence = error.what();
  return sentence + "\nsee: " + full_name(*reading.command) + " --help";
}

CLI::Validator one_of(const std::string& what, const std::vector<std::string>& known) {
  return {[what, known](std::string& value) {
            for (const std::string& name : known)
              if (name == value) return std::string();
            return unknown_name(what, value, known);
          },
          ""};
}

void refuse_empty_values(CLI::App& program) {
  for (CLI::Option* option : program.get_options())
    if (option->get_items_expected_max() > 0)
      option->check([](const std::string& value) {
        return std::string(value.empty() ? "expected a value, got an empty one" : "");
      });
  for (CLI::App* command : program.get_subcommands({})) refuse_empty_values(*command);
}

void make_repeatable(CLI::Option* option) { option->allow_extra_args(false)->take_all(); }

}  // namespace sgdsim

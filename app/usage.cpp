// Reading a refused command line again, one word after the other.
#include "app/usage.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "sim/core/json.h"
#include "study/shell_word.h"
#include "study/step/meant_field.h"

namespace sgdsim {
namespace {

// The names of validators that accept a list of words begin so.
const std::string choices_mark = "one of ";

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    if (!option->get_positional() && !option->get_name().empty())
      names.push_back(option->get_name());
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

// What was given to an option, as --name=value or as the next word.
std::string value_of(const std::string& word, const std::string& next) {
  const std::size_t equals = word.find('=');
  if (equals != std::string::npos) return shell_word(word.substr(equals + 1));
  return next.empty() || next.starts_with('-') ? "..." : shell_word(next);
}

// Words of a layout that end in a number.
bool is_layout_word(const std::string& text) {
  constexpr std::array<std::string_view, 11> words = {"tp", "pp",  "cp", "vp",   "ep",  "etp",
                                                      "dp", "mbs", "ga", "zero", "hsdp"};
  return std::find(words.begin(), words.end(), text) != words.end();
}

// Follows the words into subcommands and stops at the first unknown one.
struct Reading {
  const CLI::App* command;
  std::string unknown = {};     // a sentence, or nothing
  bool is_command = false;      // what is unknown
  std::string repeatable = {};  // with its value, the option just before, if it may be repeated

  void word(const std::string& word, std::size_t& positionals) {
    const std::vector<std::string> commands = command_names(*command);
    if (!commands.empty()) {
      if (const CLI::App* next = command_named(*command, word); next != nullptr) {
        command = next;
      } else if (positional_count(*command) == 0) {
        unknown = unknown_name("command", word, commands);
        is_command = true;
      }
      return;
    }
    if (++positionals <= positional_count(*command)) return;
    unknown = "nothing takes \"" + word + "\"";
    if (!repeatable.empty())
      unknown += "; an option takes one value each time: " + repeatable + " " +
                 repeatable.substr(0, repeatable.find(' ')) + " " + shell_word(word);
  }

  // The value of an option, by its name.
  void value(const std::string& name, const std::string& word) {
    const CLI::Option* option = command->get_option_no_throw(name);
    const bool repeats = option != nullptr && !option->get_allow_extra_args() &&
                         option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    repeatable = repeats ? name + " " + shell_word(word) : "";
  }

  // Where fields are of an experiment.
  bool takes_settings() const {
    constexpr std::array<std::string_view, 5> commands = {"run", "plan", "advise", "sweep", "tune"};
    return std::find(commands.begin(), commands.end(), command->get_name()) != commands.end();
  }

  // What somebody means who writes a field, or a word of a layout, as an option; "" if unknown.
  std::string meant_by(const std::string& name, const std::string& value) const {
    if (!name.starts_with("--")) return "";
    const std::string text = name.substr(2);
    if (command->get_name() == "layout" && is_layout_word(text))
      return "--layout \"" + text + value + " ...\", or --with " + text + value + " for a search";
    std::string field = field_meant_by(text);
    if (field.empty()) return "";
    if (takes_settings()) return "--set " + field + "=" + value;
    constexpr std::string_view cluster = "cluster.";
    const bool has_cluster = command->get_option_no_throw("--set") != nullptr &&
                             command->get_option_no_throw("--cluster") != nullptr;
    if (!has_cluster || !field.starts_with(cluster)) return "";
    return "--set " + field.substr(cluster.size()) + "=" + value;
  }

  // Whether the next word is the value of this option.
  bool option(const std::string& word, const std::string& next) {
    const bool is_long = word.starts_with("--");
    const std::size_t equals = is_long ? word.find('=') : std::string::npos;
    const std::string name = is_long ? word.substr(0, equals) : word.substr(0, 2);
    const CLI::Option* found = command->get_option_no_throw(name);
    if (found == nullptr) {
      unknown = unknown_name("option", name, option_names(*command));
      if (const std::string meant = meant_by(name, value_of(word, next)); !meant.empty())
        unknown = "there is no option " + name + ": write " + meant;
      return false;
    }
    return found->get_items_expected_max() > 0 && equals == std::string::npos &&
           (is_long || word.size() == 2);
  }
};

Reading read_again(const CLI::App& program, const std::vector<std::string>& arguments) {
  Reading reading{&program};
  std::size_t positionals = 0;
  bool is_value = false;
  for (std::size_t i = 0; i < arguments.size() && reading.unknown.empty(); ++i) {
    const std::string& word = arguments[i];
    if (is_value) {
      is_value = false;
      reading.value(arguments[i - 1], word);
      continue;
    }
    if (word.size() > 1 && word.front() == '-')
      is_value = reading.option(word, i + 1 < arguments.size() ? arguments[i + 1] : "");
    else
      reading.word(word, positionals);
    reading.repeatable = "";
  }
  return reading;
}

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return (parent == nullptr ? "" : full_name(*parent) + " ") + command.get_name();
}

std::string with_help(const std::string& sentence, const Reading& reading) {
  return sentence + "\nsee: " + full_name(*reading.command) + " --help";
}

}  // namespace

std::string unknown_command(const CLI::App& program, const std::vector<std::string>& arguments) {
  const Reading reading = read_again(program, arguments);
  return reading.is_command ? with_help(reading.unknown, reading) : "";
}

namespace {

// An option of which there is one that is given more often.
std::string problem_of(const CLI::ParseError& error) {
  const std::string sentence = error.what();
  const std::string said = ": At Most 1 required but received ";
  const std::size_t place = sentence.find(said);
  if (place == std::string::npos) return sentence;
  return sentence.substr(0, place) + " is given " + sentence.substr(place + said.size()) +
         " times; give it once";
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
  if (sentence.empty()) sentence = problem_of(error);
  return with_help(sentence, reading);
}

CLI::Validator one_of(const std::string& what, const std::vector<std::string>& known) {
  std::string names;
  for (const std::string& name : known) names += (names.empty() ? "" : " ") + name;
  return {[what, known](std::string& value) {
            for (const std::string& name : known)
              if (name == value) return std::string();
            return unknown_name(what, value, known);
          },
          "", choices_mark + names};
}

std::vector<std::string> choices_of(CLI::Option& option) {
  std::vector<std::string> choices;
  try {
    for (int i = 0;; ++i) {
      const std::string& name = option.get_validator(i)->get_name();
      if (!name.starts_with(choices_mark)) continue;
      std::istringstream words(name.substr(choices_mark.size()));
      for (std::string word; words >> word;) choices.push_back(word);
    }
  } catch (const CLI::OptionNotFound&) {  // there are no more
    return choices;
  }
}

void refuse_empty_values(CLI::App& program) {
  for (CLI::Option* option : program.get_options())
    if (option->get_items_expected_max() > 0)
      option->check([](const std::string& value) {
        return std::string(value.empty() ? "expected a value, got an empty one" : "");
      });
  for (CLI::App* command : program.get_subcommands({})) refuse_empty_values(*command);
}

void add_force_option(CLI::App& command, bool& force) {
  command.add_flag("--force", force, "replace an output file that holds something else");
}

void make_repeatable(CLI::Option* option) { option->allow_extra_args(false)->take_all(); }

}  // namespace sgdsim

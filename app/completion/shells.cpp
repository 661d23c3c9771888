// Completion as the shells want it. Each finds the command that stands in the line, then offers the
// commands below it, its options, or the values that an option takes; files for anything else.
#include <algorithm>

#include "app/completion/program_words.h"

namespace sgdsim {
namespace {

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

std::vector<std::string> option_names(const CommandWords& command) {
  std::vector<std::string> names;
  for (const OptionWords& option : command.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

std::vector<std::string> names_below(const CommandWords& command) {
  std::vector<std::string> names;
  for (const auto& [name, says] : command.below) names.push_back(name);
  return names;
}

// '...' with its quotes.
std::string in_quotes(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  return quoted + "'";
}

// One line.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// "run | plan | 'export goal'" for a case over the words so far.
std::string all_commands(const std::vector<CommandWords>& commands) {
  std::vector<std::string> patterns;
  for (const CommandWords& command : commands)
    if (!command.words.empty()) patterns.push_back(in_quotes(command.words));
  return joined(patterns, " | ");
}

// Cases of "COMMAND/OPTION" whose value is one of a list, and of those that take any value.
std::string value_cases(const std::vector<CommandWords>& commands, const std::string& offer,
                        const std::string& files) {
  std::string cases;
  std::vector<std::string> any;
  for (const CommandWords& command : commands)
    for (const OptionWords& option : command.options)
      for (const std::string& name : option.names) {
        const std::string pattern = in_quotes(command.words + "/" + name);
        if (!option.choices.empty())
          cases +=
              "    " + pattern + ") " + offer + " " + joined(option.choices, " ") + "; return ;;\n";
        else if (option.takes_value)
          any.push_back(pattern);
      }
  return cases + "    " + joined(any, " | ") + ") " + files + "; return ;;\n";
}

}  // namespace

std::string bash_completion(const std::vector<CommandWords>& commands) {
  std::string text =
      "# bash completion of sgdsim, written by `sgdsim completion bash`\n"
      "_sgdsim_offer() { mapfile -t COMPREPLY < <(compgen -W \"$*\" -- \"$word\"); }\n"
      "_sgdsim() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} command='' next i\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    next=\"$command${command:+ }${COMP_WORDS[i]}\"\n"
      "    case \"$next\" in\n"
      "      " +
      all_commands(commands) +
      ") command=$next ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$command/${COMP_WORDS[COMP_CWORD - 1]}\" in\n" +
      value_cases(commands, "_sgdsim_offer", ":") +
      "  esac\n"
      "  case \"$command\" in\n";
  for (const CommandWords& command : commands) {
    const std::vector<std::string> below = names_below(command);
    text += "    " + in_quotes(command.words) + ")\n";
    if (!below.empty())
      text += "      [[ $word == -* ]] || { _sgdsim_offer " + joined(below, " ") + "; return; }\n";
    text +=
        "      [[ $word != -* ]] || _sgdsim_offer " + joined(option_names(command), " ") + " ;;\n";
  }
  return text +
         "  esac\n"
         "}\n"
         "complete -o default -F _sgdsim sgdsim\n";
}

std::string zsh_completion(const std::vector<CommandWords>& commands) {
  std::string text =
      "#compdef sgdsim\n"
      "# zsh completion of sgdsim, written by `sgdsim completion zsh`\n"
      "_sgdsim() {\n"
      "  local command='' next i\n"
      "  local -a below options\n"
      "  for ((i = 2; i < CURRENT; ++i)); do\n"
      "    next=\"$command${command:+ }${words[i]}\"\n"
      "    case \"$next\" in\n"
      "      " +
      all_commands(commands) +
      ") command=$next ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$command/${words[CURRENT-1]}\" in\n" +
      value_cases(commands, "compadd --", "_files") +
      "  esac\n"
      "  case \"$command\" in\n";
  for (const CommandWords& command : commands) {
    text += "    " + in_quotes(command.words) + ")\n      below=(";
    for (const auto& [name, says] : command.below)
      text += " " + in_quotes(name + ":" + first_line(says));
    text += ")\n      options=(";
    for (const OptionWords& option : command.options)
      for (const std::string& name : option.names)
        text += "\n        " + in_quotes(name + ":" + first_line(option.says));
    text += ") ;;\n";
  }
  return text +
         "  esac\n"
         "  if [[ $PREFIX == -* ]]; then\n"
         "    _describe -o option options\n"
         "  elif (( $#below )); then\n"
         "    _describe command below\n"
         "  else\n"
         "    _files\n"
         "  fi\n"
         "}\n"
         "if [[ $funcstack[1] == _sgdsim ]]; then _sgdsim \"$@\"; else compdef _sgdsim sgdsim; "
         "fi\n";
}

std::string fish_completion(const std::vector<CommandWords>& commands) {
  std::string text = "# fish completion of sgdsim, written by `sgdsim completion fish`\n";
  for (const CommandWords& command : commands) {
    std::string here = "__fish_use_subcommand";
    if (!command.words.empty()) {
      here = "__fish_seen_subcommand_from " + command.words;
      if (const std::size_t space = here.find(' ', here.find(' ') + 1); space != std::string::npos)
        here.replace(space, 1, "; and __fish_seen_subcommand_from ");
    }
    std::string not_yet = here;
    if (!command.below.empty() && !command.words.empty())
      not_yet += "; and not __fish_seen_subcommand_from " + joined(names_below(command), " ");
    for (const auto& [name, says] : command.below)
      text += "complete -c sgdsim -f -n " + in_quotes(not_yet) + " -a " + name + " -d " +
              in_quotes(first_line(says)) + "\n";
    for (const OptionWords& option : command.options) {
      if (option.names.empty()) continue;
      text += "complete -c sgdsim -n " + in_quotes(here);
      for (const std::string& name : option.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.choices.empty())
        text += " -x -a " + in_quotes(joined(option.choices, " "));
      else if (option.takes_value)
        text += " -r";
      text += " -d " + in_quotes(first_line(option.says)) + "\n";
    }
  }
  return text;
}

}  // namespace sgdsim

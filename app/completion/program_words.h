// What can be written behind `sgdsim`, from the parser itself: for shells and for the manual page.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sgdsim {

struct OptionWords {
  std::vector<std::string> names;  // "-o", "--out"; none: it is told by its place
  std::string place;               // "EXPERIMENT"
  std::string says;
  std::vector<std::string> choices;  // if there is a list of them
  bool takes_value = false;
};

struct CommandWords {
  std::string words;  // "export goal"; empty: the program
  std::string says;
  std::string footer;
  std::vector<OptionWords> options;
  std::vector<std::pair<std::string, std::string>> below;  // commands, and what they do
};

// The program first, then every command before those below it.
std::vector<CommandWords> program_words(CLI::App& program);

std::string bash_completion(const std::vector<CommandWords>& commands);
std::string zsh_completion(const std::vector<CommandWords>& commands);
std::string fish_completion(const std::vector<CommandWords>& commands);
std::string manual_page(const std::vector<CommandWords>& commands, const std::string& version);

}  // namespace sgdsim

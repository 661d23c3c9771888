// Everything between single quotes is the text itself, but a single quote.
#include "study/shell_word.h"

namespace sgdsim {

std::string shell_word(const std::string& text) {
  const bool is_plain = !text.empty() && text.find_first_not_of(
                                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789_-./=,:+@%") == std::string::npos;
  if (is_plain) return text;
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  return quoted + "'";
}

std::string shell_command(const std::string& words, const std::string& file,
                          const std::string& cluster, const std::vector<std::string>& settings) {
  std::string command = "sgdsim " + words + " " + shell_word(file);
  if (!cluster.empty()) command += " --cluster=" + shell_word(cluster);
  for (const std::string& setting : settings) command += " --set " + shell_word(setting);
  return command;
}

}  // namespace sgdsim

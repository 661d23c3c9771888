// By the words of a command as they are written.
#include "study/layout/shell_texts.h"

#include <algorithm>
#include <initializer_list>

namespace sgdsim {
namespace {

bool is_submission(const std::string& word) {
  return word == "sbatch" || word == "qsub" || word == "msub" || word == "ssh";
}

// "./job.sh" is "job.sh".
std::string plain_file(const std::string& word) {
  return word.starts_with("./") ? word.substr(2) : word;
}

}  // namespace

bool is_shell_name(const std::string& word) {
  const std::string name = word.substr(word.rfind('/') + 1);
  return name == "bash" || name == "sh" || name == "zsh" || name == "dash" || name == "ksh";
}

const ShellToken* text_of_shell(std::span<const ShellToken> command) {
  bool is_shell = false;
  for (std::size_t i = 0; i + 1 < command.size(); ++i) {
    const std::string& word = command[i].text;
    if (is_shell && word.starts_with("-") && !word.starts_with("--") && word.ends_with("c"))
      return &command[i + 1];
    is_shell = is_shell_name(word) || (is_shell && word.starts_with("-"));
  }
  return nullptr;
}

bool runs_input(std::span<const ShellToken> command) {
  const auto starts = [](const ShellToken& one) {
    return is_shell_name(one.text) || is_submission(one.text);
  };
  const auto is_script = [](const ShellToken& one) {
    const auto ends_so = [&](const char* ending) { return one.text.ends_with(ending); };
    const std::initializer_list<const char*> endings = {".sh", ".bash", ".slurm", ".sbatch"};
    return std::any_of(endings.begin(), endings.end(), ends_so);
  };
  return std::any_of(command.begin(), command.end(), starts) &&
         std::none_of(command.begin(), command.end(), is_script);
}

std::string file_written(std::span<const ShellToken> command) {
  const bool is_tee = command.front().text == "tee";
  for (std::size_t i = 1; i < command.size(); ++i) {
    const std::string& word = command[i].text;
    const std::size_t name = word.find_first_not_of('>');
    if (word.starts_with(">") && name != std::string::npos) return plain_file(word.substr(name));
    if (word.starts_with(">") && i + 1 < command.size()) return plain_file(command[i + 1].text);
    if (is_tee && !command[i].is_here && !word.starts_with("-")) return plain_file(word);
  }
  return "";
}

std::vector<std::string> files_run(std::span<const ShellToken> command) {
  std::vector<std::string> files;
  bool runs = true;  // the first word is a program
  for (const ShellToken& token : command) {
    if (runs) files.push_back(plain_file(token.text));
    runs = runs && &token != &command.front();
    runs = runs || is_shell_name(token.text) || is_submission(token.text) ||
           token.text == "source" || token.text == "." || token.text == "srun";
  }
  return files;
}

}  // namespace sgdsim
